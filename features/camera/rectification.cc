#include "features/camera/rectification.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "features/camera/lens.h"
#include "features/error.h"
#include "features/limits.h"
#include "features/status_macros.h"
#include "features/trigonometry.h"

namespace glint {
namespace {

constexpr double kDegree = 0.017453292519943295;

// Rays of a pinhole camera's pixels in another camera's coordinates: x column + y row + the rest. Plain numbers, in one
// order on all machines.
struct PixelRays {
  PixelRays(const Camera& to, const Eigen::Matrix3d& to_from_camera) {
    for (int i = 0; i < 3; ++i) {
      by_x[i] = to_from_camera(0, i) / to.fx;
      by_y[i] = to_from_camera(1, i) / to.fy;
      origin[i] = to_from_camera(2, i) - by_x[i] * to.cx - by_y[i] * to.cy;
    }
  }
  Eigen::Vector3d At(double x, double y) const {
    Eigen::Vector3d ray;
    for (int i = 0; i < 3; ++i) ray[i] = y * by_y[i] + origin[i] + x * by_x[i];
    return ray;
  }
  double by_x[3], by_y[3], origin[3];
};

// A coordinate in 1/32 pixel, rounded to the nearest, halves to even; false where 16 bits do not hold its pixel.
bool FixedPoint(double coordinate, int16_t* pixel, uint8_t* fraction) {
  constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52: a sum with it has no fraction bits
  const double scaled = coordinate * RemapTable::kFractions;
  if (!(std::abs(scaled) < 32767.0 * RemapTable::kFractions)) return false;
  const int fixed = static_cast<int>((scaled + kMagic) - kMagic);
  *pixel = static_cast<int16_t>(fixed >> 5);
  *fraction = static_cast<uint8_t>(fixed & 31);
  return true;
}

// Whether a source's pixel takes part in the entry's value with all of its weight.
bool IsInside(Shape source, const RemapTable::Entry& at) {
  return at.x >= 0 && at.y >= 0 && at.x + (at.fraction_x > 0) < source.width &&
         at.y + (at.fraction_y > 0) < source.height;
}

// The camera with every n-th pixel, 128 a side at most: a share is then known without a whole table.
Camera Coarse(Camera camera) {
  const int step = (std::max(camera.image.width, camera.image.height) + 127) / 128;
  camera.image = {(camera.image.width + step - 1) / step, (camera.image.height + step - 1) / step};
  camera.fx = camera.fy = camera.fx / step;
  camera.cx /= step;
  camera.cy /= step;
  return camera;
}

double UncoveredShare(const RemapTable& table) {
  const auto outside = [&](const RemapTable::Entry& at) { return !IsInside(table.source, at); };
  return static_cast<double>(std::count_if(table.entries.begin(), table.entries.end(), outside)) /
         static_cast<double>(table.shape.pixels());
}

// ---- the rotations of a pair

absl::Status CheckSides(const Eigen::Vector3d& t) {
  constexpr char kField[] = "right_from_left.translation";
  GLINT_RETURN_IF_ERROR(CheckRange(kField, t.norm(), 1e-4, 1e4));
  const std::string values = absl::StrFormat("(%g, %g, %g)", -t.x(), -t.y(), -t.z());
  if (std::abs(t.y()) > std::abs(t.x()) || std::abs(t.z()) > std::abs(t.x())) {
    return ContradictionError(kField,
                              absl::StrCat("the right camera sits at ", values,
                                           " of the left one: above, below, before or behind it, not beside it"));
  }
  if (t.x() > 0) {
    return ContradictionError(kField,
                              absl::StrCat("the right camera sits at ", values, " of the left one, to its left: ",
                                           "the cameras are exchanged, or the transform is the inverse"));
  }
  return absl::OkStatus();
}

// Bouguet's rotations.
absl::Status Rotate(const RigidTransform& right_from_left, RectifiedPair* pair) {
  const Eigen::Matrix3d& rotation = right_from_left.rotation;
  if (!((rotation * rotation.transpose() - Eigen::Matrix3d::Identity()).norm() < 1e-3 && rotation.determinant() > 0)) {
    return ContradictionError("right_from_left.rotation", "is not a rotation");
  }
  const Eigen::Quaterniond turn(rotation);
  const double sign = turn.w() < 0 ? -1 : 1;
  const Eigen::Quaterniond halfway(1 + sign * turn.w(), sign * turn.x(), sign * turn.y(), sign * turn.z());
  const Eigen::Matrix3d half = halfway.normalized().conjugate().toRotationMatrix();
  const Eigen::Vector3d baseline = half * right_from_left.translation;  // from right to left, between both cameras
  GLINT_RETURN_IF_ERROR(CheckSides(baseline));
  const Eigen::Matrix3d to_baseline =
      Eigen::Quaterniond::FromTwoVectors(baseline, -Eigen::Vector3d::UnitX()).toRotationMatrix();
  pair->rectified_from_left = to_baseline * half.transpose();
  pair->rectified_from_right = to_baseline * half;
  pair->baseline = baseline.norm();
  return absl::OkStatus();
}

// ---- the image of a pair, or of a single camera

// What all cameras see of the plane z = 1 of rectified coordinates.
class CommonView {
 public:
  using View = std::pair<Camera, Eigen::Matrix3d>;  // a camera, and "rectified from camera"
  explicit CommonView(std::vector<View> views) : views_(std::move(views)) {}

