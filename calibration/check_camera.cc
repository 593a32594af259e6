#include "calibration/check_camera.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "calibration/other_lenses.h"
#include "features/camera/camera.h"

namespace glint::calibration {
namespace {

constexpr double kMostAspect = 1.15;  // of pixels, 720x576 of old video included
constexpr double kLargeTangential = 0.02, kUsualTangential = 0.01, kOddTangential = 0.05, kHopelessTangential = 0.1;
constexpr double kTiny = 1e-3;  // as tangential terms are, and a k3 that was calibrated is not

class CameraChecker {
 public:
  CameraChecker(const Shape& image, bool of_cuvslam, std::vector<Finding>* findings)
      : image_(image), of_cuvslam_(of_cuvslam), findings_(findings) {}

  void CheckCamera(const RigCamera& rig_camera) {
    const std::string& name = rig_camera.name;
    const Camera& camera = rig_camera.camera;
    for (const auto& [field, f] : {std::pair("fx", camera.fx), std::pair("fy", camera.fy)}) {
      if (f > 0) continue;
      Error(absl::StrFormat("%s: %s %g is not above 0: this is no result of a calibration; calibrate again", name,
                            field, f));
      return;
    }
    CheckFocalLengths(name, camera);
    if (!CheckSize(name, camera) || !CheckCentre(name, camera)) return;
    CheckLens(name, camera);
  }

 private:
  using Severity = Finding::Severity;
  void Error(std::string text) { findings_->push_back({Severity::kError, std::move(text)}); }
  void Warn(std::string text) { findings_->push_back({Severity::kWarning, std::move(text)}); }

  Shape ShapeOf(const Camera& camera) const { return KnownShape(camera, image_); }

  void CheckFocalLengths(const std::string& name, const Camera& camera) {
    const int width = ShapeOf(camera).width;
    if (width > 0 && (camera.fx < 0.1 * width || camera.fx > 10 * width)) {
      Error(absl::StrFormat("%s: fx %g is not 0.1 to 10 times the width of %d pixels: %s", name, camera.fx, width,
                            camera.fx < 0.1 * width ? "millimetres, or a share of the width? Give pixels"
                                                    : "of another image size? Calibrate again"));
    }
    const double ratio = camera.fx / camera.fy;
    if (ratio > kMostAspect || ratio < 1 / kMostAspect) {
      Warn(
          absl::StrFormat("%s: fx %g and fy %g differ by over 15 %%: pixels that are not square, or a slip in one of "
                          "them",
                          name, camera.fx, camera.fy));
    }
  }

  // Whether file and images agree, so that more can be said.
  bool CheckSize(const std::string& name, const Camera& camera) {
    const Shape at = camera.image;
    if (at.width <= 0 || image_.width <= 0 || at == image_) return true;
    const double scale = static_cast<double>(image_.width) / at.width;
    const bool scaled = std::abs(scale * at.height - image_.height) <= 1;
    Error(absl::StrFormat("%s: the calibration is of images of %dx%d, and the images have %dx%d: %s", name, at.width,
                          at.height, image_.width, image_.height,
                          scaled ? absl::StrFormat("if they were scaled, multiply fx, fy, cx and cy by %g", scale)
                                 : "calibrate with images of this size"));
    return false;
  }

  // Whether the centre is such that the image's size can be the right one.
  bool CheckCentre(const std::string& name, const Camera& camera) {
    const Shape at = ShapeOf(camera);
    if (at.width <= 0) return true;
    const double x = camera.cx / at.width, y = camera.cy / at.height;  // 0.5: the middle
    const auto off = [](double share) { return std::abs(share - 0.5); };
    const std::string what = absl::StrFormat("%s: the centre (%.6g, %.6g) in an image of %dx%d", name, camera.cx,
                                             camera.cy, at.width, at.height);
    const double exchanged = std::max(off(camera.cx / at.height), off(camera.cy / at.width));
    if (off(x) > 0.1 && off(y) > 0.1 && exchanged < 0.2 && 2 * exchanged < off(x) + off(y)) {
      Warn(what + ": the size was probably written as height, width; exchange the two numbers");
    } else if (std::abs(x - 0.25) < 0.05 && off(y) < 0.1 && at.width >= 2 * at.height) {
      Warn(absl::StrFormat("%s: this is probably the size of both images side by side; one has %dx%d", what,
                           at.width / 2, at.height));
    } else if (std::abs(x - y) < 0.05 * (x + y) && (x < 0.35 || x > 0.7)) {
      Warn(
          absl::StrFormat("%s: these are probably numbers of images of about %.0fx%.0f; multiply fx, fy, cx and cy by "
                          "%.3g",
                          what, 2 * camera.cx, 2 * camera.cy, 0.5 / x));
    } else if (x < 0 || y < 0 || x > 1 || y > 1) {
      Error(what + " lies outside: numbers of another image size, or of another camera");
    } else if (off(x) > 0.25 || off(y) > 0.25) {
      Warn(what + " is far from the middle, as of images that were cut or have another size");
      return true;
    } else {
      return true;
    }
    return false;
  }

