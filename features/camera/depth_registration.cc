#include "features/camera/depth_registration.h"

#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/strings/str_format.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint {
namespace {

constexpr double kLeastBaseline = 0.001, kMostBaseline = 100;  // metres

// The ray of length 1 along the axis; false if the lens has none there, or one that leads to the side or back.
bool RayOf(const Camera& camera, double x, double y, Eigen::Vector3d* ray) {
  if (!Unproject(camera, {x, y}, ray) || !(ray->z() > 0)) return false;
  *ray /= ray->z();
  return ray->allFinite();
}

// How many pixels of `to` a pixel in the middle of `depth_camera` covers of what is far away.
double PixelsOfPixel(const Camera& depth_camera, const Camera& to) {
  Eigen::Vector3d first, last;
  if (!RayOf(depth_camera, depth_camera.cx - 0.5, depth_camera.cy - 0.5, &first)) return 0;
  if (!RayOf(depth_camera, depth_camera.cx + 0.5, depth_camera.cy + 0.5, &last)) return 0;
  return to.fx * (last - first).cwiseAbs().maxCoeff();
}

}  // namespace

absl::StatusOr<RectifiedPair> UndistortRgbd(const RgbdCamera& rgbd) {
  GLINT_RETURN_IF_ERROR(CheckRange("baseline", rgbd.baseline, kLeastBaseline, kMostBaseline));
  GLINT_ASSIGN_OR_RETURN(RectifiedPair undistorted, UndistortCamera(rgbd.camera, rgbd.rectify));
  undistorted.baseline = rgbd.baseline;
  if (!rgbd.depth_camera.has_value()) return undistorted;
  if (const absl::Status status = ValidateCamera(*rgbd.depth_camera); !status.ok()) {
    return WithField("depth_camera", status);
  }
  constexpr double kMost = DepthTable::kMostPixels / 2;
  if (const double pixels = PixelsOfPixel(*rgbd.depth_camera, undistorted.camera); pixels > kMost) {
    return ContradictionError("depth_camera", absl::StrFormat("its pixels are as large as %.1f of the image's, which "
                                                              "is more than %g: are the focal lengths right?",
                                                              pixels, kMost));
  }
  return undistorted;
}

DepthTable MakeDepthTable(const Camera& depth_camera, const RigidTransform& to_from_depth, const Camera& to) {
  DepthTable table;
  table.source = depth_camera.image;
  table.shape = to.image;
  // (x, y, w) of a point: plain numbers, in one order on all machines.
  const auto pixel_of = [&to](const Eigen::Vector3d& p) {
    return Eigen::Vector3d(to.fx * p.x() + to.cx * p.z(), to.fy * p.y() + to.cy * p.z(), p.z());
  };
  const Eigen::Vector3d offset = pixel_of(to_from_depth.translation);
  table.offset = {offset.x(), offset.y(), offset.z()};
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const auto at = [&](double x, double y) {
    Eigen::Vector3d ray;
    if (!RayOf(depth_camera, x, y, &ray)) return Eigen::Vector3d(kNone, kNone, kNone);
    Eigen::Vector3d turned;
    for (int i = 0; i < 3; ++i) {
      const auto row = to_from_depth.rotation.row(i);
      turned[i] = row[0] * ray[0] + row[1] * ray[1] + row[2] * ray[2];
    }
    return pixel_of(turned);
  };
  const int width = table.source.width, height = table.source.height;
  const auto corners = static_cast<size_t>(width + 1) * static_cast<size_t>(height + 1);
  for (std::vector<float>* const values : {&table.x, &table.y, &table.w}) values->reserve(corners);
  table.centre_w.reserve(static_cast<size_t>(table.source.pixels()));
  for (int y = 0; y <= height; ++y) {
    for (int x = 0; x <= width; ++x) {
      const Eigen::Vector3d corner = at(x - 0.5, y - 0.5);
      table.x.push_back(static_cast<float>(corner.x()));
      table.y.push_back(static_cast<float>(corner.y()));
      table.w.push_back(static_cast<float>(corner.z()));
      if (x < width && y < height) table.centre_w.push_back(static_cast<float>(at(x, y).z()));
    }
  }
  static std::atomic<uint64_t> last_id{0};
  table.id = last_id.fetch_add(1, std::memory_order_relaxed) + 1;
  return table;
}

}  // namespace glint
