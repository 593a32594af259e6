// Errors of observations and their derivatives as ReprojectionModel has them, a vector of observations at a time. Sums
// of four terms are (0 + 2) + (1 + 3), those of three from the left but for last rows of rotations, which are from the
// right; nothing is fused.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "slam/estimate/reprojection_kernels.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "cpu/common/simd-inl.h"
#include "slam/estimate/reprojection_kernels.h"
#include "slam/estimate/reprojection_model.h"

HWY_BEFORE_NAMESPACE();
namespace glint::slam::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, ObservationArrays::kBlock>;
using V = hn::Vec<D>;
using Mask = hn::Mask<D>;

// Constructors are written out: GCC compiles implicit ones without the target's instructions, and refuses for NEON.
struct V3 {
  HWY_INLINE V3() {}
  HWY_INLINE V3(V x_of, V y_of, V z_of) : x(x_of), y(y_of), z(z_of) {}
  V x, y, z;
};

HWY_INLINE V3 Rotate(const double (&by)[9], const V3& p) {
  const D d;
  const auto term = [&](int i, V v) HWY_ATTR { return hn::Mul(hn::Set(d, by[i]), v); };
  return {hn::Add(hn::Add(term(0, p.x), term(1, p.y)), term(2, p.z)),
          hn::Add(hn::Add(term(3, p.x), term(4, p.y)), term(5, p.z)),
          hn::Add(term(6, p.x), hn::Add(term(7, p.y), term(8, p.z)))};
}

// (0 + 2) + (1 + 3).
HWY_INLINE V Sum(V t0, V t1, V t2, V t3) { return hn::Add(hn::Add(t0, t2), hn::Add(t1, t3)); }

// Correspondences [i, i + a vector) as the camera sees them.
class ProjectedBlock {
 public:
  HWY_INLINE ProjectedBlock(const ObservationArrays& observations, const PosedCamera& camera, size_t i)
      : observations_(observations), camera_(camera), at_(i) {
    const D d;
    const V3 rotated =
        Rotate(camera.rotation, {Of(ObservationArrays::kX), Of(ObservationArrays::kY), Of(ObservationArrays::kZ)});
    p = {hn::Add(rotated.x, hn::Set(d, camera.translation[0])), hn::Add(rotated.y, hn::Set(d, camera.translation[1])),
         hn::Add(rotated.z, hn::Set(d, camera.translation[2]))};
    q = Rotate(camera.rig, {hn::Sub(p.x, hn::Set(d, camera.baseline)), p.y, p.z});
    const V focal_length = hn::Set(d, camera.focal_length);
    by_z = hn::Div(focal_length, p.z);
    by_right_z = hn::Div(focal_length, q.z);
    is_stereo = hn::Gt(Of(ObservationArrays::kIsStereo), hn::Zero(d));
    const V left_x = hn::Mul(by_z, p.x);
    const V left_y = hn::Mul(by_z, p.y);
    const auto whitened = [&](V offset, ObservationArrays::Column seen, ObservationArrays::Column error)
                              HWY_ATTR { return hn::Div(hn::Sub(offset, Of(seen)), Of(error)); };
    const auto of_stereo = [&](V v) HWY_ATTR { return hn::IfThenElseZero(is_stereo, v); };
    residual[0] = whitened(hn::Add(left_x, hn::Set(d, camera.centre_x)), ObservationArrays::kLeftX,
                           ObservationArrays::kPositionSigma);
    residual[1] = whitened(hn::Add(left_y, hn::Set(d, camera.centre_y)), ObservationArrays::kLeftY,
                           ObservationArrays::kPositionSigma);
    residual[2] = of_stereo(whitened(hn::Sub(left_x, hn::Mul(by_right_z, q.x)), ObservationArrays::kDisparity,
                                     ObservationArrays::kDisparitySigma));
    residual[3] = of_stereo(whitened(hn::Sub(left_y, hn::Mul(by_right_z, q.y)), ObservationArrays::kVerticalDisparity,
                                     ObservationArrays::kVerticalDisparitySigma));
  }

