// What fitting a pose takes of all observations at once, in vectors: one table of functions for each SIMD target. The
// order of every sum is written down here, so that sums have the same bytes on each target. Internal to the pose
// solver; tests run each target. The functions allocate nothing and are pure: thread-safe.
#ifndef GLINT_SLAM_ESTIMATE_REPROJECTION_KERNELS_H_
#define GLINT_SLAM_ESTIMATE_REPROJECTION_KERNELS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "slam/estimate/local_map.h"
#include "slam/geometry/pose.h"
#include "slam/geometry/stereo_camera.h"

namespace glint::slam {

// Correspondences as one array for each of their numbers, padded to whole blocks with observations that count for
// nothing.
class ObservationArrays {
 public:
  static constexpr size_t kBlock = 16;
  enum Column {
    kX,  // the point, world coordinates
    kY,
    kZ,
    kLeftX,  // what is seen of it, and its standard deviations
    kLeftY,
    kDisparity,
    kVerticalDisparity,
    kPositionSigma,
    kDisparitySigma,
    kVerticalDisparitySigma,
    kIsStereo,            // 1 or 0
    kMaxSquaredResidual,  // MaxSquaredResidual()
    kIsUsed,              // 1 or 0: takes part in sums; 1 to begin with
    kColumns
  };
  // Memory is kept from call to call.
  void Assign(const std::vector<Correspondence>& correspondences);

  size_t padded() const { return padded_; }
  const double* column(Column c) const { return values_.data() + c * padded_; }
  double* is_used() { return values_.data() + kIsUsed * padded_; }

 private:
  size_t padded_ = 0;
  std::vector<double> values_;
};

// A stereo camera at a pose; matrices row by row.
struct PosedCamera {
  PosedCamera(const StereoCamera& camera, const Pose& camera_from_world);
  double focal_length, centre_x, centre_y, baseline;
  double rig[9], rotation[9], translation[3];
};

// The normal equations of a left increment (rotation, translation) of the pose: the lower triangle of the Hessian row
// by row, then the gradient.
inline constexpr size_t kHessianSums = 21, kPoseSums = 27;
using PoseSums = std::array<double, kPoseSums>;

struct ReprojectionKernels {
  // Correspondences whose squared error (ReprojectionModel::Residual) is at most `loose` times the largest. `is_used`,
  // if not null, gets 1 or 0 for each.
  int (*count)(const ObservationArrays& observations, const PosedCamera& camera, double loose, double* is_used);
  // Adds up those that are used, in their order; with `robust` those beyond Huber's bound count for less.
  void (*add)(const ObservationArrays& observations, const PosedCamera& camera, bool robust, PoseSums* sums);
};

// `target`: one of cpu::SimdTargets().
ReprojectionKernels ReprojectionKernelsFor(int64_t target);

}  // namespace glint::slam

#endif  // GLINT_SLAM_ESTIMATE_REPROJECTION_KERNELS_H_
