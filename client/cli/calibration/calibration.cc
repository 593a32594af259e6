// glint calibration: what calibration files say, whether it can be right, and the same in another format.
#include "calibration/calibration.h"

#include <algorithm>
#include <filesystem>
#include <opencv2/imgproc.hpp>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "calibration/check.h"
#include "calibration/formats/format.h"
#include "client/cli/base/command.h"
#include "client/cli/base/connection.h"
#include "client/cli/base/flags.h"
#include "client/cli/calibration/draw_rig.h"
#include "client/cli/calibration/rig_report.h"
#include "client/cli/output/draw.h"
#include "client/cli/output/output.h"
#include "client/cli/source/calibration.h"
#include "client/cli/source/pairs.h"
#include "client/client.h"
#include "features/limits.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

using calibration::MatchedPixels;

constexpr char kName[] = "calibration";
constexpr int kPairs = 10;  // of --images
constexpr float kRatio = 0.8f;

struct CalibrationCommand {
  std::string cameras, images, to, output, draw;
  Shape size;
  bool json = false;
  ConnectionFlags connection;

  void AddTo(Flags* flags);
  absl::Status Validate() const;
};

// Names of formats, "a, b, c".
std::string FormatNames(bool written) {
  std::string names;
  for (const calibration::Format& format : calibration::Formats()) {
    if (!written || format.write != nullptr) absl::StrAppend(&names, names.empty() ? "" : ", ", format.name);
  }
  return names;
}

const calibration::Format* FindWritten(const std::string& name) {
  for (const calibration::Format& format : calibration::Formats()) {
    if (name == format.name && format.write != nullptr) return &format;
  }
  return nullptr;
}

absl::Status SetShape(absl::string_view text, Shape* shape) {
  const std::vector<absl::string_view> sides = absl::StrSplit(text, 'x');
  Shape read;
  if (sides.size() != 2 || !absl::SimpleAtoi(sides[0], &read.width) || !absl::SimpleAtoi(sides[1], &read.height) ||
      std::min(read.width, read.height) < 1 || std::max(read.width, read.height) > kMaxImageSide) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not WIDTHxHEIGHT, each in 1..", kMaxImageSide, " pixels"));
  }
  *shape = read;
  return absl::OkStatus();
}

void CalibrationCommand::AddTo(Flags* flags) {
  flags->Section("Calibration");
  flags->String("cameras", "A,B", "Names of the cameras to take, or of KITTI's projections (default: all).", &cameras);
  flags->Parsed("size", "WxH", "Size of the images, which files with several sizes need.",
                [this](absl::string_view text) { return SetShape(text, &size); });
  flags->String(
      "images", "LEFT,RIGHT",
      "Pictures or folders of the first two cameras as they were taken, or of both side by side: their matches "
      "tell which reading of the files is right. Ten pairs are taken.",
      &images);
  flags->Section("Output");
  flags->Bool("json", "Print one JSON object in place of lines.", &json);
  flags->String("draw", "FILE", "Write a picture of the rig from above, and of what each lens does.", &draw);
  flags->String("to", "FORMAT", absl::StrCat("Write it in another format, to --output: ", FormatNames(true), "."), &to);
  flags->String("output", "PATH", "The file of --to, or the folder if the format has several.", &output);
  connection.AddTo(flags);
}

absl::Status CalibrationCommand::Validate() const {
  GLINT_RETURN_IF_ERROR(connection.Validate());
  if (to.empty() != output.empty()) {
    return absl::InvalidArgumentError(to.empty() ? "option '--output': needs --to" : "option '--to': needs --output");
  }
  if (!to.empty() && FindWritten(to) == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("option '--to': '", to, "' is not one of ", FormatNames(true)));
  }
  return absl::OkStatus();
}

