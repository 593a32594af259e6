#include "features/camera/camera.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "features/camera/lens.h"
#include "features/error.h"
#include "features/limits.h"
#include "features/status_macros.h"

namespace glint {
namespace {

// Of a model, in the order of CameraModel.
struct ModelTerms {
  absl::string_view name;
  int count;
  absl::string_view coefficients[kMaxLensCoefficients];
};
constexpr ModelTerms kModels[kCameraModels] = {
    {"pinhole", 0, {}},
    {"radial-tangential", 5, {"k1", "k2", "p1", "p2", "k3"}},
    {"rational", 8, {"k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6"}},
    {"kannala-brandt", 4, {"k1", "k2", "k3", "k4"}},
    {"double-sphere", 2, {"xi", "alpha"}},
    {"eucm", 2, {"alpha", "beta"}},
    {"fov", 1, {"w"}},
    {"omni", 5, {"xi", "k1", "k2", "p1", "p2"}},
    {"thin-prism", 14, {"k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6", "s1", "s2", "s3", "s4", "tau_x", "tau_y"}},
};

const ModelTerms& TermsOf(CameraModel model) { return kModels[static_cast<int>(model)]; }

absl::Status CheckCoefficient(CameraModel model, absl::string_view name, double value) {
  const auto within = [&](double low, double high) {
    return CheckRange(absl::StrCat("lens.", name), value, low, high);
  };
  if (name == "alpha") return within(0, 1);
  if (name == "beta") return within(0.001, 1000);
  if (name == "w") return within(0, 3);
  if (name == "xi") return model == CameraModel::kOmni ? within(0, 100) : within(-0.999, 0.999);
  if (name[0] == 't') return within(-0.5, 0.5);
  return name[0] == 'k' ? within(-1000, 1000) : within(-1, 1);
}

absl::Status CheckLens(const Camera& camera) {
  const auto names = LensCoefficientsOf(camera.model);
  for (size_t i = 0; i < camera.lens.size(); ++i) {
    if (i < names.size()) {
      GLINT_RETURN_IF_ERROR(CheckCoefficient(camera.model, names[i], camera.lens[i]));
    } else if (camera.lens[i] != 0) {
      return ContradictionError("lens", absl::StrCat("coefficient ", i + 1, " is ", camera.lens[i], ", but ",
                                                     NameOf(camera.model), " has ", names.size()));
    }
  }
  return absl::OkStatus();
}

// Whether the lens is one where nearly every lens is: on the circle of three quarters of the image's smaller side.
absl::Status CheckFold(const Camera& camera) {
  const double radius = 0.375 * std::min(camera.image.width, camera.image.height);
  const Eigen::Vector2d centre((camera.image.width - 1) / 2.0, (camera.image.height - 1) / 2.0);
  for (const auto& [x, y] : {std::pair(-1, 0), std::pair(1, 0), std::pair(0, -1), std::pair(0, 1)}) {
    const Eigen::Vector2d pixel = centre + radius * Eigen::Vector2d(x, y);
    Eigen::Vector3d ray;
    if (Unproject(camera, pixel, &ray)) continue;
    std::string values;
    for (size_t i = 0; i < LensCoefficientsOf(camera.model).size(); ++i) {
      absl::StrAppend(&values, i == 0 ? "" : " ", LensCoefficientsOf(camera.model)[i], "=", camera.lens[i]);
    }
    return ContradictionError(
        absl::StrCat("lens.", LensCoefficientsOf(camera.model)[0]),
        absl::StrFormat(
            "%s fold the image: no ray leads to pixel (%.0f, %.0f) of %dx%d; are they %s's, in its order, and "
            "of this image size?",
            values, pixel.x(), pixel.y(), camera.image.width, camera.image.height, NameOf(camera.model)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view NameOf(CameraModel model) { return TermsOf(model).name; }

absl::Span<const absl::string_view> LensCoefficientsOf(CameraModel model) {
  return absl::MakeConstSpan(TermsOf(model).coefficients).first(static_cast<size_t>(TermsOf(model).count));
}

absl::Status ValidateCamera(const Camera& camera) {
  const double width = camera.image.width;
  const double height = camera.image.height;
  GLINT_RETURN_IF_ERROR(CheckRange("image.width", camera.image.width, 1, kMaxImageSide));
  GLINT_RETURN_IF_ERROR(CheckRange("image.height", camera.image.height, 1, kMaxImageSide));
  GLINT_RETURN_IF_ERROR(CheckRange("fx", camera.fx, 0.1 * width, 10 * width));
  GLINT_RETURN_IF_ERROR(CheckRange("fy", camera.fy, 0.1 * width, 10 * width));
  GLINT_RETURN_IF_ERROR(CheckRange("cx", camera.cx, 0.0, width));
  GLINT_RETURN_IF_ERROR(CheckRange("cy", camera.cy, 0.0, height));
  GLINT_RETURN_IF_ERROR(CheckLens(camera));
  return CheckFold(camera);
}

bool Project(const Camera& camera, const Eigen::Vector3d& point, Eigen::Vector2d* pixel, PixelByPoint* by_point) {
  Eigen::Vector2d ab;
  PixelByPoint ab_by_point;
  const bool seen = WithLens(
      camera, [&](const auto& lens) { return lens.Project(point, &ab, by_point == nullptr ? nullptr : &ab_by_point); });
  if (!seen || !ab.allFinite()) return false;
  *pixel << camera.fx * ab.x() + camera.cx, camera.fy * ab.y() + camera.cy;
  if (by_point != nullptr) *by_point << camera.fx * ab_by_point.row(0), camera.fy * ab_by_point.row(1);
  return true;
}

bool Unproject(const Camera& camera, const Eigen::Vector2d& pixel, Eigen::Vector3d* ray) {
  return WithLens(camera, [&](const auto& lens) { return UnprojectBy(lens, camera, pixel, ray); });
}

}  // namespace glint
