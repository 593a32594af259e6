// Models of cameras and their lenses. docs/cameras.md has the formulas, their sources and their domains.
#ifndef GLINT_FEATURES_CAMERA_CAMERA_H_
#define GLINT_FEATURES_CAMERA_CAMERA_H_

#include <Eigen/Core>
#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "features/types.h"

namespace glint {

enum class CameraModel : uint8_t {
  kPinhole,           // no distortion
  kRadialTangential,  // k1 k2 p1 p2 k3 (Brown-Conrady, OpenCV's first five, "plumb_bob", "radtan")
  kRational,          // k1 k2 p1 p2 k3 k4 k5 k6 (OpenCV's eight, "rational_polynomial")
  kKannalaBrandt,     // k1 k2 k3 k4 (OpenCV's fisheye, "equidistant", "KannalaBrandt8")
  kDoubleSphere,      // xi alpha
  kEucm,              // alpha beta
  kFov,               // w, radians (Devernay and Faugeras; "ATAN")
  kOmni,              // xi k1 k2 p1 p2 (Mei; OpenCV's omnidir)
  kThinPrism,         // k1 k2 p1 p2 k3 k4 k5 k6 s1 s2 s3 s4 tau_x tau_y (OpenCV's twelve and fourteen)
};
inline constexpr int kCameraModels = 9;
inline constexpr int kMaxLensCoefficients = 14;

// A camera. Pixel (0, 0) is the centre of the first pixel; the camera looks along z, x to the right, y down.
struct Camera {
  CameraModel model = CameraModel::kPinhole;
  Shape image;                                      // pixels
  double fx = 0, fy = 0;                            // focal lengths, pixels
  double cx = 0, cy = 0;                            // centre, pixels
  std::array<double, kMaxLensCoefficients> lens{};  // coefficients in the model's order; the rest 0
};

// "radial-tangential", ...
absl::string_view NameOf(CameraModel model);
// Names of the model's coefficients, in order: {"k1", "k2", "p1", "p2", "k3"}.
absl::Span<const absl::string_view> LensCoefficientsOf(CameraModel model);

// OK, or INVALID_ARGUMENT that names the first bad field ("lens.k1"), its value and its range: image sides
// 1..kMaxImageSide, focal lengths 0.1 to 10 times the width, the centre in the image, coefficients finite and inside
// the model's range, and a lens that does not fold the image's centre.
absl::Status ValidateCamera(const Camera& camera);

using PixelByPoint = Eigen::Matrix<double, 2, 3>;

// The pixel that sees `point`, in camera coordinates; false outside the model's domain, where nothing is set. The pixel
// may lie outside the image. `by_point`, if not null, becomes the Jacobian.
bool Project(const Camera& camera, const Eigen::Vector3d& point, Eigen::Vector2d* pixel,
             PixelByPoint* by_point = nullptr);

// The unit ray that `pixel` sees, in camera coordinates; false outside the model's domain, where nothing is set.
// Project() of it is the pixel, to 1e-9 of the focal length.
bool Unproject(const Camera& camera, const Eigen::Vector2d& pixel, Eigen::Vector3d* ray);

}  // namespace glint

#endif  // GLINT_FEATURES_CAMERA_CAMERA_H_
