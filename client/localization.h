// Visual localization of stereo and RGB-D cameras: streams of the client, opened by Client. Messages, units and errors
// are those of proto/glint/v1/localization.proto.
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
#include "features/camera/rgbd_camera.h"
#include "features/depth.h"
#include "features/operation_defaults.h"
#include "features/options.h"
#include "proto/location.h"

namespace glint::client {

using glint::CameraPose;
using glint::IsLocated;
using glint::Location;
using glint::LocationStatus;
using glint::MapPart;
using glint::MapPosition;
using glint::RgbdCamera;  // of raw images and depths; ranges are those of glint.v1.RgbdCamera
using glint::RigRefinement;

// A rectified stereo camera; ranges are those of glint.v1.StereoCamera.
struct StereoCamera {
  int width = 0, height = 0;          // pixels of each image
  double focal_length = 0;            // pixels
  double centre_x = 0, centre_y = 0;  // principal point, pixels
  double baseline = 0;                // metres
  // Projection matrices, 3x4, row-major: both or none, instead of the four numbers above.
  std::vector<double> left_projection = {}, right_projection = {};
  // Residual rotation of the right camera: initial value, or the value if refinement is kFixed. Rotation vector, rad.
  std::array<double, 3> rig_rotation = {};
};

// With it the camera's baseline is nominal; right_projection and rig_rotation are not used.
using DepthCamera = glint::DepthSensor;

enum class LocalizeMode { kReproducible = 1, kRealtime = 2 };

struct LocalizeStreamOptions : PairStreamOptions {
  DetectorOptions detector = DefaultDetector(kLocalizeDefaults);
  StereoCamera camera;
  std::optional<StereoRig> rig;          // of raw images, in place of `camera`
  std::optional<RgbdCamera> raw_camera;  // of raw images, in place of `camera`, with `depth`
  std::optional<DepthCamera> depth;
  std::optional<RigRefinement> refine_rig;  // default: kOn; with depth kOff, the only value allowed
  LocalizeMode mode = LocalizeMode::kReproducible;
  // For pairs without a mask of their own: GRAY8 of the images' size, raw ones with a rig or raw_camera; keypoints are
  // found where it is not 0. Of the left image, and of the right one, which there is none of with depth. Read by
  // OpenLocalizeStream() only.
  ImageInput mask, right_mask;
  Region region;  // of both images, with masks where both allow it
};

// Answer to one pair or request. If `status` is not OK, the rest is empty; the stream goes on.
struct LocalizeAnswer {
  uint64_t frame_id = 0;
  absl::Status status;
  DropReason drop_reason = DropReason::kNone;
  absl::Duration retry_after;

  Location location;                       // pose and quality, for a pair
  std::optional<RectifiedPair> rectified;  // with a rig or raw_camera, for a pair: whose left camera the pose is of
  MapPart map;                             // for GetMap()
  int map_keyframes = 0, map_points = 0;   // size of the map after the message
  Timings timings;
  absl::Duration round_trip;
};
using LocalizeCallback = std::function<void(const LocalizeAnswer& answer)>;

// Stream of poses. Thread-safe apart from destruction; the callback has the rules of ResultCallback.
class LocalizeStream {
 public:
  ~LocalizeStream();
  // Without `right`, `left` has both images side by side. `time_ns`: capture time of any clock, none twice.
  // Times out of line with those before are warned of. Masks are in place of the stream's, here and below.
  absl::Status Write(uint64_t frame_id, const ImageInput& left, const ImageInput& right, int64_t time_ns,
                     const ImageInput& mask = {}, const ImageInput& right_mask = {});
  // Relocalizes the pair in the whole map, without a prior pose. Neither map nor stream changes.
  absl::Status Relocalize(uint64_t frame_id, const ImageInput& left, const ImageInput& right,
                          const ImageInput& mask = {}, const ImageInput& right_mask = {});
  // RGB-D frames, for streams whose options have `depth`. The depth image has 16 bits: PixelFormat::kGray16, or a grey
  // PNG; samples of 0 are invalid.
  absl::Status WriteDepth(uint64_t frame_id, const ImageInput& image, const ImageInput& depth, int64_t time_ns,
                          const ImageInput& mask = {});
  absl::Status RelocalizeDepth(uint64_t frame_id, const ImageInput& image, const ImageInput& depth,
                               const ImageInput& mask = {});
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
