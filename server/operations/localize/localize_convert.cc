#include "server/operations/localize/localize_convert.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/server_error.h"
#include "features/status_macros.h"
#include "server/wire/camera.h"

namespace glint {
namespace {

constexpr int kProjectionValues = 12;
// Of the largest number of a projection, that the same numbers of both cameras may differ by: files have few digits.
constexpr double kSame = 1e-6;

absl::StatusOr<DetectorOptions> DetectorOf(const v1::DetectorOptions& proto, int max_features) {
  auto detector = FromProto(proto, max_features, kLocalizeDefaults);
  if (detector.ok() && detector->descriptor == Descriptor::kNone) {
    return ContradictionError("detector.descriptor_kind", "none: pairs are located by descriptors");
  }
  return detector;
}

using Projection = google::protobuf::RepeatedField<double>;

absl::Status CheckProjection(const char* field, const Projection& p) {
  if (p.size() != kProjectionValues) {
    return ContradictionError(field, absl::StrCat(p.size(), " elements are not the 12 of a 3x4 matrix"));
  }
  // Rows of K [I | t], whose last element is (0, 0, 1, 0).
  const double tolerance = kSame * std::abs(p[0]);
  const bool good = std::all_of(p.begin(), p.end(), [](double v) { return std::isfinite(v); }) &&
                    std::abs(p[0] - p[5]) <= tolerance && p[1] == 0 && p[4] == 0 && p[8] == 0 && p[9] == 0 &&
                    std::abs(p[10] - 1) <= kSame;
  if (good) return absl::OkStatus();
  return ContradictionError(field, "is not the projection of a rectified camera: f 0 cx tx, 0 f cy ty, 0 0 1 tz");
}

// A camera with depth has no right camera: its baseline is the field.
absl::Status SetFromProjections(const v1::StereoCamera& proto, bool has_depth, slam::StereoCamera* camera) {
  const Projection &left = proto.left_projection(), &right = proto.right_projection();
  if (proto.focal_length() != 0 || proto.centre_x() != 0 || proto.centre_y() != 0) {
    return ContradictionError("camera.left_projection", "has focal length and centre: give either");
  }
  GLINT_RETURN_IF_ERROR(CheckProjection("camera.left_projection", left));
  camera->focal_length = left[0];
  camera->centre_x = left[2];
  camera->centre_y = left[6];
  if (has_depth) {
    camera->baseline = proto.baseline();
    return absl::OkStatus();
  }
  if (proto.baseline() != 0) {
    return ContradictionError("camera.left_projection", "has focal length, centre and baseline: give either");
  }
  GLINT_RETURN_IF_ERROR(CheckProjection("camera.right_projection", right));
  for (const int i : {0, 2, 6}) {
    if (std::abs(left[i] - right[i]) > kSame * std::abs(left[0])) {
      return ContradictionError("camera.right_projection", absl::StrCat("element ", i, " is ", right[i],
                                                                        ", but that of the left camera ", left[i]));
    }
  }
  camera->baseline = (left[3] - right[3]) / left[0];
  return absl::OkStatus();
}

absl::StatusOr<slam::StereoCamera> CameraFromProto(const v1::StereoCamera& proto, bool has_depth) {
  slam::StereoCamera camera;
  camera.image = {SideOf(proto.width()), SideOf(proto.height())};
  camera.rig_rotation = {proto.rig_rotation().x(), proto.rig_rotation().y(), proto.rig_rotation().z()};
  if (has_depth && !proto.right_projection().empty()) {
    return ContradictionError("camera.right_projection", "is given, but a camera with depth has no right camera");
  }
  if (!proto.left_projection().empty() || !proto.right_projection().empty()) {
    GLINT_RETURN_IF_ERROR(SetFromProjections(proto, has_depth, &camera));
    return camera;
  }
  camera.focal_length = proto.focal_length();
  camera.centre_x = proto.centre_x();
  camera.centre_y = proto.centre_y();
  camera.baseline = proto.baseline();
  return camera;
}

// The camera that raw images become.
void SetFromRectified(std::shared_ptr<const Rectification> rectification, LocalizationOptions* options) {
  const RectifiedPair& rectified = rectification->rectified();
  const Camera& camera = rectified.camera;
  options->camera.image = camera.image;
  options->camera.focal_length = camera.fx;
  options->camera.centre_x = camera.cx;
  options->camera.centre_y = camera.cy;
  options->camera.baseline = rectified.baseline;
  options->rectification = std::move(rectification);
}

absl::Status SetFromRawCamera(const v1::LocalizeStreamOptions& proto, int64_t max_pixels,
                              Rectifications* rectifications, LocalizationOptions* options) {
  if (proto.has_camera()) return ContradictionError("camera", "is rectified, and `raw_camera` is raw: give either");
  if (proto.has_rig()) return ContradictionError("rig", "has a right camera, and `raw_camera` has none: give either");
  if (!proto.has_depth()) return ContradictionError("depth", "is missing: a raw_camera has depth");
  GLINT_ASSIGN_OR_RETURN(auto rectification, rectifications->Get(proto.raw_camera(), max_pixels));
  SetFromRectified(std::move(rectification), options);
  return absl::OkStatus();
}

absl::Status SetFromRig(const v1::LocalizeStreamOptions& proto, int64_t max_pixels, Rectifications* rectifications,
                        LocalizationOptions* options) {
  if (proto.has_camera()) return ContradictionError("camera", "is rectified, and `rig` is raw: give either");
  if (proto.has_depth()) return ContradictionError("depth", "is given, but a rig has a right camera in its place");
  if (proto.refine_rig() == v1::RIG_REFINEMENT_FIXED) {
    return NotOneOfError("refine_rig", "FIXED", "ON, OFF: a rig has no rig_rotation");
  }
  GLINT_ASSIGN_OR_RETURN(auto rectification, rectifications->Get(proto.rig(), max_pixels));
  SetFromRectified(std::move(rectification), options);
  return absl::OkStatus();
}

// OFF leaves the rotation out of the camera, and is the only value with depth.
absl::Status SetRefinement(v1::RigRefinement refinement, bool has_depth, LocalizationOptions* options) {
  if (has_depth && refinement == v1::RIG_REFINEMENT_UNSPECIFIED) refinement = v1::RIG_REFINEMENT_OFF;
  if (has_depth && refinement != v1::RIG_REFINEMENT_OFF) {
    return NotOneOfError("refine_rig", v1::RigRefinement_Name(refinement),
                         "OFF: a camera with depth has no right camera");
  }
  if (!v1::RigRefinement_IsValid(refinement)) {
    return NotOneOfError("refine_rig", absl::StrCat(static_cast<int>(refinement)), "ON, OFF, FIXED");
  }
  options->localizer.odometry.refine_rig =
      refinement != v1::RIG_REFINEMENT_OFF && refinement != v1::RIG_REFINEMENT_FIXED;
  if (refinement == v1::RIG_REFINEMENT_OFF) options->camera.rig_rotation.setZero();
  return absl::OkStatus();
}

// Of the camera that raw images become, if there is a rectification.
absl::StatusOr<slam::ImuModel> ImuFromProto(const v1::InertialSensor& proto, const Rectification* rectification) {
  if (!proto.has_camera_from_imu()) {
    return ContradictionError("imu.camera_from_imu", "missing: readings say nothing without calibration");
  }
  GLINT_ASSIGN_OR_RETURN(RigidTransform camera_from_imu, FromProto("imu.camera_from_imu", proto.camera_from_imu()));
  if (rectification != nullptr) {
    const RigidTransform rectified_from_left = {rectification->rectified().rectified_from_left, {0, 0, 0}};
    camera_from_imu = rectified_from_left * camera_from_imu;
  }
  slam::ImuModel model;
  model.camera_from_imu = {Eigen::Quaterniond(camera_from_imu.rotation).normalized(), camera_from_imu.translation};
  const auto set = [](double value, double* to) {
    if (value != 0) *to = value;
  };
  set(proto.gyroscope_noise_density(), &model.gyroscope_noise_density);
  set(proto.gyroscope_random_walk(), &model.gyroscope_random_walk);
  set(proto.accelerometer_noise_density(), &model.accelerometer_noise_density);
  set(proto.accelerometer_random_walk(), &model.accelerometer_random_walk);
  set(proto.noise_inflation(), &model.noise_inflation);
  set(proto.gravity(), &model.gravity);
  model.imu_time_minus_camera_time_ns = proto.imu_time_minus_camera_time_ns();
  model.gyroscope_range = proto.gyroscope_range();
  model.accelerometer_range = proto.accelerometer_range();
  GLINT_RETURN_IF_ERROR(slam::ValidateImuModel(model));
  return model;
}

absl::Status SetWait(const v1::InertialSensor& proto, LocalizationOptions* options) {
  constexpr int64_t kLongestNs = 1'000'000'000;
  if (!proto.has_max_wait_for_readings_ns()) return absl::OkStatus();
  const int64_t most_ns = options->max_wait_for_readings_ns = proto.max_wait_for_readings_ns();
  if (most_ns >= 0 && most_ns <= kLongestNs) return absl::OkStatus();
  return OutOfRangeError("imu.max_wait_for_readings_ns", most_ns, int64_t{0}, kLongestNs);
}

absl::StatusOr<slam::LocalizerMode> ModeFromProto(v1::LocalizeMode mode) {
  switch (mode) {
    case v1::LOCALIZE_MODE_UNSPECIFIED:
    case v1::LOCALIZE_MODE_REPRODUCIBLE:
      return slam::LocalizerMode::kReproducible;
    case v1::LOCALIZE_MODE_REALTIME:
      return slam::LocalizerMode::kRealtime;
    default:
      return NotOneOfError("mode", absl::StrCat(static_cast<int>(mode)), "REPRODUCIBLE, REALTIME");
  }
}

}  // namespace

absl::StatusOr<LocalizationOptions> FromProto(const v1::LocalizeStreamOptions& proto, const ServerOptions& server,
                                              Rectifications* rectifications) {
  LocalizationOptions options;
  GLINT_ASSIGN_OR_RETURN(options.detector, DetectorOf(proto.detector(), MaxFeaturesPerImage(server)));
  const char* image_field = "camera";
  if (proto.has_raw_camera()) {
    image_field = "raw_camera.rectify";
    GLINT_RETURN_IF_ERROR(SetFromRawCamera(proto, server.lanes.max_image_pixels, rectifications, &options));
  } else if (proto.has_rig()) {
    image_field = "rig.rectify";
    GLINT_RETURN_IF_ERROR(SetFromRig(proto, server.lanes.max_image_pixels, rectifications, &options));
  } else if (proto.has_camera()) {
    GLINT_ASSIGN_OR_RETURN(options.camera, CameraFromProto(proto.camera(), proto.has_depth()));
  } else {
    return ContradictionError("camera", "missing: pairs cannot be located without calibration");
  }
  if (const int64_t pixels = 2 * options.camera.image.pixels(); pixels > server.max_localize_pixels) {
    return LimitError(image_field, pixels, "pixels of both images", server.max_localize_pixels,
                      "--max-localize-pixels");
  }
  GLINT_RETURN_IF_ERROR(SetRefinement(proto.refine_rig(), proto.has_depth(), &options));
  if (proto.has_depth()) {
    options.depth = DepthSensor{proto.depth().unit(), proto.depth().nearest(), proto.depth().farthest()};
  }
  GLINT_ASSIGN_OR_RETURN(options.localizer.mode, ModeFromProto(proto.mode()));
  if (proto.has_imu()) {
    GLINT_ASSIGN_OR_RETURN(options.localizer.odometry.imu, ImuFromProto(proto.imu(), options.rectification.get()));
    GLINT_RETURN_IF_ERROR(SetWait(proto.imu(), &options));
  }
  options.localizer.max_keyframes = server.max_map_keyframes;
  options.localizer.max_points = server.max_map_points;
  options.max_map_bytes = server.max_map_bytes;
  return options;
}

absl::Status ParseMapRequest(decode::Pieces message, const MapDirectory& maps, LocalizeTask* task) {
  using Kind = LocalizeTask::Kind;
  if (const size_t size = decode::TotalBytes(message); size > kMaxMapRequestBytes) {
    return TooLargeError("request", size, kMaxMapRequestBytes);
  }
  std::vector<uint8_t> scratch;
  const absl::Span<const uint8_t> whole = decode::Contiguous(message, &scratch);
  v1::LocalizeStreamRequest proto;
  if (!proto.ParseFromArray(whole.data(), static_cast<int>(whole.size()))) {
    return ContradictionError("request", "not a serialized glint.v1.LocalizeStreamRequest");
  }
  if (proto.has_get_map()) {
    task->kind = Kind::kRead;
    task->from = {proto.get_map().from().keyframe(), proto.get_map().from().point()};
    return absl::OkStatus();
  }
  GLINT_ASSIGN_OR_RETURN(task->file,
                         maps.FileOf(proto.has_save_map() ? proto.save_map().name() : proto.load_map().name()));
  task->kind = proto.has_save_map() ? Kind::kSave : Kind::kLoad;
  return absl::OkStatus();
}

}  // namespace glint
