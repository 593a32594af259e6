#include "client/cli/localize/localize_report.h"

#include <cstddef>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/base/command.h"
#include "client/cli/output/pair_report.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

constexpr char kName[] = "localize";
constexpr double kDegrees = 57.29577951308232;

double Milliseconds(const client::LocalizeAnswer& answer) {
  return static_cast<double>(answer.timings.total_ns - answer.timings.queue_ns - answer.timings.order_ns) * 1e-6;
}

std::string Text(const client::LocalizeAnswer& answer) {
  const client::Location& l = answer.location;
  const auto& p = l.pose.position;
  const std::string imu = l.inertial.has_value() ? absl::StrCat(", imu ", NameOf(l.inertial->status)) : "";
  return absl::StrFormat("%s at %.3f %.3f %.3f m%s, %d of %d matches agree, %.2f px, %d keyframes%s%s%s, %.1f ms",
                         NameOf(l.status), p[0], p[1], p[2], l.map_id == 0 ? "" : absl::StrCat(" of map ", l.map_id),
                         l.inliers, l.matches, l.reprojection_error, answer.map_keyframes,
                         l.is_keyframe ? " (a new one)" : "", l.loop_closed ? ", loop closed" : "", imu,
                         Milliseconds(answer));
}

std::string Row(const std::string& name, double seconds, const client::LocalizeAnswer& answer, bool with_imu) {
  const client::Location& l = answer.location;
  std::string row;
  AppendCsvField(name, &row);
  absl::StrAppendFormat(&row, ",%.9f,%s", seconds, NameOf(l.status));
  constexpr double kPlus = 0;  // makes 0 of -0
  for (const double v : l.pose.position) absl::StrAppendFormat(&row, ",%.17g", v + kPlus);
  for (const double v : l.pose.rotation) absl::StrAppendFormat(&row, ",%.17g", v + kPlus);
  absl::StrAppendFormat(&row, ",%d,%d,%d,%.6g,%d,%d,%d,%d,%.3f,%d", l.keypoints, l.matches, l.inliers,
                        l.reprojection_error, l.is_keyframe, l.loop_closed, answer.map_keyframes, answer.map_points,
                        Milliseconds(answer), l.map_id);
  if (with_imu) row += InertialColumns(l);
  return row + "\n";
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalizeReport>> LocalizeReport::Open(const LocalizeFlags& flags,
                                                                     const Trajectory& truth, double rate,
                                                                     LiveView* live) {
  const std::string header = absl::StrCat(kLocalizeCsvHeader, flags.imu.given() ? kInertialCsvColumns : "");
  GLINT_ASSIGN_OR_RETURN(auto opened, StreamReport::Open(flags.Report(kName, header, rate)));
  auto report = std::unique_ptr<LocalizeReport>(new LocalizeReport(flags, truth, std::move(opened), live));
  if (!flags.trajectory.empty()) {
    GLINT_ASSIGN_OR_RETURN(auto file, OutputFile::Open(flags.trajectory));
    report->trajectory_ = std::make_unique<OutputFile>(std::move(file));
  }
  if (!flags.imu.poses().empty()) {
    GLINT_ASSIGN_OR_RETURN(auto file, OutputFile::Open(flags.imu.poses()));
    report->imu_poses_ = std::make_unique<OutputFile>(std::move(file));
  }
  return report;
}

absl::Status LocalizeReport::AddImuPoses(const std::vector<client::ImuPose>& poses) {
  if (imu_poses_ == nullptr) return absl::OkStatus();
  TrajectoryLines lines(TrajectoryFormat::kTum);
  absl::Status status;
  for (const client::ImuPose& at : poses) {
    status.Update(imu_poses_->Write(lines.Add({static_cast<double>(at.time_ns) * 1e-9, at.pose})));
  }
  return status;
}

absl::Status LocalizeReport::Add(const PicturePair& pair, absl::Duration time, const client::LocalizeAnswer& answer) {
  const std::string& name = pair.first->name;
  const double seconds = absl::ToDoubleSeconds(time);
  const bool located = answer.status.ok() && client::IsLocated(answer.location.status);
  path_.push_back({seconds, answer.location.pose, pair.number, located, answer.location.map_id, answer.location.level});
  absl::Status status;
  if (!answer.status.ok()) {
    Fail(name, answer.status);
    return status;
  }
  ++pairs_;
  if (!located) ++not_located_[NameOf(answer.location.status)];
  refused_ += answer.location.is_keyframe && answer.location.map_full ? 1 : 0;
  last_ = answer;
  if (answer.rectified.has_value()) rectified_ = answer.rectified;
  inertial_.Add(answer.location);
  for (const Warning& warning : answer.location.warnings) {
    if (!warned_.insert(warning.kind).second) continue;  // most come with every pair
    report_->Complain(absl::StrCat(name, ": warning: ", warning.text));
  }
  report_->ShowLive(pairs_, "pairs", [&answer] { return Text(answer); });
  trace_.Add(answer.location);
  if (live_view_->wanted()) {
    view::Scene scene = PathScene(pair, answer, trace_, Text(answer));
    scene.map = std::exchange(map_, nullptr);
    live_view_->Show(std::move(scene));
  }
  if (report_->mcap() != nullptr) {
    status = report_->mcap()->Add(PathScene(pair, answer, trace_, Text(answer)), time, pair.number);
  }
  if (status.ok() && flags_.format == AnswerFormat::kTable) {
    status = report_->Write(absl::StrCat(name, ": ", Text(answer), "\n"));
  }
  if (status.ok() && flags_.format == AnswerFormat::kCsv)
    status = report_->Write(Row(name, seconds, answer, flags_.imu.given()));
  if (!status.ok() || !report_->draws()) return status;
  drawing_.Add(answer.location);
  cv::Mat canvas = pair.first->Canvas();
  if (canvas.empty()) return absl::OkStatus();
  if (pair.second == nullptr) canvas = canvas.colRange(0, canvas.cols / 2);
  return report_->Draw(name, drawing_.Draw(canvas));
}

int LocalizeReport::Close(absl::Status status, int64_t unread) {
  if (status.ok() && flags_.format == AnswerFormat::kTable && pairs_ > 0) status = report_->Write(Summary());
  status = report_->Flush(status);
  LeaveOutOtherWorlds();
  if (trajectory_ != nullptr) status.Update(WriteTrajectory());
  if (imu_poses_ != nullptr) status.Update(imu_poses_->Close());
  if (!not_located_.empty()) report_->Complain(absl::StrCat(pairs_, " pairs, ", Located(), WithoutPose()));
  if (flags_.imu.given() && pairs_ > 0 && inertial_.Text().empty()) {
    report_->Complain("warning: the server has not used --imu: it is of a version that does not know it");
  }
  int printed = kOk;
  if (status.ok() && !Interrupted() && !flags_.truth.empty()) printed = Compare();
  return printed == kOk ? report_->ExitStatus(status, unread) : printed;
}

void LocalizeReport::LeaveOutOtherWorlds() {
  const World world = MainWorld(path_);
  int64_t others = 0, not_level = 0;
  for (TimedPose& at : path_) {
    if (!at.located || (at.map_id == world.map_id && at.level == world.level)) continue;
    at.located = false;
    ++(at.map_id == world.map_id ? not_level : others);
  }
  constexpr char kLeftOut[] = ": they are left out of --trajectory and --truth";
  if (others > 0) {
    report_->Complain(absl::StrCat("warning: the camera was lost, and ", others, " pairs are in other maps than map ",
                                   world.map_id, kLeftOut));
  }
  if (not_level > 0) {
    report_->Complain(absl::StrCat("warning: ", not_level, " pairs were located ", world.level ? "before" : "after",
                                   " the world was made level by the inertial sensor", kLeftOut));
  }
}

absl::Status LocalizeReport::WriteTrajectory() {
  absl::Status status;
  for (const TimedPose& at : path_) status.Update(trajectory_->Write(lines_.Add(at)));
  status.Update(trajectory_->Close());
  return status;
}

std::string LocalizeReport::Located() const {
  int64_t others = 0;
  for (const auto& [name, count] : not_located_) others += count;
  std::string text = absl::StrCat(pairs_ - others, " located");
  if (others == 0) return text;
  const auto count_first = [](std::string* out, const auto& of) { absl::StrAppend(out, of.second, " ", of.first); };
  return absl::StrCat(text, ", ", others, " not (", absl::StrJoin(not_located_, ", ", count_first), ")");
}

std::string LocalizeReport::WithoutPose() const {
  if (flags_.trajectory.empty()) return "";
  const bool lines = flags_.trajectory_format == TrajectoryFormat::kKitti;
  return absl::StrCat(lines ? ", which are lines of nan in " : ", which are left out of ", flags_.trajectory);
}

std::string LocalizeReport::Summary() const {
  const client::Location& l = last_.location;
  std::string text = absl::StrFormat("%d pairs, %s; map: %d keyframes, %d points", pairs_, Located(),
                                     last_.map_keyframes, last_.map_points);
  if (refused_ > 0) absl::StrAppend(&text, " (full: had no room for ", refused_, " more keyframes)");
  if (!flags_.depth) {
    absl::StrAppendFormat(&text, "; rig: %.4f %.4f %.4f degrees, +-%.4f %.4f %.4f", kDegrees * l.rig_rotation[0],
                          kDegrees * l.rig_rotation[1], kDegrees * l.rig_rotation[2], kDegrees * l.rig_uncertainty[0],
                          kDegrees * l.rig_uncertainty[1], kDegrees * l.rig_uncertainty[2]);
  }
  text += '\n';
  if (const std::string imu = inertial_.Text(); !imu.empty()) absl::StrAppend(&text, imu, "\n");
  return text;
}

int LocalizeReport::Compare() {
  Trajectory truth = truth_;
  if (truth.of_raw_camera && rectified_.has_value()) {
    MoveTo({rectified_->rectified_from_left.transpose(), {0, 0, 0}}, &truth);
  }
  const auto report = CompareWithTruth(path_, truth);
  if (!report.ok()) {
    Fail("--truth", report.status());
  } else if (flags_.format == AnswerFormat::kCsv && flags_.output.empty()) {
    std::fputs(report->c_str(), stderr);
  } else {
    return Print(kName, *report);
  }
  return kOk;
}

}  // namespace glint::cli
