// What localization answers, as the client and the server have it: the fields of glint/v1/localization.proto, which has
// their meaning. The client's headers are installed, so this one needs only terms.h and values of features/.
#ifndef GLINT_PROTO_LOCATION_H_
#define GLINT_PROTO_LOCATION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "features/location_report.h"
#include "features/warning.h"
#include "proto/terms.h"

namespace glint {

// With the numbers that they have on the wire.
enum class RigRefinement { kOn = 1, kOff = 2, kFixed = 3 };
// World from left camera: x to the right, y down, z ahead; the world is the left camera of the map's first keyframe;
// with an inertial sensor see Inertial::level.
struct CameraPose {
  std::array<double, 4> rotation = {0, 0, 0, 1};  // quaternion x, y, z, w of length 1, w >= 0
  std::array<double, 3> position = {};            // metres
};

// Where the sensor says that the left camera was, after a pair.
struct ImuPose {
  int64_t time_ns = 0;  // of the images' clock
  CameraPose pose;
  std::array<double, 3> velocity = {};     // of the sensor in the world, m/s
  std::array<double, 21> covariance = {};  // as Location::covariance
};

// What is known of the inertial sensor at a pair's time.
struct Inertial {
  InertialStatus status = InertialStatus::kInitializing;
  // The world's z points up: from the pair on at which the sensor is first kReady in a map. Poses of that map before
  // are of the world of its first camera.
  bool level = false;
  // While kReady: of the sensor in the world (m/s), its biases (rad/s, m/s^2), and standard deviations of the three.
  std::array<double, 3> velocity = {}, gyroscope_bias = {}, accelerometer_bias = {};
  double velocity_sigma = 0, gyroscope_bias_sigma = 0, accelerometer_bias_sigma = 0;
  // Of a pair that was located by its images: squared difference from what the sensor predicted, normalised by what
  // both explain: about 1 or less where all is well.
  double rotation_innovation = 0, position_innovation = 0;
  double blind_seconds = 0;  // since images located a pair; 0: they did this one
  ImuReceived readings;
  // The pair was located before there was a reading of each sensor at or after its time: its pose may depend on the
  // order in which messages came.
  bool ahead_of_readings = false;
};

// Where the left camera was.
struct Location {
  LocationStatus status = LocationStatus::kInitializing;
  int map_id = 0;  // that the pose is in
  CameraPose pose;
  bool has_covariance = false;             // also of a pose that an inertial sensor continues
  std::array<double, 21> covariance = {};  // upper triangle, by rows: rotation (rad), then translation (m)
  int keypoints = 0, matches = 0, inliers = 0;
  double reprojection_error = 0;  // pixels
  bool is_keyframe = false, loop_closed = false, map_full = false;
  bool level = false;                          // the world's z points up
  std::optional<CameraPose> world_correction;  // takes earlier poses of the camera to the world as it is now
  std::array<double, 3> rig_rotation = {}, rig_uncertainty = {};  // rotation vectors, radians
  std::vector<Warning> warnings;
  CalibrationFigures calibration;
  std::optional<Inertial> inertial;  // of a stream with an inertial sensor
};

// Whether the pose of a Location is one. Otherwise it is the last one known, or goes on with the last motion.
inline bool IsLocated(LocationStatus status) {
  return status == LocationStatus::kTracking || status == LocationStatus::kRelocalized ||
         status == LocationStatus::kNewMap;
}

// How far a reader of the map has come: ids that are still to come.
struct MapPosition {
  uint64_t keyframe = 0, point = 0;
};

// A part of the map.
struct MapPart {
  int map_id = 0;  // Location::map_id of the last pair
  struct Keyframe {
    uint64_t id = 0;
    uint64_t frame_id = 0;  // of the pair that it was made of
    int64_t time_ns = 0;    // likewise
    CameraPose pose;
  };
  std::vector<Keyframe> keyframes;
  std::vector<uint64_t> point_id;
  std::vector<float> x, y, z;  // world, metres; as many as ids
  bool has_next = false;       // there is more, from `next` on
  MapPosition next;
};

}  // namespace glint

#endif  // GLINT_PROTO_LOCATION_H_
