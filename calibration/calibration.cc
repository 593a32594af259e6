#include "calibration/calibration.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "calibration/formats/format.h"
#include "calibration/formats/other_files.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFileBytes = 16 << 20;
constexpr size_t kMaxFolderFiles = 64;  // of text
constexpr size_t kSniffedBytes = 512;

struct Recognised {
  Source source;
  const Format* format = nullptr;  // null: none
  absl::Status status;             // why the text is no document; OK: it is one
};

std::string Titles() {
  return absl::StrJoin(Formats(), ", ", [](std::string* out, const Format& f) { absl::StrAppend(out, f.title); });
}

absl::StatusOr<Recognised> Recognise(absl::string_view path, std::string text) {
  Recognised file;
  file.source.path = std::string(path);
  file.source.text = std::move(text);
  absl::StatusOr<Node> root = ParseDocument(file.source.text, &file.source.warnings);
  file.status = root.status();
  if (root.ok()) file.source.root = *std::move(root);
  if (absl::StrContains(file.source.text, '\0')) return file;  // a picture: no format is binary
  for (const Format& format : Formats()) {
    if (!format.recognises(file.source)) continue;
    if (file.format != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": may be ", file.format->title, " or ", format.title,
                                                     "; leave out what is of the other"));
    }
    file.format = &format;
  }
  return file;
}

absl::Status UnknownError(const Recognised& file) {
  if (const std::string seems = WhatItSeems(file.source.text); !seems.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.source.path, ": no calibration that Glint knows; it seems to be ", seems));
  }
  const std::string why = file.status.ok() ? "" : absl::StrCat(" (", file.status.message(), ")");
  return absl::InvalidArgumentError(
      absl::StrCat(file.source.path, ": no calibration that Glint knows", why, ": ", Titles()));
}

// At most `most` bytes of a file.
absl::StatusOr<std::string> ReadBytes(const std::string& path, size_t most) {
  std::ifstream stream(path, std::ios::binary);
  std::string bytes(most, '\0');
  stream.read(bytes.data(), static_cast<std::streamsize>(most));
  if (!stream.is_open() || stream.bad()) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  bytes.resize(static_cast<size_t>(stream.gcount()));
  return bytes;
}

absl::StatusOr<std::string> ReadText(const std::string& path) {
  const auto too_long = [&path](uintmax_t size) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", size, " bytes are more than the ", kMaxFileBytes, " of a calibration"));
  };
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_fifo(status) || fs::is_character_file(status)) {  // without a size, as <(...) is
    GLINT_ASSIGN_OR_RETURN(std::string text, ReadBytes(path, kMaxFileBytes + 1));
    if (text.size() > kMaxFileBytes) return too_long(text.size());
    return text;
  }
  const auto size = fs::file_size(path, error);
  if (error) return absl::NotFoundError(absl::StrCat(path, ": cannot be read: ", error.message()));
  if (size > kMaxFileBytes) return too_long(size);
  return ReadBytes(path, size);
}

std::vector<std::string> EntriesOf(const fs::path& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    paths.push_back(at->path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool IsFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// EuRoC's folders of sensors, each with a sensor.yaml: in `folder`, or in its mav0.
std::vector<std::string> SensorFiles(const fs::path& folder) {
  for (const fs::path& base : {folder, folder / "mav0"}) {
    std::vector<std::string> files;
    for (const std::string& entry : EntriesOf(base)) {
      const fs::path file = fs::path(entry) / "sensor.yaml";
      const std::string name = fs::path(entry).filename().string();
      if ((absl::StartsWith(name, "cam") || name == "imu0") && IsFile(file)) files.push_back(file.string());
    }
    if (!files.empty()) return files;
  }
  return {};
}

// The calibrations in a folder, all of one format.
absl::StatusOr<std::vector<Recognised>> ReadFolder(const std::string& folder) {
  std::vector<std::string> paths = SensorFiles(folder);
  if (paths.empty()) paths = EntriesOf(folder);
  std::vector<Recognised> files;
  std::vector<std::string> seen, formats;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!IsFile(path) || fs::file_size(path, error) > kMaxFileBytes || error) continue;
    GLINT_ASSIGN_OR_RETURN(const std::string begin, ReadBytes(path, kSniffedBytes));
    if (begin.find('\0') != std::string::npos) continue;  // pictures
    seen.push_back(fs::path(path).filename().string());
    if (seen.size() > kMaxFolderFiles) {
      return absl::InvalidArgumentError(
          absl::StrCat(folder, ": more than ", kMaxFolderFiles, " files of text: name the calibration's file"));
    }
    GLINT_ASSIGN_OR_RETURN(std::string text, ReadText(path));
    GLINT_ASSIGN_OR_RETURN(Recognised file, Recognise(path, std::move(text)));
    if (file.format == nullptr) continue;
    formats.push_back(absl::StrCat(seen.back(), " (", file.format->title, ")"));
    files.push_back(std::move(file));
  }
  if (files.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": no calibration that Glint knows among ",
                                                   seen.empty() ? "no files of text" : absl::StrJoin(seen, ", "), ": ",
                                                   Titles()));
  }
  const Format* first = files[0].format;
  if (std::any_of(files.begin(), files.end(), [&](const Recognised& file) { return file.format != first; })) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": several calibrations: name one of ", absl::StrJoin(formats, ", ")));
  }
  return files;
}