  void CheckLens(const std::string& name, const Camera& camera) {
    const Camera sized = WithSize(camera, ShapeOf(camera));
    const bool is_polynomial = camera.model == CameraModel::kRadialTangential ||
                               camera.model == CameraModel::kRational || camera.model == CameraModel::kThinPrism;
    const double folds = is_polynomial ? 0.9 : 0.5;  // a fisheye's circle may end inside the image
    const bool sees_to_edges = SeesTo(sized, folds);
    const bool is_sound = sees_to_edges && (!is_polynomial || BendsLittle(sized));
    const std::string lens = absl::StrCat(name, ": ", LensText(camera));
    if (camera.model == CameraModel::kRadialTangential && CheckOrder(lens, sized, is_sound)) return;
    if (is_sound && ValidateCamera(sized).ok()) return;
    const double half_width = std::max(sized.cx, sized.image.width - 1 - sized.cx) / sized.fx;
    const double half_height = std::max(sized.cy, sized.image.height - 1 - sized.cy) / sized.fy;
    const bool is_wide = std::max(half_width, half_height) > 1;  // polynomials end early beyond 45 degrees
    if (is_polynomial && is_wide && !sees_to_edges && ValidateCamera(sized).ok()) {
      Warn(
          absl::StrFormat("%s ends %.0f %% of the way from the centre to an edge of the image: what lies beyond it is "
                          "not used; of a wide lens calibrate a fisheye model",
                          lens, 100 * SeenShare(sized)));
      return;
    }
    Error(absl::StrCat(lens,
                       " folds the image or bends it beyond what lenses do: no result of a calibration, or "
                       "coefficients of another model; calibrate again with the board in all corners, and with few "
                       "coefficients"));
  }

  // Whether tangential terms show that the coefficients are in another library's order.
  bool CheckOrder(const std::string& lens, const Camera& camera, bool is_sound) {
    const auto tangential = [](const Camera& c) { return std::max(std::abs(c.lens[2]), std::abs(c.lens[3])); };
    const auto is_tiny = [](double term) { return term != 0 && std::abs(term) < kTiny; };
    const bool ends_in_tangential =
        tangential(camera) > kUsualTangential && is_tiny(camera.lens[3]) && is_tiny(camera.lens[4]);
    if (tangential(camera) <= kLargeTangential && is_sound && !ends_in_tangential) return false;
    const OtherLens other = InOtherOrder(camera, of_cuvslam_);
    const bool other_is_usual = tangential(other.camera) < kUsualTangential && other.camera.lens[2] != 0 &&
                                other.camera.lens[3] != 0 && SeesTo(other.camera, 0.9) && BendsLittle(other.camera);
    if (other_is_usual && tangential(camera) > kUsualTangential) {
      Warn(absl::StrCat(lens, ": tangential terms are below 0.01; these are probably ", other.name,
                        ": write them in the order of this format"));
      return true;
    }
    if (tangential(camera) <= kHopelessTangential) {
      if (!is_sound || tangential(camera) <= kOddTangential) return false;
      Warn(absl::StrCat(lens,
                        ": tangential terms of real lenses are below 0.01; few pictures of the board, or coefficients "
                        "of another model or order: calibrate again"));
      return true;
    }
    Error(absl::StrCat(lens,
                       ": tangential terms are below 0.01; these are probably a fisheye's k3 and k4, or "
                       "coefficients in another order than k1 k2 p1 p2 k3"));
    return true;
  }

  const Shape image_;
  const bool of_cuvslam_;
  std::vector<Finding>* const findings_;
};

}  // namespace

Shape KnownShape(const Camera& camera, const Shape& image) { return camera.image.width > 0 ? camera.image : image; }

void CheckCamera(const RigCamera& camera, const Shape& image, bool of_cuvslam, std::vector<Finding>* findings) {
  CameraChecker(image, of_cuvslam, findings).CheckCamera(camera);
}

}  // namespace glint::calibration
