#include "client/cli/calibration/draw_rig.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "absl/strings/str_format.h"
#include "client/cli/calibration/rig_report.h"
#include "client/cli/output/draw_path.h"
#include "features/camera/camera.h"

namespace glint::cli {
namespace {

constexpr int kPanel = 360;  // side, pixels
constexpr int kBorder = 24;
constexpr double kRadiansPerDegree = 0.017453292519943295;
const cv::Scalar kGround(32, 32, 32), kBright(220, 220, 220), kGreen(80, 220, 80), kRed(60, 60, 255),
    kDim(110, 110, 110);

void Write(const std::string& text, cv::Point at, cv::Mat* canvas) {
  cv::putText(*canvas, text, at, cv::FONT_HERSHEY_SIMPLEX, 0.4, kBright, 1, cv::LINE_AA);
}

// Places of the first camera's frame from above, scaled so that all fit.
class View {
 public:
  explicit View(const std::vector<RigidTransform>& poses) {
    double low_x = 0, high_x = 0, low_z = 0, high_z = 0;
    for (const RigidTransform& pose : poses) {
      low_x = std::min(low_x, pose.translation.x()), high_x = std::max(high_x, pose.translation.x());
      low_z = std::min(low_z, pose.translation.z()), high_z = std::max(high_z, pose.translation.z());
    }
    extent_ = 2 * std::max({high_x - low_x, high_z - low_z, 0.01});
    middle_x_ = (low_x + high_x) / 2;
    middle_z_ = (low_z + high_z) / 2;
  }
  double extent() const { return extent_; }  // metres
  double scale() const { return (kPanel - 2 * kBorder) / extent_; }
  cv::Point At(const Eigen::Vector3d& p) const {
    return {cvRound(kPanel / 2.0 + (p.x() - middle_x_) * scale()),
            cvRound(kPanel / 2.0 - (p.z() - middle_z_) * scale())};
  }

 private:
  double extent_, middle_x_, middle_z_;
};

void DrawCameras(const Rig& rig, cv::Mat canvas) {
  const RigidTransform first_from_rig = rig.cameras[0].rig_from_camera.Inverse();
  std::vector<RigidTransform> poses;
  for (const RigCamera& camera : rig.cameras) poses.push_back(first_from_rig * camera.rig_from_camera);
  if (rig.imu.has_value()) poses.push_back(first_from_rig * rig.imu->rig_from_imu);
  const View view(poses);
  for (size_t i = 0; i < rig.cameras.size(); ++i) {
    const Camera& camera = rig.cameras[i].camera;
    const double half = camera.image.width > 0 ? FieldOfView(camera, false) / 2 : 30;
    const double side = std::tan(std::min(half, 80.0) * kRadiansPerDegree), length = 0.15 * view.extent();
    const cv::Point at = view.At(poses[i].translation);
    for (const double x : {-side, side}) {
      const Eigen::Vector3d ray = Eigen::Vector3d(x, 0, 1).normalized() * length;
      cv::line(canvas, at, view.At(poses[i] * ray), kGreen, 1, cv::LINE_AA);
    }
    cv::circle(canvas, at, 3, kGreen, cv::FILLED, cv::LINE_AA);
    Write(rig.cameras[i].name, at + cv::Point(-10, 16), &canvas);
  }
  if (rig.imu.has_value()) {
    const cv::Point at = view.At(poses.back().translation);
    cv::rectangle(canvas, at - cv::Point(4, 4), at + cv::Point(4, 4), {0, 165, 255}, 1, cv::LINE_AA);
    Write("imu", at + cv::Point(8, 4), &canvas);
  }
  const double bar = RoundLength(view.extent() / 3);
  const cv::Point corner(kBorder, kPanel - kBorder);
  cv::line(canvas, corner, corner + cv::Point(cvRound(bar * view.scale()), 0), kBright, 2);
  Write(absl::StrFormat("%g m", bar), corner - cv::Point(0, 6), &canvas);
}

void DrawLens(const RigCamera& rig_camera, cv::Mat canvas) {
  Camera camera = rig_camera.camera;
  if (camera.image.width <= 0) camera.image = {cvRound(2 * camera.cx) + 1, cvRound(2 * camera.cy) + 1};
  const double scale = (kPanel - 2.0 * kBorder) / std::max(camera.image.width, camera.image.height);
  const auto at = [&](double x, double y) {  // far places are cut off, since OpenCV draws at integers
    const auto cut = [](double v) { return cvRound(std::clamp(v, -1.0 * kPanel, 2.0 * kPanel)); };
    return cv::Point(cut(kBorder + x * scale), cut(kBorder + y * scale));
  };
  cv::rectangle(canvas, at(0, 0), at(camera.image.width - 1, camera.image.height - 1), kDim);
  const double step = std::max(camera.image.width, camera.image.height) / 16.0;
  for (double y = step / 2; y < camera.image.height; y += step) {
    for (double x = step / 2; x < camera.image.width; x += step) {
      Eigen::Vector3d ray;
      const cv::Point pixel = at(x, y);
      if (!Unproject(camera, {x, y}, &ray)) {
        cv::drawMarker(canvas, pixel, kRed, cv::MARKER_TILTED_CROSS, 5);
      } else if (ray.z() > 0.05) {
        cv::line(canvas, pixel,
                 at(camera.cx + camera.fx * ray.x() / ray.z(), camera.cy + camera.fy * ray.y() / ray.z()), kGreen, 1,
                 cv::LINE_AA);
        cv::circle(canvas, pixel, 1, kBright, cv::FILLED);
      } else {
        cv::circle(canvas, pixel, 1, {0, 165, 255}, cv::FILLED);  // 87 degrees from the axis and more
      }
    }
  }
  cv::drawMarker(canvas, at(camera.cx, camera.cy), kBright, cv::MARKER_CROSS, 9);
  Write(absl::StrFormat("%s: %s", rig_camera.name, NameOf(camera.model)), {kBorder, kPanel - 8}, &canvas);
}

}  // namespace

cv::Mat DrawRig(const Rig& rig) {
  cv::Mat all(kPanel, kPanel * static_cast<int>(1 + rig.cameras.size()), CV_8UC3, kGround);
  const auto panel = [&](size_t i) { return all(cv::Rect(kPanel * static_cast<int>(i), 0, kPanel, kPanel)); };
  for (size_t i = 0; i < rig.cameras.size(); ++i) DrawLens(rig.cameras[i], panel(i + 1));
  DrawCameras(rig, panel(0));
  return all;
}

}  // namespace glint::cli