  HWY_INLINE V Of(ObservationArrays::Column column) const { return hn::LoadU(D(), observations_.column(column) + at_); }

  HWY_INLINE V SquaredResidual() const {
    return Sum(hn::Mul(residual[0], residual[0]), hn::Mul(residual[1], residual[1]), hn::Mul(residual[2], residual[2]),
               hn::Mul(residual[3], residual[3]));
  }

  // Jacobian of the residual by the point: row 0 is (left, 0, slope_x), row 1 is (0, left, slope_y), then those of both
  // disparities.
  struct ByPoint {
    V left, slope_x, slope_y;
    V3 disparity, vertical_disparity;
  };
  HWY_INLINE ByPoint Derivatives() const {
    const D d;
    const V slope_x = hn::Div(hn::Mul(hn::Neg(by_z), p.x), p.z);
    const V slope_y = hn::Div(hn::Mul(hn::Neg(by_z), p.y), p.z);
    const V right_slope_x = hn::Div(hn::Mul(hn::Neg(by_right_z), q.x), q.z);
    const V right_slope_y = hn::Div(hn::Mul(hn::Neg(by_right_z), q.y), q.z);
    const auto right = [&](int row, V slope, int column) HWY_ATTR {
      return hn::Add(hn::Mul(by_right_z, hn::Set(d, camera_.rig[3 * row + column])),
                     hn::Mul(slope, hn::Set(d, camera_.rig[6 + column])));
    };
    const auto both = [&](V left, V by_right, ObservationArrays::Column error_column) HWY_ATTR {
      return hn::IfThenElseZero(is_stereo, hn::Div(hn::Sub(left, by_right), Of(error_column)));
    };
    const V none = hn::Zero(d);
    const V position_sigma = Of(ObservationArrays::kPositionSigma);
    return {hn::Div(by_z, position_sigma),
            hn::Div(slope_x, position_sigma),
            hn::Div(slope_y, position_sigma),
            {both(by_z, right(0, right_slope_x, 0), ObservationArrays::kDisparitySigma),
             both(none, right(0, right_slope_x, 1), ObservationArrays::kDisparitySigma),
             both(slope_x, right(0, right_slope_x, 2), ObservationArrays::kDisparitySigma)},
            {both(none, right(1, right_slope_y, 0), ObservationArrays::kVerticalDisparitySigma),
             both(by_z, right(1, right_slope_y, 1), ObservationArrays::kVerticalDisparitySigma),
             both(slope_y, right(1, right_slope_y, 2), ObservationArrays::kVerticalDisparitySigma)}};
  }

  V3 p, q;  // left and right camera coordinates
  V by_z, by_right_z;
  V residual[4];  // whitened: left x, left y, disparity, vertical disparity
  Mask is_stereo;

 private:
  const ObservationArrays& observations_;
  const PosedCamera& camera_;
  const size_t at_;
};

int Count(const ObservationArrays& observations, const PosedCamera& camera, double loose, double* is_used) {
  const D d;
  size_t count = 0;
  for (size_t i = 0; i < observations.padded(); i += hn::Lanes(d)) {
    const ProjectedBlock s(observations, camera, i);
    const Mask in =
        hn::And(hn::Ge(s.p.z, hn::Set(d, kNearestPoint)),
                hn::Le(s.SquaredResidual(), hn::Mul(hn::Set(d, loose), s.Of(ObservationArrays::kMaxSquaredResidual))));
    if (is_used != nullptr) hn::StoreU(hn::IfThenElseZero(in, hn::Set(d, 1)), d, is_used + i);
    count += hn::CountTrue(d, in);
  }
  return static_cast<int>(count);
}

using BlockTerms = double[kPoseSums][ObservationArrays::kBlock];

