#include "ros2/input/camera_finder.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/calibration/cameras.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "ros/camera_info.h"
#include "ros2/input/picture_reader.h"

namespace glint::ros2 {
namespace {

constexpr char kRectifiedKey[] = "camera.rectified";

// Of what is not there yet; all other errors are of what is wrong.
absl::Status Missing(const std::string& what) { return absl::UnavailableError(what); }

bool AreSame(const ros::CameraInfo& a, const ros::CameraInfo& b) {
  return ros::HaveOnePixelGrid(a, b) && a.distortion_model == b.distortion_model && a.d == b.d && a.r == b.r &&
         a.p == b.p && a.binning_x == b.binning_x && a.binning_y == b.binning_y && a.roi.x_offset == b.roi.x_offset &&
         a.roi.y_offset == b.roi.y_offset && a.roi.width == b.roi.width && a.roi.height == b.roi.height;
}

Cameras CamerasOf(client::PairCameras read, const CameraConfig& config, const std::string& files) {
  Cameras cameras;
  if (read.rig.has_value()) {
    cameras.rig = std::move(read.rig);
  } else if (read.raw_camera.has_value()) {
    cameras.raw_camera = std::move(read.raw_camera);
  } else {
    cameras.camera = std::move(read.camera);
  }
  if (!config.depth.empty()) {
    const double baseline = read.nominal_baseline.value_or(client::RgbdCamera().baseline);
    (cameras.raw_camera.has_value() ? cameras.raw_camera->baseline : cameras.camera->baseline) = baseline;
    cameras.depth.emplace().unit = config.depth_unit;
    if (read.depth_unit.value_or(config.depth_unit) != config.depth_unit) {
      read.notes.push_back(absl::StrCat("warning: the calibration says depths of ", *read.depth_unit,
                                        " m a sample; camera.depth_unit, ", config.depth_unit, ", is taken"));
    }
  }
  if (read.imu.has_value()) cameras.camera_from_imu = read.imu->camera_from_imu;
  cameras.imu = std::move(read.imu);
  cameras.source = absl::StrCat(files, read.notes.empty() ? "" : "; ", absl::StrJoin(read.notes, "; "));
  return cameras;
}

}  // namespace

CameraFinder::CameraFinder(CameraConfig camera, const ImuConfig& imu, Topics topics)
    : camera_(std::move(camera)),
      has_imu_(!imu.topic.empty()),
      has_camera_from_imu_(imu.camera_from_imu.has_value()),
      topics_(std::move(topics)),
      made_(Missing("")) {}

absl::Status CameraFinder::Take(size_t side, const ros::CameraInfo& info) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::optional<ros::CameraInfo>& known = infos_[side];
  if (known.has_value() && AreSame(*known, info)) return absl::OkStatus();
  if (known.has_value() && made_.ok()) {
    return absl::FailedPreconditionError("the camera's calibration has changed; the first one is used until a restart");
  }
  known = info;
  is_new_ = true;
  return absl::OkStatus();
}

absl::Status CameraFinder::Take(const ros::TFMessage& message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_new_ = true;
  return transforms_.Add(message);
}

void CameraFinder::SawImage(const Picture& left) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (image_.width > 0) return;
  const auto shape = ShapeOf(left);
  if (!shape.ok()) return;  // the next one will do
  image_ = *shape;
  image_frame_ = left.frame_id;
  is_new_ = true;
}

void CameraFinder::SawImu(const std::string& frame_id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (imu_frame_.has_value()) return;
  imu_frame_ = frame_id;
  is_new_ = true;
}

std::optional<RigidTransform> CameraFinder::Transform(const std::string& to, const std::string& from) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return transforms_.Find(to, from);
}

std::optional<Cameras> CameraFinder::Find(std::string* why) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_new_) {
    is_new_ = false;
    if (!made_.ok()) {
      made_ = Make();
      if (made_.ok()) made_->version = ++versions_;
    }
    // Depths may come to be known as another camera's after all.
    if (made_.ok() && !topics_.depth.empty()) {
      if (const absl::Status status = CheckInfo(1); !status.ok()) made_ = status;
    }
  }
  if (made_.ok()) return *made_;
  *why = std::string(made_.status().message());
  return std::nullopt;
}

bool CameraFinder::failed() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !made_.ok() && !absl::IsUnavailable(made_.status());
}