// The cameras that `names` says, in its order.
absl::Status ChooseCameras(absl::string_view names, Rig* rig) {
  std::vector<RigCamera> chosen;
  for (absl::string_view name : absl::StrSplit(names, ',')) {
    const auto at = std::find_if(rig->cameras.begin(), rig->cameras.end(),
                                 [&](const RigCamera& camera) { return camera.name == name; });
    if (at == rig->cameras.end()) {
      const auto append = [](std::string* out, const RigCamera& camera) { absl::StrAppend(out, camera.name); };
      return NotOneOfError("cameras", name, absl::StrJoin(rig->cameras, ", ", append));
    }
    chosen.push_back(*at);
  }
  rig->cameras = std::move(chosen);
  return absl::OkStatus();
}

// Whether `name` has the word `side`: "narrow_stereo/left", "rightCamera"; not "upright".
bool NamesSide(const std::string& name, const std::string& side) {
  const std::string lower = absl::AsciiStrToLower(name);
  for (size_t at = lower.find(side); at != lower.npos; at = lower.find(side, at + 1)) {
    if (at == 0 || !absl::ascii_isalpha(name[at - 1]) || absl::ascii_isupper(name[at])) return true;
  }
  return false;
}

// Unless the user gives an order, the left camera comes first: as names and format say, or, where they say nothing, by
// the poses. Where they contradict the poses, Check() refuses the pair.
void PutLeftFirst(Calibration* calibration) {
  std::vector<RigCamera>& cameras = calibration->rig.cameras;
  if (cameras.size() < 2) return;
  const RigidTransform pose = cameras[0].rig_from_camera.Inverse() * cameras[1].rig_from_camera;
  const Eigen::Vector3d& t = pose.translation;
  const bool is_pair = pose.rotation(2, 2) > 0.5;  // they look apart by less than 60 degrees
  if (!(is_pair && std::abs(t.x()) > std::abs(t.y()) && std::abs(t.x()) > std::abs(t.z()))) return;
  const bool second_is_left = t.x() < 0;
  const std::string &left = cameras[second_is_left ? 1 : 0].name, &right = cameras[second_is_left ? 0 : 1].name;
  const bool contradict =
      NamesSide(left, "right") || NamesSide(right, "left") || (second_is_left && calibration->first_is_left);
  if (contradict == second_is_left) return;
  if (!contradict && !NamesSide(left, "left") && !NamesSide(right, "right")) {
    calibration->reordered =
        absl::StrFormat("%s lies %.4g m to the left of %s and is taken as the left camera (--cameras %s,%s: the other)",
                        left, -t.x(), right, right, left);
  }
  std::swap(cameras[0], cameras[1]);
}

absl::StatusOr<Calibration> ReadSources(std::vector<Recognised> files, const ReadOptions& options) {
  const Format& format = *files[0].format;
  std::vector<Source> sources;
  sources.reserve(files.size());
  for (Recognised& file : files) sources.push_back(std::move(file.source));
  GLINT_ASSIGN_OR_RETURN(Calibration calibration, format.read(sources, options));
  calibration.format = format.name;
  std::vector<std::string> warnings;
  for (const Source& source : sources) {
    for (const std::string& warning : source.warnings) warnings.push_back(absl::StrCat(source.path, ": ", warning));
  }
  calibration.warnings.insert(calibration.warnings.begin(), warnings.begin(), warnings.end());
  if (!options.cameras.empty()) GLINT_RETURN_IF_ERROR(ChooseCameras(options.cameras, &calibration.rig));
  return calibration;
}

// `several`: there is a path for each camera.
absl::StatusOr<Calibration> ReadRecognised(std::vector<Recognised> files, bool several, const ReadOptions& options) {
  if (files.empty()) return absl::InvalidArgumentError("no path of a calibration");
  for (const Recognised& file : files) {
    if (file.format == files[0].format) continue;
    return absl::InvalidArgumentError(absl::StrCat(files[0].source.path, " is ", files[0].format->title, ", but ",
                                                   file.source.path, " is ", file.format->title));
  }
  GLINT_ASSIGN_OR_RETURN(Calibration calibration, ReadSources(std::move(files), options));
  const bool is_ordered = options.in_file_order || !options.cameras.empty() || (several && calibration.file_for_each);
  if (!is_ordered) PutLeftFirst(&calibration);
  return calibration;
}

}  // namespace

absl::StatusOr<Calibration> ReadCalibration(absl::Span<const std::string> paths, const ReadOptions& options) {
  std::vector<Recognised> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      GLINT_ASSIGN_OR_RETURN(std::vector<Recognised> found, ReadFolder(path));
      std::move(found.begin(), found.end(), std::back_inserter(files));
      continue;
    }
    GLINT_ASSIGN_OR_RETURN(std::string text, ReadText(path));
    GLINT_ASSIGN_OR_RETURN(Recognised file, Recognise(path, std::move(text)));
    if (file.format == nullptr) return UnknownError(file);
    files.push_back(std::move(file));
  }
  return ReadRecognised(std::move(files), paths.size() > 1, options);
}

absl::StatusOr<Calibration> ParseCalibrations(absl::Span<const NamedText> files, const ReadOptions& options) {
  std::vector<Recognised> recognised;
  for (const NamedText& file : files) {
    if (file.text.size() > kMaxFileBytes) return TooLargeError(file.name, file.text.size(), kMaxFileBytes);
    GLINT_ASSIGN_OR_RETURN(recognised.emplace_back(), Recognise(file.name, file.text));
    if (recognised.back().format == nullptr) return UnknownError(recognised.back());
  }
  return ReadRecognised(std::move(recognised), files.size() > 1, options);
}

absl::StatusOr<Calibration> ParseCalibration(absl::string_view path, absl::string_view text,
                                             const ReadOptions& options) {
  return ParseCalibrations({NamedText{std::string(path), std::string(text)}}, options);
}

}  // namespace glint::calibration
