// glint localize: the path of a stereo or RGB-D camera.

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/base/command.h"
#include "client/cli/base/connection.h"
#include "client/cli/localize/localize_flags.h"
#include "client/cli/output/draw_path.h"
#include "client/cli/output/live_view.h"
#include "client/cli/output/output.h"
#include "client/cli/output/pair_command.h"
#include "client/cli/output/pair_report.h"
#include "client/cli/output/scenes.h"
#include "client/cli/output/stream_report.h"
#include "client/cli/output/stream_run.h"
#include "client/cli/output/trajectory.h"
#include "client/cli/source/pairs.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

constexpr char kName[] = "localize";
constexpr double kDegrees = 57.29577951308232;
// Pairs count from 0.
constexpr uint64_t kLoadId = uint64_t{1} << 62, kSaveId = kLoadId + 1;

std::string Help(const Flags& flags) {
  return "Usage: glint localize --calibration PATH [OPTION]... LEFT RIGHT\n"
         "       glint localize --calibration PATH [OPTION]... SIDE_BY_SIDE\n"
         "       glint localize --calibration PATH --depth [OPTION]... LEFT DEPTH\n\n" +
         Wrap(
             "Where a stereo camera, or one with a sensor of depth, goes, by what it sees. LEFT, RIGHT and "
             "SIDE_BY_SIDE (both images in one picture) are as for glint stream: folders, patterns, videos, cameras or "
             "URLs. DEPTH is a folder or a pattern. With --mask, --right-mask and --region keypoints are looked for "
             "only where these allow it, in pixels of the pictures as they are: not on the robot itself.",
             0) +
         flags.Help() +
         "\nExit status\n"
         "  0 all pairs were answered; 1 some were not; 2 wrong command line;\n"
         "  69 no server; 74 an output cannot be written; 130 interrupted\n"
         "\nExamples\n"
         "  glint localize --calibration calib.txt image_0/ image_1/\n"
         "  glint localize --calibration mav0/ mav0/cam0/data/ mav0/cam1/data/\n"
         "  glint localize --calibration calib.txt --trajectory path.txt \\\n"
         "      --truth poses.txt --draw drive.avi image_0/ image_1/\n"
         "  glint localize --calibration TUM1.yaml --depth rgb/ depth/\n"
         "  glint localize --calibration realsense.json --depth --cameras color \\\n"
         "      --depth-camera depth color/ depth/\n"
         "  glint localize --calibration-name front --mask bonnet.png left/ right/\n"
         "  glint localize --calibration stereo.yml --rate 30 --map office both.mp4\n";
}

const char* StatusName(client::LocationStatus status) {
  static constexpr const char* kNames[kLocationStatusCount] = {"UNKNOWN", "INITIALIZING", "TRACKING", "COASTING",
                                                               "LOST",    "RELOCALIZED",  "NEW_MAP"};
  const auto index = static_cast<size_t>(status);
  return kNames[index < static_cast<size_t>(kLocationStatusCount) ? index : 0];
}

double Milliseconds(const client::LocalizeAnswer& answer) {
  return static_cast<double>(answer.timings.total_ns - answer.timings.queue_ns - answer.timings.order_ns) * 1e-6;
}

std::string Text(const client::LocalizeAnswer& answer) {
  const client::Location& l = answer.location;
  const auto& p = l.pose.position;
  return absl::StrFormat("%s at %.3f %.3f %.3f m%s, %d of %d matches agree, %.2f px, %d keyframes%s%s, %.1f ms",
                         StatusName(l.status), p[0], p[1], p[2],
                         l.map_id == 0 ? "" : absl::StrCat(" of map ", l.map_id), l.inliers, l.matches,
                         l.reprojection_error, answer.map_keyframes, l.is_keyframe ? " (a new one)" : "",
                         l.loop_closed ? ", loop closed" : "", Milliseconds(answer));
}

std::string Row(const std::string& name, double seconds, const client::LocalizeAnswer& answer) {
  const client::Location& l = answer.location;
  std::string row;
  AppendCsvField(name, &row);
  absl::StrAppendFormat(&row, ",%.9f,%s", seconds, StatusName(l.status));
  constexpr double kPlus = 0;  // makes 0 of -0
  for (const double v : l.pose.position) absl::StrAppendFormat(&row, ",%.17g", v + kPlus);
  for (const double v : l.pose.rotation) absl::StrAppendFormat(&row, ",%.17g", v + kPlus);
  absl::StrAppendFormat(&row, ",%d,%d,%d,%.6g,%d,%d,%d,%d,%.3f,%d\n", l.keypoints, l.matches, l.inliers,
                        l.reprojection_error, l.is_keyframe, l.loop_closed, answer.map_keyframes, answer.map_points,
                        Milliseconds(answer), l.map_id);
  return row;
}

