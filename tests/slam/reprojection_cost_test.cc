// The analytic derivatives of bundle adjustment beside differences of its errors.
#include "tests/slam/reprojection_cost.h"

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "gtest/gtest.h"

namespace glint::slam {
namespace {

TEST(ReprojectionCost, HasTheDerivativesOfItsErrors) {
  const StereoCamera camera{{640, 480}, 500, 320, 240, 0.2, Eigen::Vector3d::Zero()};
  Observation observation;
  observation.pixel = {{300, 200}, 12, 0.5};
  observation.is_stereo = true;
  observation.position_sigma = 0.7;
  observation.disparity_sigma = 0.25;
  observation.vertical_disparity_sigma = 0.3;
  const PositionCost position(&camera, &observation);
  const DisparityCost disparity(&camera, &observation);
  const Eigen::Vector4d turn = Eigen::Vector4d(0.1, -0.2, 0.05, 0.97).normalized();
  std::vector<std::vector<double>> values{
      {turn.data(), turn.data() + 4}, {0.3, -0.1, 0.4}, {0.5, -0.7, 6}, {0.004, -0.006, 0.003}};
  for (const ceres::CostFunction* cost : std::vector<const ceres::CostFunction*>{&position, &disparity}) {
    const size_t blocks = cost->parameter_block_sizes().size();
    std::vector<const double*> parameters;
    std::array<std::array<double, 8>, 4> rows{};
    std::vector<double*> jacobians;
    for (size_t b = 0; b < blocks; ++b) {
      parameters.push_back(values[b].data());
      jacobians.push_back(rows[b].data());
    }
    Eigen::Vector2d error;
    ASSERT_TRUE(cost->Evaluate(parameters.data(), error.data(), jacobians.data()));
    for (size_t b = 0; b < blocks; ++b) {
      for (size_t i = 0; i < values[b].size(); ++i) {
        constexpr double kStep = 1e-6;
        const double before = values[b][i];
        Eigen::Vector2d above, below;
        values[b][i] = before + kStep;
        ASSERT_TRUE(cost->Evaluate(parameters.data(), above.data(), nullptr));
        values[b][i] = before - kStep;
        ASSERT_TRUE(cost->Evaluate(parameters.data(), below.data(), nullptr));
        values[b][i] = before;
        for (size_t row = 0; row < 2; ++row) {
          const double expected =
              (above[static_cast<Eigen::Index>(row)] - below[static_cast<Eigen::Index>(row)]) / (2 * kStep);
          EXPECT_NEAR(rows[b][row * values[b].size() + i], expected, 1e-4 * (1 + std::abs(expected)))
              << "block " << b << ", value " << i << ", row " << row;
        }
      }
    }
    values[2][2] = -6;
    EXPECT_FALSE(cost->Evaluate(parameters.data(), error.data(), nullptr));
    values[2][2] = 6;
  }
}

}  // namespace
}  // namespace glint::slam
