// The options of glint localize that are its own.
#ifndef GLINT_CLIENT_CLI_LOCALIZE_LOCALIZE_FLAGS_H_
#define GLINT_CLIENT_CLI_LOCALIZE_LOCALIZE_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/base/flags.h"
#include "client/cli/localize/imu_flags.h"
#include "client/cli/output/live_view.h"
#include "client/cli/output/stream_report.h"
#include "client/cli/output/trajectory.h"
#include "client/cli/source/calibration.h"
#include "client/cli/source/pairs.h"
#include "client/localization.h"

namespace glint::cli {

inline constexpr char kLocalizeCsvHeader[] =
    "image,seconds,status,x,y,z,qx,qy,qz,qw,keypoints,matches,inliers,reprojection_error,keyframe,loop_closed,"
    "keyframes,points,ms,map";

struct LocalizeFlags : AnswerFlags {
  CalibrationFlags calibration;
  ImuFlags imu;
  std::string map;
  bool relocalize = false;
  bool depth = false;                 // the second picture has depths
  double default_depth_unit = 0.001;  // metres
  view::ViewAddresses view;
  std::string trajectory, truth;
  TrajectoryFormat trajectory_format = TrajectoryFormat::kTum;
  std::optional<int> in_flight, max_frames;

  void AddTo(Flags* flags);
  // `needs_calibration`: nothing else says what the cameras are.
  absl::Status Validate(bool needs_calibration = true) const;
  // Reads --times, if it is given. Errors of cli::ReadTimes().
  absl::Status ReadTimes();
  // What the server is asked for, but for the detector, and what people should know of it. `image`: size of each image.
  // `camera_from_imu`: to the left camera, as client::InertialSensor has it; nothing: not known. Errors of
  // CalibrationFlags::Read() and ImuFlags::Sensor(), and about --calibration-refine.
  absl::StatusOr<client::LocalizeStreamOptions> Options(const Shape& image, std::vector<std::string>* notes,
                                                        std::optional<RigidTransform>* camera_from_imu) const;
  // By --times, or by --rate and the pair's number, else the left picture's own, else by kDefaultPairRate.
  absl::Duration TimeOf(const PicturePair& pair) const {
    return KnownTimeOf(pair).value_or(absl::Seconds(static_cast<double>(pair.number) / kDefaultPairRate));
  }
  // Nothing: only kDefaultPairRate is left.
  std::optional<absl::Duration> KnownTimeOf(const PicturePair& pair) const;
  // OUT_OF_RANGE: --times ends before.
  absl::Status CheckTimes(const PicturePair& pair) const;

 private:
  static constexpr float kDefaultPairRate = 10;  // KITTI's

  static constexpr double kDefaultBaseline = 0.08;  // metres

  std::optional<float> rate_;
  std::string times_path_;
  std::vector<int64_t> times_;  // of pairs by their numbers, nanoseconds; empty: no --times
  std::string depth_camera_;    // of the calibration; empty: depths are registered
  std::optional<double> unit_, nearest_, farthest_, baseline_;
  std::string refine_;
  client::LocalizeMode mode_ = client::LocalizeMode::kReproducible;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_LOCALIZE_LOCALIZE_FLAGS_H_