// Where answers go. Thread-compatible; errors are about an output, and final.
class LocalizeReport {
 public:
  // With flags.truth, `truth` is what it has. References must outlive the report.
  static absl::StatusOr<std::unique_ptr<LocalizeReport>> Open(const LocalizeFlags& flags, const Trajectory& truth,
                                                              double rate, LiveView* live) {
    GLINT_ASSIGN_OR_RETURN(auto opened, StreamReport::Open(flags.Report(kName, kLocalizeCsvHeader, rate)));
    auto report = std::unique_ptr<LocalizeReport>(new LocalizeReport(flags, truth, std::move(opened), live));
    if (!flags.trajectory.empty()) {
      GLINT_ASSIGN_OR_RETURN(auto file, OutputFile::Open(flags.trajectory));
      report->trajectory_ = std::make_unique<OutputFile>(std::move(file));
    }
    return report;
  }

  absl::Status Add(const PicturePair& pair, double seconds, bool side_by_side, const client::LocalizeAnswer& answer) {
    const std::string& name = pair.first->name;
    const bool located = answer.status.ok() && client::IsLocated(answer.location.status);
    path_.push_back({seconds, answer.location.pose, pair.number, located, answer.location.map_id});
    absl::Status status;
    if (!answer.status.ok()) {
      Fail(name, answer.status);
      return status;
    }
    ++pairs_;
    if (!located) ++not_located_[StatusName(answer.location.status)];
    refused_ += answer.location.is_keyframe && answer.location.map_full ? 1 : 0;
    last_ = answer;
    for (const Warning& warning : answer.location.warnings) {
      if (!warned_.insert(warning.kind).second) continue;  // most come with every pair
      report_->Complain(absl::StrCat(name, ": warning: ", warning.text));
    }
    report_->ShowLive(pairs_, "pairs", [&answer] { return Text(answer); });
    trace_.Add(answer.location);
    if (live_view_->wanted()) live_view_->Show(PathScene(pair, answer, trace_, Text(answer)));
    if (status.ok() && flags_.format == AnswerFormat::kTable) {
      status = report_->Write(absl::StrCat(name, ": ", Text(answer), "\n"));
    }
    if (status.ok() && flags_.format == AnswerFormat::kCsv) status = report_->Write(Row(name, seconds, answer));
    if (!status.ok() || !report_->draws()) return status;
    drawing_.Add(answer.location);
    cv::Mat canvas = pair.first->Canvas();
    if (canvas.empty()) return absl::OkStatus();
    if (side_by_side) canvas = canvas.colRange(0, canvas.cols / 2);
    return report_->Draw(name, drawing_.Draw(canvas));
  }
  void Fail(const std::string& what, const absl::Status& status) { report_->AddFailed(what, status); }

  // The exit status. `unread`: pictures that could not be read.
  int Close(absl::Status status, int64_t unread) {
    if (status.ok() && flags_.format == AnswerFormat::kTable && pairs_ > 0) status = report_->Write(Summary());
    status = report_->Flush(status);
    LeaveOutOtherMaps();
    if (trajectory_ != nullptr) status.Update(WriteTrajectory());
    if (!not_located_.empty()) report_->Complain(absl::StrCat(pairs_, " pairs, ", Located(), WithoutPose()));
    int printed = kOk;
    if (status.ok() && !Interrupted() && !flags_.truth.empty()) printed = Compare();
    return printed == kOk ? report_->ExitStatus(status, unread) : printed;
  }

 private:
  LocalizeReport(const LocalizeFlags& flags, const Trajectory& truth, std::unique_ptr<StreamReport> report,
                 LiveView* live)
      : flags_(flags), truth_(truth), live_view_(live), report_(std::move(report)), lines_(flags.trajectory_format) {}

