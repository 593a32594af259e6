// The cameras of pairs, as streams of the client have them, from the calibration files of any program that
// glint::calibration knows. Pure functions.
#ifndef GLINT_CLIENT_CALIBRATION_CAMERAS_H_
#define GLINT_CLIENT_CALIBRATION_CAMERAS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "calibration/calibration.h"
#include "client/localization.h"
#include "features/camera/rig.h"
#include "features/types.h"

namespace glint::client {

// The cameras of pairs, and what people should know of how they were read.
struct PairCameras {
  StereoCamera camera;                     // of rectified images; its size is that of the images
  std::optional<StereoRig> rig;            // of raw images, in place of `camera`
  std::optional<RgbdCamera> raw_camera;    // of raw images with depths, likewise
  std::optional<double> depth_unit;        // metres, as files of cameras with depth say it
  std::optional<double> nominal_baseline;  // likewise
  std::optional<InertialSensor> imu;       // if the files have one; of the left camera that is chosen above
  std::vector<std::string> notes;          // what was assumed, and warnings

  // Of `camera`: pixels, and metres.
  double focal_length() const {
    return camera.left_projection.empty() ? camera.focal_length : camera.left_projection[0];
  }
  double baseline() const {
    if (camera.left_projection.empty()) return camera.baseline;
    return (camera.left_projection[3] - camera.right_projection[3]) / camera.left_projection[0];
  }
};

// What a calibration is used for.
struct CalibrationUse {
  std::string files;  // that it was read from, for errors
  Shape image;        // of the images; 0 x 0: unknown
  // Whether the images are rectified, though the files have a lens or a rotation; nothing: as the files say, and if
  // they say both, the images are raw.
  std::optional<bool> rectified;
  std::string rectified_setting;  // what people set `rectified` by, for errors and notes: "--rectified"
};

// Where an inertial sensor is that the files do not have, or not there: takes its coordinates to those of the first
// camera.
void SetCameraFromImu(const RigidTransform& camera_from_imu, calibration::Calibration* calibration);

// Of the first two cameras. INVALID_ARGUMENT: there are not two, no projections of rectified images, or what cannot be
// right in the files.
absl::StatusOr<PairCameras> PairCamerasOf(calibration::Calibration calibration, const CalibrationUse& use);

// Of the first camera, with depths: with a lens or two focal lengths its images are raw. `has_depth_camera`: the second
// one is that of the depths; else these are registered. Errors are those of PairCamerasOf().
absl::StatusOr<PairCameras> DepthCamerasOf(calibration::Calibration calibration, const CalibrationUse& use,
                                           bool has_depth_camera = false);

}  // namespace glint::client

#endif  // GLINT_CLIENT_CALIBRATION_CAMERAS_H_
