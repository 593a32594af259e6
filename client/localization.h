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
#include "features/camera/rig.h"
#include "features/depth.h"
#include "features/operation_defaults.h"
#include "features/options.h"
#include "proto/location.h"

namespace glint::client {

using glint::CameraPose;
using glint::ImuPose;
using glint::ImuReceived;
using glint::Inertial;
using glint::InertialStatus;
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

// A gyroscope and an accelerometer that are fixed to the camera; ranges, and what 0 means, are those of
// glint.v1.InertialSensor.
struct InertialSensor {
  // Takes coordinates in the sensor's axes to those of the left camera: of `camera`, or of the raw left camera of a
  // rig, or of raw_camera.
  RigidTransform camera_from_imu;
  double gyroscope_noise_density = 0;         // rad/s/sqrt(Hz)
  double gyroscope_random_walk = 0;           // rad/s^2/sqrt(Hz)
  double accelerometer_noise_density = 0;     // m/s^2/sqrt(Hz)
  double accelerometer_random_walk = 0;       // m/s^3/sqrt(Hz)
  double noise_inflation = 0;                 // what the noise densities are multiplied by
  double gravity = 0;                         // m/s^2
  int64_t imu_time_minus_camera_time_ns = 0;  // time of the sensor's clock = time of the images + this
  double gyroscope_range = 0;                 // readings as large as this are saturated: rad/s
  double accelerometer_range = 0;             // m/s^2
  std::optional<int64_t> max_wait_for_readings_ns = std::nullopt;  // of a pair; 0: none
};

// Readings of both, in any order, x, y and z of each time; up to 4096 of each.
struct ImuReadings {
  std::vector<int64_t> gyroscope_time_ns;               // of the sensor's clock
  std::vector<std::array<double, 3>> angular_velocity;  // rad/s, as many
  std::vector<int64_t> accelerometer_time_ns;           // empty, with accelerations: those of the gyroscope
  std::vector<std::array<double, 3>> acceleration;      // m/s^2, as many: at rest 9.81 upwards

  // Of both at one time; not beside accelerometer_time_ns.
  void Add(int64_t time_ns, const std::array<double, 3>& gyroscope, const std::array<double, 3>& accelerometer) {
    gyroscope_time_ns.push_back(time_ns);
    angular_velocity.push_back(gyroscope);
    acceleration.push_back(accelerometer);
  }
  bool empty() const {
    return gyroscope_time_ns.empty() && angular_velocity.empty() && accelerometer_time_ns.empty() &&
           acceleration.empty();
  }
};

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
  // Present: readings come with pairs, or by WriteImu(). docs/inertial.md has the method.
  std::optional<InertialSensor> imu;
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
  ImuReceived imu;                         // for WriteImu()
  std::vector<ImuPose> imu_poses;          // likewise, if it asked for them
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
  // Times out of line with those before are warned of. Masks are in place of the stream's, here and below. `imu`, of a
  // stream that has one, is taken before the pair is located: readings up to the pair's time, and one beyond, unless
  // later messages bring them (InertialSensor::max_wait_for_readings_ns).
  absl::Status Write(uint64_t frame_id, const ImageInput& left, const ImageInput& right, int64_t time_ns,
                     const ImageInput& mask = {}, const ImageInput& right_mask = {}, const ImuReadings& imu = {});
  // Readings alone: more often than pairs, or more of them than one message takes. `poses`: the answer is to have
  // LocalizeAnswer::imu_poses at those of the gyroscope.
  absl::Status WriteImu(uint64_t frame_id, const ImuReadings& readings, bool poses = false);
  // Relocalizes the pair in the whole map, without a prior pose. Neither map nor stream changes.
  absl::Status Relocalize(uint64_t frame_id, const ImageInput& left, const ImageInput& right,
                          const ImageInput& mask = {}, const ImageInput& right_mask = {});
  // RGB-D frames, for streams whose options have `depth`. The depth image has 16 bits: PixelFormat::kGray16, or a grey
  // PNG; samples of 0 are invalid.
  absl::Status WriteDepth(uint64_t frame_id, const ImageInput& image, const ImageInput& depth, int64_t time_ns,
                          const ImageInput& mask = {}, const ImuReadings& imu = {});
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