// What the observations [i, i + a vector) add to the sums, at their places in the block.
HWY_INLINE void Terms(const ObservationArrays& observations, const PosedCamera& camera, bool robust, size_t i,
                      BlockTerms& terms) {
  const D d;
  const ProjectedBlock s(observations, camera, i);
  V weight = hn::Set(d, 1);
  if (robust) {
    const V norm = hn::Sqrt(s.SquaredResidual());
    weight = hn::IfThenElse(hn::Gt(norm, hn::Set(d, kHuberBound)), hn::Div(hn::Set(d, kHuberBound), norm), weight);
  }
  const ProjectedBlock::ByPoint by = s.Derivatives();
  const auto weighted = [&](const V3& v) HWY_ATTR {
    return V3{hn::Mul(weight, v.x), hn::Mul(weight, v.y), hn::Mul(weight, v.z)};
  };
  const V none = hn::Zero(d);
  const V left = hn::Mul(weight, by.left), slope_x = hn::Mul(weight, by.slope_x), slope_y = hn::Mul(weight, by.slope_y);
  const V3 disparity = weighted(by.disparity), vertical_disparity = weighted(by.vertical_disparity);
  // The weighted derivatives by x, y and z, times a column.
  const auto times = [&](V c0, V c1, V c2, V c3) HWY_ATTR {
    return V3{
        Sum(hn::Mul(left, c0), none, hn::Mul(disparity.x, c2), hn::Mul(vertical_disparity.x, c3)),
        Sum(none, hn::Mul(left, c1), hn::Mul(disparity.y, c2), hn::Mul(vertical_disparity.y, c3)),
        Sum(hn::Mul(slope_x, c0), hn::Mul(slope_y, c1), hn::Mul(disparity.z, c2), hn::Mul(vertical_disparity.z, c3))};
  };
  const V3 pull = times(s.residual[0], s.residual[1], s.residual[2], s.residual[3]);
  const V3 n[3] = {times(by.left, none, by.disparity.x, by.vertical_disparity.x),
                   times(none, by.left, by.disparity.y, by.vertical_disparity.y),
                   times(by.slope_x, by.slope_y, by.disparity.z, by.vertical_disparity.z)};  // columns

  // Jacobian of the point by a left increment (rotation, translation): (-[p]x, I).
  const auto [x, y, z] = s.p;
  V3 cross[3];  // [p]x n, columns
  for (int c = 0; c < 3; ++c) {
    cross[c] = {hn::Sub(hn::Mul(y, n[c].z), hn::Mul(z, n[c].y)), hn::Sub(hn::Mul(z, n[c].x), hn::Mul(x, n[c].z)),
                hn::Sub(hn::Mul(x, n[c].y), hn::Mul(y, n[c].x))};
  }
  const Mask is_used =
      hn::And(hn::Gt(s.Of(ObservationArrays::kIsUsed), none), hn::Not(hn::Lt(s.p.z, hn::Set(d, kNearestPoint))));
  const size_t place = i % ObservationArrays::kBlock;
  size_t sum = 0;
  const auto put = [&](V v) HWY_ATTR { hn::StoreU(hn::IfThenElseZero(is_used, v), d, terms[sum++] + place); };
  put(hn::Sub(hn::Mul(cross[2].x, y), hn::Mul(cross[1].x, z)));
  put(hn::Sub(hn::Mul(cross[2].y, y), hn::Mul(cross[1].y, z)));
  put(hn::Sub(hn::Mul(cross[0].y, z), hn::Mul(cross[2].y, x)));
  put(hn::Sub(hn::Mul(cross[2].z, y), hn::Mul(cross[1].z, z)));
  put(hn::Sub(hn::Mul(cross[0].z, z), hn::Mul(cross[2].z, x)));
  put(hn::Sub(hn::Mul(cross[1].z, x), hn::Mul(cross[0].z, y)));
  put(cross[0].x), put(cross[0].y), put(cross[0].z), put(n[0].x);
  put(cross[1].x), put(cross[1].y), put(cross[1].z), put(n[0].y), put(n[1].y);
  put(cross[2].x), put(cross[2].y), put(cross[2].z), put(n[0].z), put(n[1].z), put(n[2].z);
  put(hn::Sub(hn::Mul(y, pull.z), hn::Mul(z, pull.y)));
  put(hn::Sub(hn::Mul(z, pull.x), hn::Mul(x, pull.z)));
  put(hn::Sub(hn::Mul(x, pull.y), hn::Mul(y, pull.x)));
  put(pull.x), put(pull.y), put(pull.z);
}