std::string CalibrationHelp(const Flags& flags) {
  return "Usage: glint calibration [OPTION]... PATH [PATH]\n\n" +
         Wrap(absl::StrCat("Reads the calibration of a camera, a stereo pair or a rig from a file, from a folder, or "
                           "from a file for each camera (left, right), and says what it understood and what cannot be "
                           "right. Formats are told by what is in the files: ",
                           FormatNames(false), ". No server is needed but for --images."),
              0) +
         flags.Help() +
         "\nExit status\n"
         "  0 read, and nothing was found wrong; 1 refused, or something was found: a line\n"
         "  with what mends it (warnings of what the reading left out leave 0); 2 wrong\n"
         "  command line; 69 no server; 74 an output cannot be written; 130 interrupted\n"
         "\nExamples\n"
         "  glint calibration camchain-imucam.yaml\n"
         "  glint calibration --draw rig.png left.yaml right.yaml\n"
         "  glint calibration --server inproc --images left/,right/ stereo.yml\n"
         "  glint calibration --to kalibr --output camchain.yaml mav0/\n";
}

// Grey pixels of both images of a pair, as the cameras took them.
absl::Status GrayOf(const PicturePair& pair, cv::Mat* left, cv::Mat* right) {
  const auto gray = [](const Picture& picture, cv::Mat* to) {
    const cv::Mat canvas = picture.Canvas();
    if (canvas.empty()) return absl::InvalidArgumentError(absl::StrCat(picture.name, ": cannot be decoded"));
    cv::cvtColor(canvas, *to, cv::COLOR_BGR2GRAY);
    return absl::OkStatus();
  };
  GLINT_RETURN_IF_ERROR(gray(*pair.first, left));
  if (pair.second != nullptr) return gray(*pair.second, right);
  *right = left->colRange(left->cols / 2, left->cols / 2 * 2);
  *left = left->colRange(0, left->cols / 2);
  return absl::OkStatus();
}

client::ImageInput InputOf(const cv::Mat& gray) {
  return client::ImageInput::Raw(client::PixelFormat::kGray8, gray.data, gray.cols, gray.rows,
                                 static_cast<ptrdiff_t>(gray.step));
}

absl::Status AddMatches(const client::Client& client, const PicturePair& pair, absl::Duration timeout,
                        std::vector<MatchedPixels>* matches) {
  cv::Mat left, right;
  GLINT_RETURN_IF_ERROR(GrayOf(pair, &left, &right));
  client::MatchSettings settings;
  settings.match.cross_check = true;
  settings.match.ratio = kRatio;
  GLINT_ASSIGN_OR_RETURN(const auto found, client.Match(settings, InputOf(left), InputOf(right), {}, timeout));
  for (size_t q = 0; q < found.matches.index.size(); ++q) {
    if (found.matches.index[q] == kNoMatch) continue;
    const auto t = static_cast<size_t>(found.matches.index[q]);
    matches->push_back({{found.query.x[q], found.query.y[q]}, {found.train.x[t], found.train.y[t]}});
  }
  return absl::OkStatus();
}

// Adds what matches of `source` say to the report; the exit status if they cannot be had.
std::optional<int> JudgeByImages(const CalibrationCommand& flags, PairSource* source, RigReport* report) {
  const auto connection = Connection::Open(flags.connection);
  if (!connection.ok()) return CallError(kName, connection.status());
  std::vector<MatchedPixels> matches;
  PicturePair pair;
  absl::Status status;
  for (int i = 0; i < kPairs && status.ok() && (status = source->Next(&pair)).ok(); ++i) {
    const absl::Status found =
        AddMatches(connection->client(), pair, flags.connection.timeout_or(client::kDefaultCallTimeout), &matches);
    if (!found.ok()) return CallError(kName, found);
  }
  if (!status.ok() && !absl::IsOutOfRange(status)) return SourceError(kName, status);
  report->readings = calibration::ReadByMatches(report->calibration, matches);
  if (report->readings.empty()) {
    Complain(kName, absl::StrCat("warning: --images: ", matches.size(), " matches are too few to tell, or ",
                                 "the files have one camera"));
  }
  for (calibration::Finding& finding : calibration::Judge(report->readings)) {
    report->findings.push_back(std::move(finding));
  }
  return std::nullopt;
}

