// Where a stereo camera is, as a stream asks for it. The method is slam/'s; nothing that includes this needs its
// headers.
#ifndef GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZATION_H_
#define GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZATION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "features/depth.h"
#include "features/options.h"
#include "features/types.h"
#include "proto/location.h"

namespace glint {

class Lane;

// As slam::StereoCamera, which has units and ranges.
struct StereoRig {
  Shape image;
  double focal_length = 0, centre_x = 0, centre_y = 0, baseline = 0;
  std::array<double, 3> rotation{};  // of the right camera: rotation vector, radians
};

struct LocalizationOptions {
  DetectorOptions detector;  // valid, with descriptors
  StereoRig camera;
  std::optional<DepthSensor> depth;  // of a camera with one eye; then refine_rig is kOff
  RigRefinement refine_rig = RigRefinement::kOn;
  bool realtime = false;
  int64_t max_keyframes = 0, max_points = 0;  // of the map
  int64_t max_map_bytes = 0;                  // that it takes
};

// Where the time of a pair went, nanoseconds.
struct LocationTimes {
  StageTimes stages;      // of both images, as of Lane::RunStereo()
  int64_t match_ns = 0;   // of the images, and below a pixel
  int64_t locate_ns = 0;  // the pose
  int64_t adjust_ns = 0;  // keyframe, adjustment and loops, after it
};

struct MapSize {
  int64_t keyframes = 0, points = 0, bytes = 0;
};

// Of one part.
inline constexpr size_t kMaxPartKeyframes = 1024;
inline constexpr size_t kMaxPartPoints = 16384;

// What a LocalizeStream keeps from pair to pair. Thread-compatible. Features are found, matched and followed by the
// lane that works on a pair, any of the same LaneSet; what it keeps from pair to pair is on the device of the first
// one. With kReproducible, results do not depend on the lanes.
class Localization {
 public:
  // INVALID_ARGUMENT names the field of the camera.
  static absl::StatusOr<std::unique_ptr<Localization>> Create(const LocalizationOptions& options);

  virtual ~Localization() = default;

  // The next pair, or image with depths, as the options say; a keyframe that is made of it keeps its id and time.
  // INVALID_ARGUMENT: a time that is not above the last pair's, images of another shape than the camera's.
  // RESOURCE_EXHAUSTED: the map takes more than max_map_bytes, which max_keyframes and max_points do not let it. These
  // pairs change nothing. Errors of the lane: a pair whose features were found counts as one in which less was found.
  virtual absl::Status Track(Lane* lane, const CameraView& view, uint64_t frame_id, int64_t time_ns, Location* location,
                             LocationTimes* times) = 0;
  // Finds a pair in the map; changes nothing. FAILED_PRECONDITION: there is no map. Errors of the lane.
  virtual absl::Status Relocalize(Lane* lane, const CameraView& view, Location* location, LocationTimes* times) = 0;

  // FAILED_PRECONDITION: there is no map yet. INTERNAL: it cannot be written.
  virtual absl::Status Save(const std::string& path) = 0;
  // NOT_FOUND; INVALID_ARGUMENT: no map, damaged, or of another camera or detector. Then nothing has changed.
  virtual absl::Status Load(const std::string& path) = 0;
  // The part of the map from there on.
  virtual void Read(const MapPosition& from, MapPart* part) const = 0;

  virtual MapSize size() const = 0;
};

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZATION_H_