  // A path is of one world.
  void LeaveOutOtherMaps() {
    const int map_id = MainMap(path_);
    int64_t others = 0;
    for (TimedPose& at : path_) {
      if (!at.located || at.map_id == map_id) continue;
      at.located = false;
      ++others;
    }
    if (others == 0) return;
    report_->Complain(absl::StrCat("warning: the camera was lost, and ", others, " pairs are in other maps than map ",
                                   map_id, ": they are left out of --trajectory and --truth"));
  }

  absl::Status WriteTrajectory() {
    absl::Status status;
    for (const TimedPose& at : path_) status.Update(trajectory_->Write(lines_.Add(at)));
    status.Update(trajectory_->Close());
    return status;
  }

  // Of the pairs that were answered: "20 located, 31 not (3 COASTING, 28 LOST)".
  std::string Located() const {
    int64_t others = 0;
    for (const auto& [name, count] : not_located_) others += count;
    std::string text = absl::StrCat(pairs_ - others, " located");
    if (others == 0) return text;
    const auto count_first = [](std::string* out, const auto& of) { absl::StrAppend(out, of.second, " ", of.first); };
    return absl::StrCat(text, ", ", others, " not (", absl::StrJoin(not_located_, ", ", count_first), ")");
  }

  // What --trajectory has of pairs that were not located.
  std::string WithoutPose() const {
    if (flags_.trajectory.empty()) return "";
    const bool lines = flags_.trajectory_format == TrajectoryFormat::kKitti;
    return absl::StrCat(lines ? ", which are lines of nan in " : ", which are left out of ", flags_.trajectory);
  }

  std::string Summary() const {
    const client::Location& l = last_.location;
    std::string text = absl::StrFormat("%d pairs, %s; map: %d keyframes, %d points", pairs_, Located(),
                                       last_.map_keyframes, last_.map_points);
    if (refused_ > 0) absl::StrAppend(&text, " (full: had no room for ", refused_, " more keyframes)");
    if (!flags_.depth) {
      absl::StrAppendFormat(&text, "; rig: %.4f %.4f %.4f degrees, +-%.4f %.4f %.4f", kDegrees * l.rig_rotation[0],
                            kDegrees * l.rig_rotation[1], kDegrees * l.rig_rotation[2], kDegrees * l.rig_uncertainty[0],
                            kDegrees * l.rig_uncertainty[1], kDegrees * l.rig_uncertainty[2]);
    }
    return text + "\n";
  }

  // kOk, or kCannotWrite. Poses that cannot be compared are a failure of --truth.
  int Compare() {
    const auto report = CompareWithTruth(path_, truth_);
    if (!report.ok()) {
      Fail("--truth", report.status());
    } else if (flags_.format == AnswerFormat::kCsv && flags_.output.empty()) {
      std::fputs(report->c_str(), stderr);
    } else {
      return Print(kName, *report);
    }
    return kOk;
  }

  const LocalizeFlags& flags_;
  const Trajectory& truth_;
  LiveView* const live_view_;
  PathTrace trace_;
  const std::unique_ptr<StreamReport> report_;
  std::unique_ptr<OutputFile> trajectory_;
  TrajectoryLines lines_;  // of it
  PathPicture drawing_;
  std::vector<TimedPose> path_;                 // of all pairs, with those that are not located
  std::map<std::string, int64_t> not_located_;  // answered pairs, by their status
  client::LocalizeAnswer last_;
  std::set<WarningKind> warned_;
  int64_t pairs_ = 0;    // that were answered
  int64_t refused_ = 0;  // keyframes, by a full map
};

// A pair that cannot be read is left out, but for its time.
SentPairs SendAll(PairSource* source, const LocalizeFlags& flags, const StreamRun<client::LocalizeStream>& stream,
                  WaitingPairs* waiting, const LiveView& live) {
  SentPairs sent;
  if (const std::string text = source->LeftOut(); !text.empty()) Complain(kName, text);
  const uint64_t end = static_cast<uint64_t>(flags.max_frames.value_or(INT32_MAX));
  for (uint64_t id = 0; id < end && sent.stream.ok() && !Interrupted(); ++id) {
    live.WaitWhilePaused();
    PicturePair pair;
    const absl::Status next = source->Next(&pair);
    if (absl::IsOutOfRange(next)) break;
    if (!next.ok()) {
      Complain(kName, next.message());
      ++sent.unread;
      continue;
    }
    waiting->Push(pair);
    const client::ImageInput left = pair.first->input();
    const client::ImageInput right = pair.second != nullptr ? pair.second->input() : client::ImageInput();
    const int64_t time_ns = absl::ToInt64Nanoseconds(flags.TimeOf(pair));
    if (flags.relocalize) {
      sent.stream = flags.depth ? stream->RelocalizeDepth(id, left, right) : stream->Relocalize(id, left, right);
    } else {
      sent.stream =
          flags.depth ? stream->WriteDepth(id, left, right, time_ns) : stream->Write(id, left, right, time_ns);
    }
  }
  if (const std::string text = source->LeftOut(); !text.empty()) Complain(kName, text);
  return sent;
}

}  // namespace

