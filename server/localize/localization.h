// Where a stereo camera is, as a stream asks for it. The method is slam/'s, which not every build has; nothing that
// includes this needs its headers.
#ifndef GLINT_SERVER_LOCALIZE_LOCALIZATION_H_
#define GLINT_SERVER_LOCALIZE_LOCALIZATION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "features/options.h"
#include "features/types.h"
#include "proto/terms.h"

namespace glint {

using Vector3 = std::array<double, 3>;

// As slam::StereoCamera, which has units and ranges.
struct StereoRig {
  Shape image;
  double focal_length = 0, centre_x = 0, centre_y = 0, baseline = 0;
  Vector3 rotation{};  // of the right camera: rotation vector, radians
};

enum class RigRefinement { kOn, kOff, kFixed };

struct LocalizationOptions {
  DetectorOptions detector;  // valid, with descriptors
  StereoRig camera;
  RigRefinement refine_rig = RigRefinement::kOn;
  bool realtime = false;
  int threads = 1;                            // that share a pair, >= 1
  int64_t max_keyframes = 0, max_points = 0;  // of the map
  int64_t max_map_bytes = 0;                  // that it takes
};

// World from camera, as glint.v1.Pose.
struct PoseValues {
  std::array<double, 4> rotation{0, 0, 0, 1};  // quaternion x, y, z, w of length 1, w >= 0
  Vector3 position{};                          // metres
};

inline constexpr size_t kCovarianceValues = 21;

// Fields are those of glint.v1.Location.
struct Location {
  struct Calibration {
    int stereo_keypoints = 0;
    double stereo_share = 0, median_rise = 0, rise_spread = 0, median_disparity = 0, speed = 0;
  };
  LocationStatus status = LocationStatus::kInitializing;
  PoseValues pose;
  bool has_covariance = false;
  std::array<double, kCovarianceValues> covariance{};  // upper triangle, rows: rotation, then translation
  int keypoints = 0, matches = 0, inliers = 0;
  double reprojection_error = 0;  // pixels
  bool is_keyframe = false, loop_closed = false;
  Vector3 rig_rotation{}, rig_uncertainty{};  // radians
  std::vector<std::string> warnings;
  Calibration calibration;
  bool map_full = false;
  int64_t find_ns = 0, locate_ns = 0, adjust_ns = 0;
};

struct MapSize {
  int64_t keyframes = 0, points = 0, bytes = 0;
};

// Of a map that is read in parts: ids that are still to come.
struct MapPosition {
  uint64_t keyframe = 0, point = 0;
};

// Fields are those of glint.v1.MapPart.
struct MapPart {
  struct Keyframe {
    uint64_t id = 0;
    double seconds = 0;
    PoseValues pose;
  };
  std::vector<Keyframe> keyframes;
  std::vector<uint64_t> point_id;
  std::vector<float> x, y, z;
  bool has_next = false;
  MapPosition next;
};
// Of one part.
inline constexpr size_t kMaxPartKeyframes = 1024;
inline constexpr size_t kMaxPartPoints = 16384;

// What a LocalizeStream keeps from pair to pair. Thread-compatible.
class Localization {
 public:
  // OK, or UNIMPLEMENTED: this build has no SLAM.
  static absl::Status Available();
  // INVALID_ARGUMENT names the field of the camera; errors of Available().
  static absl::StatusOr<std::unique_ptr<Localization>> Create(const LocalizationOptions& options);

  virtual ~Localization() = default;

  // The next pair. INVALID_ARGUMENT: a time that is not above the last pair's, eyes of another shape than the camera's.
  // RESOURCE_EXHAUSTED: the map takes more than max_map_bytes, which max_keyframes and max_points do not let it.
  virtual absl::Status Track(const ImageView& left, const ImageView& right, int64_t time_ns, Location* location) = 0;
  // Finds a pair in the map; changes nothing. FAILED_PRECONDITION: there is no map.
  virtual absl::Status Relocalize(const ImageView& left, const ImageView& right, Location* location) = 0;

  // FAILED_PRECONDITION: there is no map yet. INTERNAL: it cannot be written.
  virtual absl::Status Save(const std::string& path) = 0;
  // NOT_FOUND; INVALID_ARGUMENT: no map, damaged, or of another camera or detector. Then nothing has changed.
  virtual absl::Status Load(const std::string& path) = 0;
  // The part of the map from there on.
  virtual void Read(const MapPosition& from, MapPart* part) const = 0;

  virtual MapSize size() const = 0;
};

}  // namespace glint

#endif  // GLINT_SERVER_LOCALIZE_LOCALIZATION_H_
