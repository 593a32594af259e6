// The sums that a pose is fitted with: the same bytes on every SIMD target, and what the observation model says.
#include "slam/estimate/reprojection_kernels.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "cpu/common/stages.h"
#include "slam/estimate/reprojection_model.h"

namespace glint::slam {
namespace {

using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Vector6 = Eigen::Matrix<double, 6, 1>;

StereoCamera Camera() {
  StereoCamera camera;
  camera.image = {752, 480};
  camera.focal_length = 458;
  camera.centre_x = 375;
  camera.centre_y = 239;
  camera.baseline = 0.11;
  camera.rig_rotation = {1e-3, -2e-3, 5e-4};
  return camera;
}

Pose CameraFromWorld() { return {RotationOf({0.1, -0.3, 0.05}), {0.2, -0.1, 0.3}}; }

// Every third is of one eye, every seventh is false, every eleventh behind the camera.
std::vector<Correspondence> Correspondences(int count) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> share(-1, 1);
  std::vector<Correspondence> correspondences;
  for (int i = 0; i < count; ++i) {
    Correspondence s;
    const double z = i % 11 == 10 ? -2 : 6 + 4 * share(random);
    const Eigen::Vector3d p(3 * share(random), 2 * share(random), z);
    s.point = CameraFromWorld().Inverse() * p;
    s.observation.pixel = Project(Camera(), p);
    const double off = i % 7 == 6 ? 20 : 0.5;
    s.observation.pixel.left += off * Eigen::Vector2d(share(random), share(random));
    s.observation.pixel.disparity += 0.2 * share(random);
    s.observation.pixel.vertical_disparity += 0.2 * share(random);
    s.observation.is_stereo = i % 3 != 2;
    s.observation.position_sigma = i % 2 == 0 ? 0.25 : 0.84;
    s.observation.disparity_sigma = 0.25;
    s.observation.vertical_disparity_sigma = 0.3;
    correspondences.push_back(s);
  }
  return correspondences;
}

struct Result {
  int count = 0;
  std::vector<double> is_used;
  PoseSums all{}, robust{}, used{};  // of all correspondences, likewise, and of those that were counted
};

Result On(int64_t target, const std::vector<Correspondence>& correspondences) {
  const ReprojectionKernels kernels = ReprojectionKernelsFor(target);
  const PosedCamera camera(Camera(), CameraFromWorld());
  ObservationArrays columns;
  columns.Assign(correspondences);
  Result result;
  kernels.add(columns, camera, false, &result.all);
  kernels.add(columns, camera, true, &result.robust);
  result.count = kernels.count(columns, camera, 1, columns.is_used());
  const double* const is_used = columns.column(ObservationArrays::kIsUsed);
  result.is_used.assign(is_used, is_used + columns.padded());
  kernels.add(columns, camera, false, &result.used);
  return result;
}

// By the observation model, one after the other.
void ExpectSums(const std::vector<Correspondence>& correspondences, bool robust, const std::vector<double>* is_used,
                const PoseSums& sums) {
  const ReprojectionModel model(Camera());
  Matrix6 h = Matrix6::Zero();
  Vector6 g = Vector6::Zero();
  for (size_t i = 0; i < correspondences.size(); ++i) {
    const Eigen::Vector3d p = CameraFromWorld() * correspondences[i].point;
    if (p.z() < 0.05 || (is_used != nullptr && (*is_used)[i] == 0)) continue;
    const Eigen::Vector4d error = model.Residual(p, correspondences[i].observation);
    const double weight = robust && error.norm() > 2 ? 2 / error.norm() : 1;
    const Rows43 by_point = model.JacobianByPoint(p, correspondences[i].observation);
    const Eigen::Vector3d pull = weight * by_point.transpose() * error;
    h += MotionNormal(p, weight * by_point.transpose() * by_point).hessian;
    g.head<3>() += p.cross(pull);
    g.tail<3>() += pull;
  }
  size_t at = 0;
  for (int row = 0; row < 6; ++row) {
    for (int column = 0; column <= row; ++column) {
      EXPECT_NEAR(sums[at++], h(row, column), 1e-12 * h.norm()) << row << " " << column;
    }
  }
  for (int row = 0; row < 6; ++row) EXPECT_NEAR(sums[at++], g[row], 1e-12 * h.norm()) << row;
}

TEST(ReprojectionKernels, AddUpWhatTheModelSays) {
  for (const int count : {0, 1, 15, 16, 17, 200}) {
    SCOPED_TRACE(count);
    const std::vector<Correspondence> correspondences = Correspondences(count);
    const Result result = On(cpu::BestSimdTarget(), correspondences);
    ExpectSums(correspondences, false, nullptr, result.all);
    ExpectSums(correspondences, true, nullptr, result.robust);
    ExpectSums(correspondences, false, &result.is_used, result.used);
  }
}

TEST(ReprojectionKernels, CountWhatFits) {
  const std::vector<Correspondence> correspondences = Correspondences(200);
  const Result result = On(cpu::BestSimdTarget(), correspondences);
  const ReprojectionModel model(Camera());
  int expected = 0;
  for (size_t i = 0; i < correspondences.size(); ++i) {
    const Eigen::Vector3d p = CameraFromWorld() * correspondences[i].point;
    const bool fits = p.z() > 0 && model.Residual(p, correspondences[i].observation).squaredNorm() <=
                                       MaxSquaredResidual(correspondences[i].observation);
    EXPECT_EQ(result.is_used[i], fits ? 1 : 0) << i;
    expected += fits ? 1 : 0;
  }
  EXPECT_EQ(result.count, expected);
  EXPECT_GT(expected, 50);
  EXPECT_LT(expected, 180);
  for (size_t i = correspondences.size(); i < result.is_used.size(); ++i) EXPECT_EQ(result.is_used[i], 0);  // padding
}

TEST(ReprojectionKernels, GiveTheSameBytesOnEveryTarget) {
  const std::vector<Correspondence> correspondences = Correspondences(333);
  const Result best = On(cpu::BestSimdTarget(), correspondences);
  for (const int64_t target : cpu::SimdTargets()) {
    SCOPED_TRACE(cpu::SimdTargetName(target));
    const Result result = On(target, correspondences);
    EXPECT_EQ(result.count, best.count);
    EXPECT_EQ(result.is_used, best.is_used);
    EXPECT_EQ(std::memcmp(&result.all, &best.all, sizeof(PoseSums)), 0);
    EXPECT_EQ(std::memcmp(&result.robust, &best.robust, sizeof(PoseSums)), 0);
    EXPECT_EQ(std::memcmp(&result.used, &best.used, sizeof(PoseSums)), 0);
  }
}

}  // namespace
}  // namespace glint::slam
