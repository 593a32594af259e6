// What localization answers, as the client and the server have it: the fields of glint/v1/localization.proto, which has
// their meaning. The client's headers are installed, so this one needs only terms.h.
#ifndef GLINT_PROTO_LOCATION_H_
#define GLINT_PROTO_LOCATION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "proto/terms.h"

namespace glint {

// Where a stream names no detector. Spread over the picture, features fix a pose better than the strongest ones do.
inline constexpr char kLocalizePreset[] = "orbslam";
inline constexpr int kLocalizeFeatures = 2000;

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
  double stereo_share = 0;                                        // 0..1
  double median_rise = 0, rise_spread = 0, median_disparity = 0;  // pixels
  double speed = 0;                                               // metres a second
};

// Where the left eye was.
struct Location {
  LocationStatus status = LocationStatus::kInitializing;
  CameraPose pose;
  bool has_covariance = false;
  std::array<double, 21> covariance = {};  // upper triangle, by rows: rotation (rad), then translation (m)
  int keypoints = 0, matches = 0, inliers = 0;
  double reprojection_error = 0;  // pixels
  bool is_keyframe = false, loop_closed = false, map_full = false;
  std::array<double, 3> rig_rotation = {}, rig_uncertainty = {};  // rotation vectors, radians
  std::vector<std::string> warnings;
  CalibrationFigures calibration;
};

// How far a reader of the map has come: ids that are still to come.
struct MapPosition {
  uint64_t keyframe = 0, point = 0;
};

// A part of the map.
struct MapPart {
  struct Keyframe {
    uint64_t id = 0;
    double seconds = 0;
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