absl::Status WriteAs(const calibration::Format& format, const calibration::Calibration& calibration,
                     const std::string& output) {
  namespace fs = std::filesystem;
  GLINT_ASSIGN_OR_RETURN(const auto files, format.write(calibration));
  std::error_code error;
  const bool is_file = files.size() == 1 && !absl::EndsWith(output, "/") && !fs::is_directory(output, error);
  for (const calibration::NamedText& file : files) {
    const fs::path path = is_file ? fs::path(output) : fs::path(output) / file.name;
    if (!is_file) fs::create_directories(path.parent_path(), error);
    GLINT_RETURN_IF_ERROR(WriteWholeFile(path, file.text));
  }
  return absl::OkStatus();
}

absl::Status Draw(const Rig& rig, const std::string& path) {
  GLINT_ASSIGN_OR_RETURN(const auto sink, OpenDrawSink(path, 0));
  GLINT_RETURN_IF_ERROR(sink->Write("rig", DrawRig(rig)));
  return sink->Close();
}

}  // namespace

int RunCalibration(const std::vector<std::string>& arguments) {
  CalibrationCommand command;
  Flags flags;
  command.AddTo(&flags);
  const auto paths = flags.Parse(arguments);
  if (!paths.ok()) return UsageError(kName, paths.status().message());
  if (flags.help_wanted()) return Print(kName, CalibrationHelp(flags));
  std::vector<std::string> files;  // "left.yaml,right.yaml", as --calibration of other commands takes them, is two
  for (const std::string& path : *paths) {
    for (std::string& file : PathsIn(path)) files.push_back(std::move(file));
  }
  if (files.empty()) return UsageError(kName, "give a file or a folder, or a file for each camera");
  if (absl::Status status = command.Validate(); !status.ok()) return UsageError(kName, status.message());

  calibration::ReadOptions options = {command.size, command.cameras};
  std::optional<PairSource> source;
  if (!command.images.empty()) {
    auto opened = PairSource::Open(absl::StrSplit(command.images, ','), 0, SendFormat::kGray, {});
    if (!opened.ok()) return SourceError(kName, opened.status());
    source.emplace(*std::move(opened));
    const auto size = ShapeOf(&*source);
    if (!size.ok()) return SourceError(kName, size.status());
    options.image = *size;
  }
  auto read = calibration::ReadCalibration(files, options);
  if (!read.ok()) {
    Complain(kName, read.status().message());
    return kFailed;
  }
  RigReport report = {*std::move(read), {}, {}};
  for (RigCamera& camera : report.calibration.rig.cameras) {
    if (camera.camera.image.width == 0) camera.camera.image = options.image;
  }
  report.findings = calibration::Check(report.calibration, options.image);
  if (source.has_value()) {
    if (const auto end = JudgeByImages(command, &*source, &report); end.has_value()) return *end;
  }
  if (!command.draw.empty()) {
    if (absl::Status drawn = Draw(report.calibration.rig, command.draw); !drawn.ok()) return OutputError(kName, drawn);
  }
  if (!command.to.empty()) {
    const absl::Status written = WriteAs(*FindWritten(command.to), report.calibration, command.output);
    if (absl::IsInvalidArgument(written)) {
      Complain(kName, written.message());
      return kFailed;
    }
    if (!written.ok()) return OutputError(kName, written);
    if (report.calibration.rig.imu.has_value() && !FindWritten(command.to)->writes_imu) {
      Complain(kName, absl::StrCat("warning: --to ", command.to,
                                   ": its files have no inertial sensor; the rig's is left out"));
    }
  }
  const int printed = Print(kName, command.json ? RigJson(report) : RigText(report));
  if (printed != kOk) return printed;
  return report.findings.empty() ? kOk : kFailed;
}

}  // namespace glint::cli
