// The pose of a camera from 2D-3D correspondences: by RANSAC without a prior, and refined by Gauss-Newton.
#ifndef GLINT_SLAM_ESTIMATE_POSE_SOLVER_H_
#define GLINT_SLAM_ESTIMATE_POSE_SOLVER_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "slam/estimate/local_map.h"
#include "slam/estimate/reprojection_kernels.h"
#include "slam/geometry/pose.h"
#include "slam/geometry/stereo_camera.h"

namespace glint::slam {

// What is known of a pose beside observations.
struct PosePrior {
  Pose camera_from_world;
  Eigen::Matrix<double, 6, 6> covariance;  // of a left increment, as that of PoseFit; positive definite
};

struct PoseFit {
  int inliers = 0;
  std::vector<uint8_t> is_inlier;  // of each correspondence
  // Covariance of a left increment (rotation, translation) of camera_from_world; radians and metres.
  Eigen::Matrix<double, 6, 6> covariance = Eigen::Matrix<double, 6, 6>::Zero();
  // The pose and its covariance by the inliers alone, to first order, where there was a prior; else the same.
  Pose measured;
  Eigen::Matrix<double, 6, 6> measured_covariance = Eigen::Matrix<double, 6, 6>::Zero();
};

// Keeps its memory from call to call. Not thread-safe: one for each thread.
class PoseSolver {
 public:
  PoseSolver();

  // Four rounds of Gauss-Newton from `camera_from_world`, with Huber weights in the first two; between rounds,
  // observations beyond MaxSquaredResidual are set aside or taken back. The sum is in the order of `observations`.
  // `prior` may be null.
  void Refine(const StereoCamera& camera, const std::vector<Correspondence>& correspondences, Pose* camera_from_world,
              PoseFit* fit, const PosePrior* prior = nullptr);
  // Likewise from a pose of Find(): only the observations that agree with it are used at first. Most of them may be
  // wrong, and would pull it away together.
  void RefineFound(const StereoCamera& camera, const std::vector<Correspondence>& correspondences,
                   Pose* camera_from_world, PoseFit* fit, const PosePrior* prior = nullptr);

  // RANSAC with a fixed seed: each hypothesis puts three points that both cameras see upon their triangulated
  // positions, and then upon their pixels; the better ones are fitted to all that agrees with them (as LO-RANSAC: Chum,
  // Matas and Kittler, 2003). 300 hypotheses, up to 3000 where few points agree. False if no hypothesis has
  // `min_inliers`.
  bool Find(const StereoCamera& camera, const std::vector<Correspondence>& correspondences, int min_inliers,
            Pose* camera_from_world);

 private:
  const ReprojectionKernels kernels_;
  // A few steps of Gauss-Newton. False: one was not finite, and the pose is that before it.
  bool Descend(const StereoCamera& camera, const ObservationArrays& observations, bool robust, Pose* camera_from_world);
  // Fits a hypothesis to the `agreeing` observations that agree with it, again while they become more; returns how
  // many do.
  int FitToAgreeing(const StereoCamera& camera, int agreeing, Pose* camera_from_world);
  // Refine() of observations_, of which there are `count`.
  void RefineAssigned(const StereoCamera& camera, size_t count, Pose* camera_from_world, PoseFit* fit,
                      const PosePrior* prior);

  ObservationArrays observations_, hypothesis_;
  std::vector<Correspondence> three_;
  std::vector<size_t> usable_;
  std::vector<Eigen::Vector3d> seen_;  // camera coordinates
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_ESTIMATE_POSE_SOLVER_H_
