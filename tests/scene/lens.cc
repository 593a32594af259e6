#include "tests/scene/lens.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "calibration/formats/format.h"
#include "features/status_macros.h"
#include "tests/scene/write_image.h"

namespace glint::scene {
namespace {

constexpr double kFiner = 1.5;
constexpr double kLeastZ = 0.2588;  // cosine of 75 degrees
constexpr int kWidestPicture = 7680;

}  // namespace

absl::StatusOr<Camera> PinholeFor(const glint::Camera& lens) {
  GLINT_RETURN_IF_ERROR(ValidateCamera(lens));
  double low_x = 0, high_x = 0, low_y = 0, high_y = 0;
  for (int y = 0; y < lens.image.height; ++y) {
    const bool is_edge = y == 0 || y == lens.image.height - 1;
    for (int x = 0; x < lens.image.width; x += is_edge ? 1 : std::max(1, lens.image.width - 1)) {
      Eigen::Vector3d ray;
      if (!Unproject(lens, Eigen::Vector2d(x, y), &ray) || ray.z() < kLeastZ) {
        return absl::InvalidArgumentError("--lens: sees over 150 degrees, or not all of its picture");
      }
      low_x = std::min(low_x, ray.x() / ray.z()), high_x = std::max(high_x, ray.x() / ray.z());
      low_y = std::min(low_y, ray.y() / ray.z()), high_y = std::max(high_y, ray.y() / ray.z());
    }
  }
  Camera pinhole;
  pinhole.focal = kFiner * lens.fx;
  pinhole.cx = std::ceil(-low_x * pinhole.focal) + 1;
  pinhole.cy = std::ceil(-low_y * pinhole.focal) + 1;
  pinhole.width = static_cast<int>(pinhole.cx + std::ceil(high_x * pinhole.focal)) + 2;
  pinhole.height = static_cast<int>(pinhole.cy + std::ceil(high_y * pinhole.focal)) + 2;
  if (std::max(pinhole.width, pinhole.height) <= kWidestPicture) return pinhole;
  return absl::InvalidArgumentError(absl::StrCat("--lens: needs a picture of ", pinhole.width, "x", pinhole.height));
}

std::function<Image(const Image&)> ThroughLens(const glint::Camera& lens, const Camera& pinhole) {
  struct Source {
    int left = -1, top = -1;  // the pixel up and left; -1: nothing is seen
    double right = 0, down = 0;
  };
  std::vector<Source> sources(static_cast<size_t>(lens.image.pixels()));
  size_t at = 0;
  for (int y = 0; y < lens.image.height; ++y) {
    for (int x = 0; x < lens.image.width; ++x, ++at) {
      Eigen::Vector3d ray;
      if (!Unproject(lens, Eigen::Vector2d(x, y), &ray)) continue;
      const double u = pinhole.focal * ray.x() / ray.z() + pinhole.cx;
      const double v = pinhole.focal * ray.y() / ray.z() + pinhole.cy;
      Source& source = sources[at];
      source.left = std::clamp(static_cast<int>(u), 0, pinhole.width - 2);
      source.top = std::clamp(static_cast<int>(v), 0, pinhole.height - 2);
      source.right = u - source.left, source.down = v - source.top;
    }
  }
  return [shape = lens.image, sources = std::move(sources)](const Image& picture) {
    Image shown(shape.width, shape.height);
    const Source* source = sources.data();
    for (int y = 0; y < shape.height; ++y) {
      for (int x = 0; x < shape.width; ++x, ++source) {
        shown.row(y)[x] = 0;
        if (source->left < 0) continue;
        const uint8_t *upper = picture.row(source->top) + source->left,
                      *lower = picture.row(source->top + 1) + source->left;
        const double a = source->right, b = source->down;
        const double grey = (1 - b) * ((1 - a) * upper[0] + a * upper[1]) + b * ((1 - a) * lower[0] + a * lower[1]);
        shown.row(y)[x] = static_cast<uint8_t>(std::lround(std::clamp(grey, 0.0, 255.0)));
      }
    }
    return shown;
  };
}

absl::Status WriteCalibration(const glint::Camera& lens, bool stereo, double baseline, const std::optional<RigImu>& imu,
                              const std::string& out) {
  calibration::Calibration rig;
  rig.rig.imu = imu;
  for (int eye = 0; eye < (stereo ? 2 : 1); ++eye) {
    RigCamera& camera = rig.rig.cameras.emplace_back();
    camera.name = absl::StrCat("cam", eye);
    camera.camera = lens;
    camera.rig_from_camera.translation.x() = eye * baseline;
  }
  for (const calibration::Format& format : calibration::Formats()) {
    if (format.write == nullptr || (imu.has_value() && !format.writes_imu)) continue;
    const auto files = format.write(rig);
    if (!files.ok()) continue;
    absl::Status status;
    for (const calibration::NamedText& file : *files) {
      const std::string path = absl::StrCat(out, "/", file.name);
      std::error_code error;
      std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
      status.Update(WriteText(path, file.text));
    }
    return status;
  }
  return absl::InvalidArgumentError(absl::StrCat("--camera_model: no format is written with ", NameOf(lens.model)));
}

}  // namespace glint::scene
