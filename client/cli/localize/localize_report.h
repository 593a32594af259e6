// Where the answers of glint localize go: rows, a trajectory, pictures, a page, and what it says at its end.
#ifndef GLINT_CLIENT_CLI_LOCALIZE_LOCALIZE_REPORT_H_
#define GLINT_CLIENT_CLI_LOCALIZE_LOCALIZE_REPORT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/localize/inertial_report.h"
#include "client/cli/localize/localize_flags.h"
#include "client/cli/output/draw_path.h"
#include "client/cli/output/live_view.h"
#include "client/cli/output/output.h"
#include "client/cli/output/scenes.h"
#include "client/cli/output/stream_report.h"
#include "client/cli/output/trajectory.h"
#include "client/cli/source/pairs.h"
#include "client/localization.h"

namespace glint::cli {

// Thread-compatible; errors are about an output, and final.
class LocalizeReport {
 public:
  // With flags.truth, `truth` is what it has. References must outlive the report.
  static absl::StatusOr<std::unique_ptr<LocalizeReport>> Open(const LocalizeFlags& flags, const Trajectory& truth,
                                                              double rate, LiveView* live);

  // `time`: of the pair.
  absl::Status Add(const PicturePair& pair, absl::Duration time, const client::LocalizeAnswer& answer);
  // Of a message with readings.
  absl::Status AddImuPoses(const std::vector<client::ImuPose>& poses);
  // Points that the live view and the recording have from now on; null: as before.
  void TakeMap(std::shared_ptr<const view::MapPoints> points) {
    if (points == nullptr) return;
    if (report_->mcap() != nullptr) report_->mcap()->SetMap(points);
    map_ = std::move(points);
  }
  void Fail(const std::string& what, const absl::Status& status) { report_->AddFailed(what, status); }

  // The exit status. `unread`: pictures that could not be read.
  int Close(absl::Status status, int64_t unread);

 private:
  LocalizeReport(const LocalizeFlags& flags, const Trajectory& truth, std::unique_ptr<StreamReport> report,
                 LiveView* live)
      : flags_(flags), truth_(truth), live_view_(live), report_(std::move(report)), lines_(flags.trajectory_format) {}

  // A path is of one world.
  void LeaveOutOtherWorlds();
  absl::Status WriteTrajectory();
  // Of the pairs that were answered: "20 located, 31 not (3 COASTING, 28 LOST)".
  std::string Located() const;
  // What --trajectory has of pairs that were not located.
  std::string WithoutPose() const;
  std::string Summary() const;
  // kOk, or kCannotWrite. Poses that cannot be compared are a failure of --truth.
  int Compare();

  const LocalizeFlags& flags_;
  const Trajectory& truth_;
  LiveView* const live_view_;
  client::PathTrace trace_;
  std::shared_ptr<const view::MapPoints> map_;  // that the view has not got
  const std::unique_ptr<StreamReport> report_;
  std::unique_ptr<OutputFile> trajectory_, imu_poses_;
  TrajectoryLines lines_;  // of it
  PathPicture drawing_;
  std::vector<TimedPose> path_;                 // of all pairs, with those that are not located
  std::map<std::string, int64_t> not_located_;  // answered pairs, by their status
  client::LocalizeAnswer last_;
  std::set<WarningKind> warned_;
  InertialSummary inertial_;
  std::optional<client::RectifiedPair> rectified_;  // of raw images: what the server has made of the cameras
  int64_t pairs_ = 0;                               // that were answered
  int64_t refused_ = 0;                             // keyframes, by a full map
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_LOCALIZE_LOCALIZE_REPORT_H_