int RunLocalize(const std::vector<std::string>& arguments) {
  PairCommand command(kName, kLocalizeDefaults, PairCommand::Masks::kBoth);
  LocalizeFlags localize_flags;
  localize_flags.AddTo(command.flags());
  const auto end_here = command.Parse(
      arguments, {Help, "give LEFT and RIGHT, or pictures with both", [&] { return localize_flags.Validate(); }});
  if (end_here.has_value()) return *end_here;
  Trajectory truth;  // read now: the pairs may take hours
  if (!localize_flags.truth.empty()) {
    auto read = ReadTrajectory(localize_flags.truth);
    if (!read.ok()) return SourceError(kName, read.status());
    truth = *std::move(read);
  }
  if (localize_flags.depth && command.names().size() != 2)
    return UsageError(kName, "option '--depth': needs LEFT and DEPTH");
  auto source = PairSource::Open(command.names(), 0, SendFormat::kGray, command.video());
  const bool side_by_side = command.names().size() == 1;
  if (!source.ok()) return SourceError(kName, source.status());
  const auto image = ShapeOf(&*source);
  if (!image.ok()) return SourceError(kName, image.status());
  std::vector<std::string> notes;
  auto options = localize_flags.Options(*image, &notes);
  if (!options.ok()) return UsageError(kName, options.status().message());
  for (const std::string& note : notes) Complain(kName, note);
  if (const absl::Status s = command.SetMasks(&*options); !s.ok()) return UsageError(kName, s.message());

  // Without sliders: a new stream would begin a new map.
  auto live =
      LiveView::Open(kName, localize_flags.view,
                     absl::StrCat("path of ", command.names().front(), " on ", command.connection().server), nullptr);
  if (!live.ok()) return UsageError(kName, live.status().message());
  const auto connection = Connection::Open(command.connection());
  if (!connection.ok()) return CallError(kName, connection.status());
  const auto report = LocalizeReport::Open(localize_flags, truth, source->rate(), &*live);
  if (!report.ok()) return OutputError(kName, report.status());

  options->detector = command.detector();
  command.SetCall(&*options);
  WaitingPairs waiting;
  StreamRun<client::LocalizeStream> run([&] {
    return connection->client().OpenLocalizeStream(*options, [&](const client::LocalizeAnswer& answer) {
      if (answer.frame_id == kLoadId || answer.frame_id == kSaveId) {
        const bool is_new = answer.frame_id == kLoadId && absl::IsNotFound(answer.status) && !localize_flags.relocalize;
        if (is_new) Complain(kName, absl::StrCat("warning: a new map begins: ", answer.status.message()));
        if (answer.status.ok() || is_new) return;
        (*report)->Fail(absl::StrCat("map ", localize_flags.map), answer.status);
        if (answer.frame_id == kLoadId) run->Cancel();
        return;
      }
      const PicturePair pair = waiting.Pop();
      const double seconds = absl::ToDoubleSeconds(localize_flags.TimeOf(pair));
      run.Take([&] { return (*report)->Add(pair, seconds, side_by_side, answer); });
    });
  });
  if (const absl::Status opened = run.Reopen(); !opened.ok()) return CallError(kName, opened);
  SentPairs sent;
  if (!localize_flags.map.empty()) sent.stream = run->LoadMap(kLoadId, localize_flags.map);
  if (sent.stream.ok()) sent = SendAll(&*source, localize_flags, run, &waiting, *live);
  if (sent.stream.ok() && !localize_flags.map.empty() && !localize_flags.relocalize) {
    sent.stream = run->SaveMap(kSaveId, localize_flags.map);
  }
  if (const absl::Status end = run.Finish(sent.stream); !end.ok()) return CallError(kName, end);
  return (*report)->Close(run.output(), sent.unread);
}

}  // namespace glint::cli
