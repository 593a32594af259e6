// glint stereo: disparities of the keypoints of rectified pairs.
#include <algorithm>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/base/command.h"
#include "client/cli/base/connection.h"
#include "client/cli/output/draw_pairs.h"
#include "client/cli/output/live_view.h"
#include "client/cli/output/pair_command.h"
#include "client/cli/output/pair_report.h"
#include "client/cli/output/scenes.h"
#include "client/cli/output/stream_run.h"
#include "client/cli/source/calibration.h"
#include "features/status_macros.h"
#include "features/warning.h"

namespace glint::cli {
namespace {

constexpr char kName[] = "stereo";
constexpr char kCsvHeader[] = "image,keypoint,x,y,right_x,disparity,depth,distance";

struct StereoFlags {
  std::optional<int> max_distance, max_octave_difference;
  std::optional<float> band, min_disparity, max_disparity;
  std::optional<double> focal_length, baseline;
  StereoOptions options;
  CalibrationFlags calibration;

  void AddTo(Flags* flags) {
    flags->Section("Stereo");
    flags->Int("max-distance", "BITS", "Bits that may differ (0..4096, default 75).", &max_distance);
    flags->Float("band", "ROWS", "How far apart the rows may be, in rows of the right one's level (0..16, default 2).",
                 &band);
    flags->Int("max-octave-difference", "N", "How far apart the octaves may be (0..11, default 1).",
               &max_octave_difference);
    flags->Float("min-disparity", "PIXELS", "Left x minus right x at least (-16384..16384, default 0).",
                 &min_disparity);
    flags->Float("max-disparity", "PIXELS", "And at most (default 16384).", &max_disparity);
    flags->Bool("cross-check", "Mutual nearest neighbours alone (default: yes).", &options.cross_check);
    flags->Bool("refine", "Sub-pixel disparities (default: yes).", &options.refine);
    flags->Bool("median-cut", "Drop matches whose pixels differ the most (default: yes).", &options.median_cut);
    flags->Bool("check-pair", "Look whether the pair is rectified and not swapped (default: yes).",
                &options.check_pair);
    calibration.AddTo(flags, /*needed=*/false);
    flags->Double("focal-length", "PIXELS", "For depths, with --baseline (0..1000000); in place of --calibration.",
                  &focal_length);
    flags->Double("baseline", "LENGTH", "Between the cameras, in the unit of the depths (0..1000000).", &baseline);
  }
  StereoOptions Options() const {
    StereoOptions o = options;
    o.max_distance = max_distance.value_or(o.max_distance);
    o.band = band.value_or(o.band);
    o.max_octave_difference = max_octave_difference.value_or(o.max_octave_difference);
    o.min_disparity = min_disparity.value_or(o.min_disparity);
    o.max_disparity = max_disparity.value_or(o.max_disparity);
    o.focal_length = focal_length.value_or(o.focal_length);
    o.baseline = baseline.value_or(o.baseline);
    return o;
  }
  absl::Status Validate() const {
    GLINT_RETURN_IF_ERROR(calibration.Validate());
    if (!calibration.given() || (!focal_length.has_value() && !baseline.has_value())) return absl::OkStatus();
    return absl::InvalidArgumentError("option '--calibration': not with --focal-length or --baseline");
  }
};

// Sets what --calibration says for the images of `source`; the exit status if that is an error.
std::optional<int> SetCameras(const CalibrationFlags& flags, PairSource* source, client::StereoStreamOptions* options) {
  if (!flags.given()) return std::nullopt;
  const auto image = ShapeOf(source);
  if (!image.ok()) return SourceError(kName, image.status());
  auto cameras = flags.Read(*image);
  if (!cameras.ok()) return UsageError(kName, cameras.status().message());
  for (const std::string& note : cameras->notes) Complain(kName, note);
  options->rig = std::move(cameras->rig);
  if (options->rig.has_value()) return std::nullopt;
  options->stereo.focal_length = cameras->focal_length();
  options->stereo.baseline = cameras->baseline();
  return std::nullopt;
}

std::string Help(const Flags& flags) {
  return "Usage: glint stereo [OPTION]... LEFT [RIGHT]\n"
         "       glint stereo --bag FILE --left TOPIC [--right TOPIC] [OPTION]...\n\n" +
         Wrap(
             "Finds the keypoints of both images of pairs and the disparities of the left ones. The pairs are "
             "rectified, "
             "or raw with --calibration, which gives the depths, too. LEFT and RIGHT are one picture each or many, as "
             "for glint stream. Without RIGHT each picture has both images side "
             "by side, the left one on the left. With --mask, --right-mask and --region keypoints are looked for "
             "only where these allow it, in pixels of the pictures as they are. Warnings about doubtful pairs go to "
             "standard error.",
             0) +
         flags.Help() +
         "\nExit status\n"
         "  0 all pairs were answered; 1 some were not; 2 wrong command line;\n"
         "  69 no server; 74 an output cannot be written; 130 interrupted\n"
         "\nExamples\n"
         "  glint stereo --server inproc --draw disparity.png left.png right.png\n"
         "  glint stereo --calibration camchain.yaml --csv left/ right/\n"
         "  glint stereo --calibration-name front --mask bonnet.png left/ right/\n"
         "  glint stereo --bag drive.mcap --left /left/image_raw --right /right/image_raw\n"
         "  glint stereo --focal-length 707.1 --baseline 0.537 --csv left/ right/\n";
}

std::string Line(const std::string& name, const client::StereoAnswer& a) {
  std::string line = absl::StrFormat("%s: %d and %d keypoints, %d matches", name, a.left.count(), a.right_keypoints,
                                     a.disparity.size());
  if (!a.disparity.empty()) {
    std::vector<float> sorted = a.disparity;
    std::sort(sorted.begin(), sorted.end());
    absl::StrAppendFormat(&line, ", disparity %.2f..%.2f (median %.2f)", sorted.front(), sorted.back(),
                          sorted[sorted.size() / 2]);
  }
  absl::StrAppendFormat(&line, ", %.3f ms\n", static_cast<double>(a.timings.total_ns) * 1e-6);
  return line;
}

std::string Rows(const std::string& name, const client::StereoAnswer& a) {
  std::string field, rows;
  AppendCsvField(name, &field);
  for (size_t i = 0; i < a.disparity.size(); ++i) {
    const size_t at = a.left_index[i];
    absl::StrAppend(&rows, field, ",", at);
    AppendCsvFloats({a.left.x[at], a.left.y[at], a.right_x[i], a.disparity[i]}, &rows);
    rows += ',';
    if (!a.depth.empty()) AppendFloat(a.depth[i], &rows);
    absl::StrAppend(&rows, ",", a.distance[i], "\n");
  }
  return rows;
}

// `warned`: the kinds that have been said.
absl::Status Add(const PicturePair& pair, const client::StereoAnswer& answer, AnswerFormat format,
                 std::set<WarningKind>* warned, StreamReport* report) {
  const std::string& name = pair.first->name;
  if (!answer.status.ok()) {
    report->AddFailed(name, answer.status);
    return absl::OkStatus();
  }
  for (const Warning& warning : answer.warnings) {
    if (!warned->insert(warning.kind).second) continue;  // most come with every pair
    report->Complain(absl::StrCat(name, ": warning: ", warning.text));
  }
  absl::Status status;
  if (report->mcap() != nullptr) {
    status = report->mcap()->Add(StereoScene(pair, answer), pair.first->time, pair.number);
  }
  if (status.ok() && format == AnswerFormat::kTable) status = report->Write(Line(name, answer));
  if (status.ok() && format == AnswerFormat::kCsv) status = report->Write(Rows(name, answer));
  if (!status.ok() || !report->draws()) return status;
  cv::Mat canvas = pair.first->Canvas();
  if (canvas.empty()) return status;
  if (pair.second == nullptr) canvas = canvas.colRange(0, canvas.cols / 2);
  return report->Draw(name, DrawDisparities(canvas, answer));
}

}  // namespace

int RunStereo(const std::vector<std::string>& arguments) {
  PairCommand command(kName, kStereoDefaults, PairCommand::Masks::kBoth);
  StereoFlags stereo_flags;
  PairFlags pair_flags;
  view::ViewAddresses view;
  stereo_flags.AddTo(command.flags());
  pair_flags.AddTo(command.flags(), kCsvHeader, "The left picture with its matches coloured by disparity, and a scale.",
                   false);
  pair_flags.mcap.AddTo(command.flags());
  AddViewFlags(command.flags(), true, &view);
  const auto end_here = command.Parse(arguments, {Help, "give LEFT and RIGHT, or pictures with both", [&] {
                                                    absl::Status status = pair_flags.Validate();
                                                    status.Update(stereo_flags.Validate());
                                                    status.Update(pair_flags.mcap.Validate(command.bag()->path()));
                                                    return status;
                                                  }});
  if (end_here.has_value()) return *end_here;
  if (const absl::Status s = command.OpenBag(); !s.ok()) return SourceError(kName, s);
  auto source = PairSource::Open(command.names(), 0, SendFormat::kGray, command.video());
  if (!source.ok()) return SourceError(kName, source.status());
  client::StereoStreamOptions options;
  options.detector = command.detector();
  options.stereo = stereo_flags.Options();
  options.in_flight = pair_flags.in_flight.value_or(options.in_flight);
  command.SetCall(&options);
  if (const absl::Status s = command.SetMasks(&options); !s.ok()) return UsageError(kName, s.message());
  std::vector<std::string> notes;
  if (!stereo_flags.focal_length.has_value() && !stereo_flags.baseline.has_value()) {
    const absl::Status s = command.bag()->SetCalibration(command.names(), /*depth=*/false, /*needed=*/false, /*imu=*/"",
                                                         &stereo_flags.calibration, &notes);
    if (!s.ok()) return SourceError(kName, s);
  }
  for (const std::string& note : notes) Complain(kName, note);
  if (const auto end = SetCameras(stereo_flags.calibration, &*source, &options); end.has_value()) return *end;

  auto live = LiveView::Open(
      kName, view, absl::StrCat("disparities of ", command.names().front(), " on ", command.connection().server),
      &command.detector());
  if (!live.ok()) return UsageError(kName, live.status().message());
  const auto connection = Connection::Open(command.connection());
  if (!connection.ok()) return CallError(kName, connection.status());
  const auto report = StreamReport::Open(pair_flags.Report(kName, kCsvHeader, source->rate()));
  if (!report.ok()) return OutputError(kName, report.status());

  WaitingPairs waiting;
  std::set<WarningKind> warned;
  StreamRun<client::StereoStream> run([&] {
    return connection->client().OpenStereoStream(options, [&](const client::StereoAnswer& answer) {
      const PicturePair pair = waiting.Pop();
      if (answer.status.ok() && live->wanted()) live->Show(StereoScene(pair, answer));
      run.Take([&] { return Add(pair, answer, pair_flags.format, &warned, report->get()); });
    });
  });
  if (const absl::Status opened = run.Reopen(); !opened.ok()) return CallError(kName, opened);
  const SentPairs sent = SendPairs(kName, &*source, &waiting, [&](uint64_t id, const PicturePair& pair) {
    if (live->Next(&options.detector)) GLINT_RETURN_IF_ERROR(run.Reopen());
    return run->Write(id, pair.first->input(), pair.second != nullptr ? pair.second->input() : client::ImageInput());
  });
  if (const absl::Status end = run.Finish(sent.stream); !end.ok()) return CallError(kName, end);
  return command.bag()->ExitStatus(kName, (*report)->Close(run.output(), sent.unread));
}

}  // namespace glint::cli
