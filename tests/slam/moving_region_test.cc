// Where in the picture something moves, and that keypoints are looked for beside it.
#include "slam/odometry/moving_region.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/slam/point_world.h"

namespace glint::slam {
namespace {

constexpr double kDistance = 8, kSpeed = 1.2;  // of the board before the camera, metres; of both, metres a pair
constexpr Shape kShape{800, 400};

// Remembers the masks that it is given.
class MaskedWorld final : public PointWorld {
 public:
  using PointWorld::PointWorld;
  absl::Status FindAgain(const PixelPair& pair, StereoFrame* frame) override {
    left_mask_ = Image::CopyOf(pair.left_mask.view);
    right_mask_ = Image::CopyOf(pair.right_mask.view);
    return Find(pair, frame);
  }
  Image left_mask_, right_mask_;
};

// A camera that drives after a board, which goes to the right by `aside` metres a pair.
class MovingRegionTest : public testing::Test {
 protected:
  MovingRegionTest() {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (int i = 0; i < 300; ++i) board_.emplace_back(1.5 * uniform(random), 1.2 * uniform(random), kDistance);
  }
  StereoFrame See(int pair, double aside) {
    std::vector<Eigen::Vector3d> at = board_;
    for (Eigen::Vector3d& p : at) p += Eigen::Vector3d(aside * pair, 0, kSpeed * pair);
    world_.PutThing(at);
    world_.Look({Eigen::Quaterniond::Identity(), {0, 0, kSpeed * pair}});
    StereoFrame frame;
    EXPECT_TRUE(world_.Find({}, &frame).ok());
    return frame;
  }
  void Observe(double aside) {
    const StereoFrame before = See(0, aside);
    region_.Observe(camera_, before, See(1, aside), {Eigen::Quaterniond::Identity(), {0, 0, -kSpeed}}, {});
  }
  // Finds outside the region.
  StereoFrame Find(const ImageView& left_mask = {}) {
    StereoFrame frame;
    EXPECT_TRUE(region_.FindOutside({picture_, picture_, {}, left_mask}, camera_, &frame).ok());
    return frame;
  }
  // Where the board's middle is, pixels.
  double ColumnOf(double x) const { return camera_.centre_x + camera_.focal_length * x / kDistance; }
  static bool IsMasked(const Image& mask, double column) { return mask.row(196)[static_cast<int>(column)] == 0; }

  const StereoCamera camera_ = CameraOfTest();
  const Image picture_{kShape.width, kShape.height};
  std::vector<Eigen::Vector3d> board_;
  MaskedWorld world_{camera_, 60, /*seed=*/1};
  MovingRegion region_{camera_, {}, &world_};
};

TEST_F(MovingRegionTest, LeavesOutABoardInBothImages) {
  Observe(/*aside=*/0);
  ASSERT_FALSE(region_.empty());
  EXPECT_GT(region_.keypoints(), 200);
  const double disparity = camera_.focal_length * camera_.baseline / kDistance;
  const StereoFrame beside = Find();
  EXPECT_GT(beside.left.count(), 50U);
  for (size_t i = 0; i < beside.left.count(); ++i) {
    EXPECT_FALSE(std::abs(beside.left.x[i] - camera_.centre_x) < 60 &&
                 std::abs(beside.left.y[i] - camera_.centre_y) < 40);
  }
  for (const double x : {-1.0, 0.0, 1.0}) {
    EXPECT_TRUE(IsMasked(world_.left_mask_, ColumnOf(x))) << x;
    EXPECT_TRUE(IsMasked(world_.right_mask_, ColumnOf(x) - disparity)) << x;
  }
  // A cell and its neighbours are 75 pixels.
  EXPECT_FALSE(IsMasked(world_.left_mask_, ColumnOf(1.5) + 80));
  EXPECT_FALSE(IsMasked(world_.left_mask_, ColumnOf(-1.5) - 80));
  EXPECT_FALSE(IsMasked(world_.right_mask_, ColumnOf(1.5) - disparity + 80));
}

TEST_F(MovingRegionTest, IsWhereTheBoardWillBeAndGoesOn) {
  Observe(/*aside=*/0.9);
  Find();
  EXPECT_TRUE(IsMasked(world_.left_mask_, ColumnOf(1.8 + 1.4)));
  EXPECT_FALSE(IsMasked(world_.left_mask_, ColumnOf(1.8 - 1.5) - 80));
  region_.Advance();
  Find();
  EXPECT_TRUE(IsMasked(world_.left_mask_, ColumnOf(2.7 + 1.4)));
  EXPECT_FALSE(IsMasked(world_.left_mask_, ColumnOf(2.7 - 1.5) - 80));
}

TEST_F(MovingRegionTest, KeepsTheMaskThatIsGiven) {
  Observe(/*aside=*/0);
  Image mask(kShape.width, kShape.height);
  for (int y = 0; y < kShape.height; ++y) std::fill_n(mask.row(y), kShape.width, y < 20 ? 0 : 1);
  Find(mask.view());
  EXPECT_EQ(world_.left_mask_.row(10)[5], 0);
  EXPECT_EQ(world_.left_mask_.row(30)[5], 1);
  EXPECT_TRUE(IsMasked(world_.left_mask_, ColumnOf(0)));
  EXPECT_EQ(world_.right_mask_.row(10)[5], 255);
}

TEST_F(MovingRegionTest, IsEmptyWhereNothingMoves) {
  board_.clear();
  Observe(/*aside=*/0);
  EXPECT_TRUE(region_.empty());
  EXPECT_EQ(region_.keypoints(), 0);
}

// A motion that is wrong by little is no thing: depths are not exact.
TEST_F(MovingRegionTest, IsEmptyWhereTheMotionIsSlightlyWrong) {
  board_.clear();
  const StereoFrame before = See(0, 0);
  region_.Observe(camera_, before, See(1, 0), {Eigen::Quaterniond::Identity(), {0.02, 0, -kSpeed}}, {});
  EXPECT_TRUE(region_.empty());
}

TEST_F(MovingRegionTest, Clears) {
  Observe(/*aside=*/0);
  region_.Clear();
  EXPECT_TRUE(region_.empty());
  EXPECT_EQ(region_.keypoints(), 0);
}

}  // namespace
}  // namespace glint::slam
