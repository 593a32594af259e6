// Where a camera with two eyes, or with depth, is, by a Glint server. Opened by Client; messages, units and errors are
// those of proto/glint/v1/localization.proto.
//
//   LocalizeStreamOptions options;
//   options.camera = {1226, 370, 707.09, 601.89, 183.11, 0.537};
//   auto stream = client.OpenLocalizeStream(options, [](const LocalizeAnswer& answer) { Use(answer.location.pose); });
//   status = (*stream)->Write(1, left, right, time_ns);            // blocks while `in_flight` are unanswered
//   status = (*stream)->SaveMap(2, "office");
//   status = (*stream)->Finish();
#ifndef GLINT_CLIENT_LOCALIZATION_H_
#define GLINT_CLIENT_LOCALIZATION_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/image.h"
#include "client/matching.h"
#include "client/result.h"
#include "features/options.h"
#include "proto/location.h"

namespace glint::client {

using glint::CameraPose;
using glint::Location;
using glint::LocationStatus;
using glint::MapPart;
using glint::MapPosition;
using glint::RigRefinement;

// A rectified stereo camera; ranges are those of glint.v1.StereoCamera.
struct StereoCamera {
  int width = 0, height = 0;  // pixels of each eye
  double focal_length = 0;    // pixels
  double centre_x = 0, centre_y = 0;
  double baseline = 0;  // metres
  // Both or none, instead of the four numbers above: 3x4 matrices, row by row.
  std::vector<double> left_projection = {}, right_projection = {};
  // The right camera's residual rotation: where the estimate begins, or what it is. Rotation vector, radians.
  std::array<double, 3> rig_rotation = {};
};

// A sensor of depth in place of the right eye; ranges are those of glint.v1.DepthCamera. The camera's baseline is then
// nominal, and right_projection and rig_rotation are not used.
struct DepthCamera {
  double unit = 0.001;  // metres in a sample of 1
  double nearest = 0;   // metres: nearer samples are no depth
  double farthest = 0;  // metres: nor are farther ones; 0: no limit
};

enum class LocalizeMode { kReproducible = 1, kRealtime = 2 };

// 2000 features of preset "orbslam".
DetectorOptions DefaultLocalizeDetector();

struct LocalizeStreamOptions : PairStreamOptions {
  DetectorOptions detector = DefaultLocalizeDetector();
  StereoCamera camera;
  std::optional<DepthCamera> depth;
  std::optional<RigRefinement> refine_rig;  // default: kOn, with depth kOff, which alone is allowed
  LocalizeMode mode = LocalizeMode::kReproducible;
};

// The answer to one pair or request. Without OK it failed, and the rest is empty; the stream lives on.
struct LocalizeAnswer {
  uint64_t frame_id = 0;
  absl::Status status;
  DropReason drop_reason = DropReason::kNone;
  absl::Duration retry_after;

  Location location;                  // of a pair
  MapPart map;                        // of GetMap()
  int64_t keyframes = 0, points = 0;  // of the map, afterwards
  int64_t match_ns = 0, locate_ns = 0, adjust_ns = 0;
  Timings timings;
  absl::Duration round_trip;
};
using LocalizeCallback = std::function<void(const LocalizeAnswer& answer)>;

// As DetectStream: thread-safe apart from destruction; the callback as ResultCallback.
class LocalizeStream {
 public:
  ~LocalizeStream();
  // Without `right`, `left` has both eyes side by side. `time_ns`: of capture, by any clock, above the last one.
  absl::Status Write(uint64_t frame_id, const ImageInput& left, const ImageInput& right, int64_t time_ns);
  // Finds the pair in the map, without a prior; nothing changes.
  absl::Status Relocalize(uint64_t frame_id, const ImageInput& left, const ImageInput& right);
  // The same with depth, of streams whose options have it: PixelFormat::kGray16, all of whose bits count, or a grey PNG
  // of 16 bits; 0: none was measured.
  absl::Status WriteDepth(uint64_t frame_id, const ImageInput& image, const ImageInput& depth, int64_t time_ns);
  absl::Status RelocalizeDepth(uint64_t frame_id, const ImageInput& image, const ImageInput& depth);
  absl::Status GetMap(uint64_t frame_id, const MapPosition& from = {});
  absl::Status SaveMap(uint64_t frame_id, const std::string& name);
  absl::Status LoadMap(uint64_t frame_id, const std::string& name);
  absl::Status Finish();
  void Cancel();

 private:
  friend class Client;
  struct Impl;
  explicit LocalizeStream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace glint::client

#endif  // GLINT_CLIENT_LOCALIZATION_H_