absl::StatusOr<Cameras> CameraFinder::Make() const {
  if (!topics_.has_pairs()) {
    Cameras none;
    none.source = "one camera, without calibration";
    return none;
  }
  if (image_.width == 0) return Missing(absl::StrCat("no image has come on ", topics_.left));
  GLINT_ASSIGN_OR_RETURN(calibration::Calibration calibration, ReadCalibration());
  GLINT_RETURN_IF_ERROR(AddImu(&calibration));
  const std::string files = !camera_.calibration_files.empty() ? absl::StrJoin(camera_.calibration_files, ", ")
                            : topics_.right.empty()            ? topics_.left_info
                                                    : absl::StrCat(topics_.left_info, ", ", topics_.right_info);
  const client::CalibrationUse use = {files, image_, topics_.rectified, kRectifiedKey};
  GLINT_ASSIGN_OR_RETURN(client::PairCameras read, topics_.depth.empty()
                                                       ? client::PairCamerasOf(std::move(calibration), use)
                                                       : client::DepthCamerasOf(std::move(calibration), use));
  return CamerasOf(std::move(read), camera_, files);
}

absl::StatusOr<calibration::Calibration> CameraFinder::ReadCalibration() const {
  if (!camera_.calibration_files.empty()) {
    return calibration::ReadCalibration(camera_.calibration_files, {image_, ""});
  }
  std::vector<calibration::NamedText> texts;
  const size_t sides = topics_.right.empty() ? 1 : 2;
  for (size_t side = 0; side < sides; ++side) {
    const std::string& topic = side == 0 ? topics_.left_info : topics_.right_info;
    if (!infos_[side].has_value()) return Missing(absl::StrCat("no CameraInfo has come on ", topic));
    GLINT_RETURN_IF_ERROR(CheckInfo(side));
    auto text = ros::CalibrationYaml(*infos_[side], side == 0 ? topics_.left : topics_.right);
    if (!text.ok()) return absl::InvalidArgumentError(absl::StrCat(topic, ": ", text.status().message()));
    texts.push_back({topic, *std::move(text)});
  }
  return calibration::ParseCalibrations(texts, {image_, ""});
}

absl::Status CameraFinder::CheckInfo(size_t side) const {
  const std::optional<ros::CameraInfo>& info = infos_[side];
  if (!info.has_value()) return absl::OkStatus();
  const std::string& topic = side == 0 ? topics_.left_info : topics_.right_info;
  if (side == 1 && !topics_.depth.empty()) {
    if (!infos_[0].has_value() || ros::HaveOnePixelGrid(*infos_[0], *info)) return absl::OkStatus();
    return ContradictionError(
        "camera.depth",
        absl::StrCat("the pixels of ", topics_.depth, " are not those of ", topics_.left, ", as ", topic, " and ",
                     topics_.left_info, " say: name a topic of depths that are registered to the images"));
  }
  if (info->k[0] == 0 && info->p[0] == 0) {
    return ContradictionError(topic, "is of a camera that is not calibrated: k[0] and p[0] are 0");
  }
  if (info->width == static_cast<uint32_t>(image_.width) && info->height == static_cast<uint32_t>(image_.height)) {
    return absl::OkStatus();
  }
  return ContradictionError(topic, absl::StrCat("is of images of ", info->width, "x", info->height, ", and those of ",
                                                topics_.left, " have ", image_.width, "x", image_.height));
}

absl::Status CameraFinder::AddImu(calibration::Calibration* calibration) const {
  if (!has_imu_ || has_camera_from_imu_ || calibration->rig.imu.has_value()) return absl::OkStatus();
  if (!imu_frame_.has_value()) return Missing(absl::StrCat("nothing has come on ", topics_.imu));
  const auto camera_from_imu = transforms_.Find(image_frame_, *imu_frame_);
  if (!camera_from_imu.has_value()) {
    return Missing(absl::StrCat("no transforms on ", topics_.transforms, " lead from \"", Echo(*imu_frame_),
                                "\", the frame of ", topics_.imu, ", to \"", Echo(image_frame_), "\", that of ",
                                topics_.left, "; imu.camera_from_imu can say it"));
  }
  client::SetCameraFromImu(*camera_from_imu, calibration);
  return absl::OkStatus();
}

}  // namespace glint::ros2