  const std::vector<View>& views() const { return views_; }

  bool Sees(double x, double y) const {
    return std::all_of(views_.begin(), views_.end(), [&](const auto& view) {
      Eigen::Vector2d pixel;
      const auto& [camera, rectified_from_camera] = view;
      return Project(camera, rectified_from_camera.transpose() * Eigen::Vector3d(x, y, 1), &pixel) && pixel.x() >= 0 &&
             pixel.y() >= 0 && pixel.x() <= camera.image.width - 1 && pixel.y() <= camera.image.height - 1;
    });
  }

  // Whether all see the border of a rectangle around (x, y).
  bool SeesBorder(double x, double y, double half_width, double half_height) const {
    constexpr int kSteps = 64;
    for (int i = -kSteps; i <= kSteps; ++i) {
      const double along = static_cast<double>(i) / kSteps;
      for (const int side : {-1, 1}) {
        if (!Sees(x + along * half_width, y + side * half_height)) return false;
        if (!Sees(x + side * half_width, y + along * half_height)) return false;
      }
    }
    return true;
  }

 private:
  const std::vector<View> views_;
};

// The middle of what all see in the row and in the column of the rectified axis, out to `limit`.
bool MiddleOf(const CommonView& view, double limit, Eigen::Vector2d* middle) {
  *middle = Eigen::Vector2d::Zero();
  if (!view.Sees(0, 0)) return false;
  for (const int axis : {0, 1}) {
    const auto reach = [&](int sign) {
      return sign * LastThatHolds(limit, [&](double t) {
               return axis == 0 ? view.Sees(sign * t, middle->y()) : view.Sees(middle->x(), sign * t);
             });
    };
    (*middle)[axis] = (reach(-1) + reach(1)) / 2;
  }
  return true;
}

absl::Status CheckOptions(const RectifyOptions& options) {
  if (options.image != Shape{}) {
    GLINT_RETURN_IF_ERROR(CheckRange("image.width", options.image.width, 1, kMaxImageSide));
    GLINT_RETURN_IF_ERROR(CheckRange("image.height", options.image.height, 1, kMaxImageSide));
  }
  GLINT_RETURN_IF_ERROR(CheckRange("max_field", options.max_field, 10.0, 150.0));
  return options.focal_length == 0
             ? absl::OkStatus()
             : CheckRange("focal_length", options.focal_length, 0.1 * options.image.width, 10.0 * options.image.width);
}

// Sets camera and uncovered share of `rectified`. `blind` is the error of cameras that do not see what lies straight
// before all of them.
absl::Status ChooseCamera(const CommonView& view, const RectifyOptions& options, const absl::Status& blind,
                          RectifiedPair* rectified) {
  const double half_width = (options.image.width - 1) / 2.0;
  const double half_height = (options.image.height - 1) / 2.0;
  const double widest = SineCosineOf(options.max_field / 2 * kDegree).tangent();
  Eigen::Vector2d middle;
  if (!MiddleOf(view, widest, &middle)) return blind;
  // The largest rectangle of the image's form around the middle; `scale` is half its width at a focal length of 1.
  const double form = (half_height + 0.5) / (half_width + 0.5);
  const double scale =
      LastThatHolds(widest, [&](double t) { return view.SeesBorder(middle.x(), middle.y(), t, t * form); });
  Camera& camera = rectified->camera;
  camera.image = options.image;
  camera.fx = camera.fy = options.focal_length > 0 ? options.focal_length : (half_width + 0.5) / scale;
  camera.cx = half_width - camera.fx * middle.x();
  camera.cy = half_height - camera.fy * middle.y();
  if (const absl::Status status = ValidateCamera(camera); !status.ok()) return WithField("rectified", status);
  const Camera coarse = Coarse(camera);
  rectified->uncovered = 0;
  for (const auto& [from, rectified_from_camera] : view.views()) {
    rectified->uncovered += UncoveredShare(MakeRemapTable(from, rectified_from_camera, coarse));
  }
  rectified->uncovered /= static_cast<double>(view.views().size());
  if (rectified->uncovered > 0.5) {
    return ContradictionError(
        "focal_length", absl::StrFormat("%g leaves %.0f %% of the rectified images without a source; from %.0f on none",
                                        camera.fx, 100 * rectified->uncovered, (half_width + 0.5) / scale));
  }
  return absl::OkStatus();
}

}  // namespace

RemapTable MakeRemapTable(const Camera& from, const Eigen::Matrix3d& to_from_camera, const Camera& to) {
  RemapTable table;
  table.source = from.image;
  table.shape = to.image;
  table.entries.resize(static_cast<size_t>(to.image.pixels()));
  const PixelRays rays(to, to_from_camera);
  WithLens(from, [&](const auto& lens) {
    RemapTable::Entry* next = table.entries.data();
    for (int y = 0; y < to.image.height; ++y) {
      for (int x = 0; x < to.image.width; ++x, ++next) {
        Eigen::Vector2d ab;
        RemapTable::Entry entry;
        if (lens.Project(rays.At(x, y), &ab, nullptr) &&
            FixedPoint(from.fx * ab.x() + from.cx, &entry.x, &entry.fraction_x) &&
            FixedPoint(from.fy * ab.y() + from.cy, &entry.y, &entry.fraction_y)) {
          *next = entry;
        }
      }
    }
  });
  MakeBlocks(&table);
  return table;
}

absl::StatusOr<RectifiedPair> RectifyPair(const Camera& left, const Camera& right,
                                          const RigidTransform& right_from_left, const RectifyOptions& chosen) {
  if (const absl::Status status = ValidateCamera(left); !status.ok()) return WithField("left", status);
  if (const absl::Status status = ValidateCamera(right); !status.ok()) return WithField("right", status);
  RectifyOptions options = chosen;
  if (options.image == Shape{}) options.image = left.image;
  GLINT_RETURN_IF_ERROR(CheckOptions(options));
  RectifiedPair pair;
  GLINT_RETURN_IF_ERROR(Rotate(right_from_left, &pair));

  const CommonView view({{left, pair.rectified_from_left}, {right, pair.rectified_from_right}});
  const absl::Status blind =
      ContradictionError("right_from_left.rotation", "the cameras do not see what lies straight before both");
  GLINT_RETURN_IF_ERROR(ChooseCamera(view, options, blind, &pair));
  return pair;
}

absl::StatusOr<RectifiedPair> UndistortCamera(const Camera& camera, const RectifyOptions& chosen) {
  if (const absl::Status status = ValidateCamera(camera); !status.ok()) return WithField("camera", status);
  RectifyOptions options = chosen;
  if (options.image == Shape{}) options.image = camera.image;
  GLINT_RETURN_IF_ERROR(CheckOptions(options));
  RectifiedPair undistorted;
  undistorted.rectified_from_left.setIdentity();
  undistorted.rectified_from_right.setIdentity();
  const absl::Status blind = ContradictionError("camera", "does not see what lies straight before it");
  GLINT_RETURN_IF_ERROR(
      ChooseCamera(CommonView({{camera, undistorted.rectified_from_left}}), options, blind, &undistorted));
  return undistorted;
}

}  // namespace glint
