// What localization answers, as the client and the server have it: the fields of glint/v1/localization.proto, which has
// their meaning. The client's headers are installed, so this one needs only terms.h and features/warning.h.
#ifndef GLINT_PROTO_LOCATION_H_
#define GLINT_PROTO_LOCATION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "features/warning.h"
#include "proto/terms.h"

namespace glint {

// With the numbers that they have on the wire.
enum class RigRefinement { kOn = 1, kOff = 2, kFixed = 3 };

// World from left camera: x to the right, y down, z ahead; the world is the left camera of the map's first keyframe.
struct CameraPose {
  std::array<double, 4> rotation = {0, 0, 0, 1};  // quaternion x, y, z, w of length 1, w >= 0
  std::array<double, 3> position = {};            // metres
};

// What one pair says of the calibration.
struct CalibrationFigures {
  int stereo_keypoints = 0;
  double stereo_share = 0;                                                                    // 0..1
  double median_vertical_disparity = 0, vertical_disparity_spread = 0, median_disparity = 0;  // pixels
  double speed = 0;                                                                           // metres a second
};

// Where the left camera was.
struct Location {
  LocationStatus status = LocationStatus::kInitializing;
  int map_id = 0;  // that the pose is in
  CameraPose pose;
  bool has_covariance = false;
  std::array<double, 21> covariance = {};  // upper triangle, by rows: rotation (rad), then translation (m)
  int keypoints = 0, matches = 0, inliers = 0;
  double reprojection_error = 0;  // pixels
  bool is_keyframe = false, loop_closed = false, map_full = false;
  std::array<double, 3> rig_rotation = {}, rig_uncertainty = {};  // rotation vectors, radians
  std::vector<Warning> warnings;
  CalibrationFigures calibration;
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