void Add(const ObservationArrays& observations, const PosedCamera& camera, bool robust, PoseSums* sums) {
  constexpr size_t kAtOnce = 9;  // sums that stay in registers
  static_assert(kPoseSums % kAtOnce == 0, "whole groups");
  HWY_ALIGN BlockTerms terms;
  sums->fill(0);
  for (size_t block = 0; block < observations.padded(); block += ObservationArrays::kBlock) {
    for (size_t i = 0; i < ObservationArrays::kBlock; i += hn::Lanes(D())) {
      Terms(observations, camera, robust, block + i, terms);
    }
    for (size_t first = 0; first < kPoseSums; first += kAtOnce) {
      double sum[kAtOnce];
      for (size_t s = 0; s < kAtOnce; ++s) sum[s] = (*sums)[first + s];
      for (size_t i = 0; i < ObservationArrays::kBlock; ++i) {
        for (size_t s = 0; s < kAtOnce; ++s) sum[s] += terms[first + s][i];
      }
      for (size_t s = 0; s < kAtOnce; ++s) (*sums)[first + s] = sum[s];
    }
  }
}

void AddReprojectionKernels(ReprojectionKernels* kernels) { *kernels = {&Count, &Add}; }

}  // namespace glint::slam::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::slam {
HWY_EXPORT(AddReprojectionKernels);

ReprojectionKernels ReprojectionKernelsFor(int64_t target) {
  ReprojectionKernels kernels;
  HWY_DISPATCH_TABLE(AddReprojectionKernels)[GLINT_CPU_TABLE_INDEX(target)](&kernels);
  return kernels;
}

void ObservationArrays::Assign(const std::vector<Correspondence>& correspondences) {
  padded_ = (correspondences.size() + kBlock - 1) / kBlock * kBlock;
  values_.assign(kColumns * padded_, 0.0);
  for (size_t i = 0; i < padded_; ++i) {
    const auto put = [&](Column c, double value) { values_[c * padded_ + i] = value; };
    if (i >= correspondences.size()) {
      put(kMaxSquaredResidual, -1);
      continue;
    }
    const Correspondence& s = correspondences[i];
    put(kX, s.point.x());
    put(kY, s.point.y());
    put(kZ, s.point.z());
    put(kLeftX, s.observation.pixel.left.x());
    put(kLeftY, s.observation.pixel.left.y());
    put(kDisparity, s.observation.pixel.disparity);
    put(kVerticalDisparity, s.observation.pixel.vertical_disparity);
    put(kPositionSigma, s.observation.position_sigma);
    put(kDisparitySigma, s.observation.disparity_sigma);
    put(kVerticalDisparitySigma, s.observation.vertical_disparity_sigma);
    put(kIsStereo, s.observation.is_stereo ? 1 : 0);
    put(kMaxSquaredResidual, MaxSquaredResidual(s.observation));
    put(kIsUsed, 1);
  }
}

PosedCamera::PosedCamera(const StereoCamera& camera, const Pose& camera_from_world)
    : focal_length(camera.focal_length),
      centre_x(camera.centre_x),
      centre_y(camera.centre_y),
      baseline(camera.baseline) {
  using Rows = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
  Eigen::Map<Rows>(static_cast<double*>(rig)) = RotationOf(camera.rig_rotation).toRotationMatrix();
  Eigen::Map<Rows>(static_cast<double*>(rotation)) = camera_from_world.rotation.toRotationMatrix();
  Eigen::Map<Eigen::Vector3d>(static_cast<double*>(translation)) = camera_from_world.translation;
}

}  // namespace glint::slam
#endif
