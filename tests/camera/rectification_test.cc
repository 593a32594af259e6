// Rectified pairs and their tables, without OpenCV.
#include "features/camera/rectification.h"

#include <Eigen/Geometry>
#include <random>

#include "features/reference/remap.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/camera/test_cameras.h"

namespace glint {
namespace {

using ::testing::HasSubstr;

Camera PinholeOf(Shape image, double focal_length) {
  return {CameraModel::kPinhole,    image, focal_length, focal_length, (image.width - 1) / 2.0,
          (image.height - 1) / 2.0, {}};
}

// The position of an entry in the source.
Eigen::Vector2d PositionOf(const RemapTable::Entry& at) {
  return {at.x + at.fraction_x / 32.0, at.y + at.fraction_y / 32.0};
}

class EachModel : public testing::TestWithParam<TestCamera> {};
INSTANTIATE_TEST_SUITE_P(Models, EachModel, testing::ValuesIn(TestCameras()),
                         [](const auto& test) { return test.param.name; });

// A point before both cameras lies in one row of both rectified images, at depth * disparity = focal length * baseline.
TEST_P(EachModel, BringsPointsIntoOneRow) {
  const Camera left = GetParam().camera();
  Camera right = left;
  right.cx += 3.5;
  right.cy -= 2;
  right.fx *= 1.01;
  const RigidTransform right_from_left = Turned(0.02, -0.03, 0.01, {-0.12, 0.004, 0.002});
  const auto pair = RectifyPair(left, right, right_from_left, {});
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_NEAR(pair->baseline, right_from_left.translation.norm(), 1e-12);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int i = 0; i < 500; ++i) {
    const Eigen::Vector3d point(0.5 * unit(random), 0.4 * unit(random), 1.5 + unit(random));
    Eigen::Vector2d at_left, at_right;
    ASSERT_TRUE(Project(pair->camera, pair->rectified_from_left * point, &at_left));
    ASSERT_TRUE(Project(pair->camera, pair->rectified_from_right * (right_from_left * point), &at_right));
    EXPECT_NEAR(at_left.y(), at_right.y(), 1e-9);
    const double depth = (pair->rectified_from_left * point).z();
    EXPECT_NEAR((at_left.x() - at_right.x()) * depth, pair->camera.fx * pair->baseline, 1e-9);
  }
}

// The table says where the lens sees each pixel, to half of 1/32 pixel, and each pixel has a source.
TEST_P(EachModel, FillsTheImage) {
  const Camera left = GetParam().camera();
  const auto pair = RectifyPair(left, left, Turned(0, 0.02, 0, {-0.1, 0, 0}), {});
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->uncovered, 0);
  EXPECT_LE(2 * std::atan(376 / pair->camera.fx), 120.001 * M_PI / 180);
  const RemapTable table = MakeRemapTable(left, pair->rectified_from_left, pair->camera);
  ASSERT_EQ(table.entries.size(), 752 * 480);
  for (int y = 0; y < 480; y += 7) {
    for (int x = 0; x < 752; x += 7) {
      Eigen::Vector3d ray;
      Eigen::Vector2d pixel;
      ASSERT_TRUE(Unproject(pair->camera, {x, y}, &ray));
      ASSERT_TRUE(Project(left, pair->rectified_from_left.transpose() * ray, &pixel));
      EXPECT_LE((PositionOf(table.row(y)[x]) - pixel).cwiseAbs().maxCoeff(), 1 / 64.0 + 1e-9);
    }
  }
}

TEST(Remap, OfNoLensIsTheImage) {
  Image image(37, 23);
  std::mt19937 random(1);
  for (int y = 0; y < 23; ++y) {
    for (int x = 0; x < 37; ++x) image.row(y)[x] = static_cast<uint8_t>(random());
  }
  const Camera camera = PinholeOf({37, 23}, 40);
  Camera shifted = camera;
  shifted.cx += 0.5;  // half a pixel to the right
  Image same, half;
  reference::Remap(image, MakeRemapTable(camera, Eigen::Matrix3d::Identity(), camera), &same);
  reference::Remap(image, MakeRemapTable(camera, Eigen::Matrix3d::Identity(), shifted), &half);
  for (int y = 0; y < 23; ++y) {
    for (int x = 0; x < 37; ++x) {
      EXPECT_EQ(same.row(y)[x], image.row(y)[x]);
      EXPECT_EQ(half.row(y)[x], ((x > 0 ? image.row(y)[x - 1] : 0) + image.row(y)[x] + 1) / 2);  // 0 beyond the border
    }
  }
}

TEST(MakeRemapTable, KnowsWhatTheLensDoesNotSee) {
  const Camera fisheye = {CameraModel::kKannalaBrandt, {64, 64}, 20, 20, 31.5, 31.5, {-0.1}};  // up to 104 degrees
  const Camera pinhole = {CameraModel::kPinhole, {64, 64}, 60, 60, 31.5, 31.5, {}};            // below 90
  const Camera view = PinholeOf({8, 8}, 4);
  const auto nowhere = [](const RemapTable& table) {
    return std::count_if(table.entries.begin(), table.entries.end(), [](const auto& at) {
      return at.x == RemapTable::kNowhere && at.y == RemapTable::kNowhere && at.fraction_x == 0 && at.fraction_y == 0;
    });
  };
  const Eigen::Matrix3d aside = Turned(0, M_PI / 2, 0, {}).rotation;
  EXPECT_EQ(nowhere(MakeRemapTable(pinhole, aside, view)), 32);  // half of it lies behind the camera
  EXPECT_EQ(nowhere(MakeRemapTable(pinhole, aside * aside, view)), 64);
  EXPECT_EQ(nowhere(MakeRemapTable(fisheye, aside * aside, view)), 64);
  EXPECT_THAT(nowhere(MakeRemapTable(fisheye, aside, view)), testing::AllOf(testing::Gt(0), testing::Lt(32)));
  Camera far_away = pinhole;
  far_away.fx = 640000;  // to where 16 bits do not reach
  EXPECT_EQ(nowhere(MakeRemapTable(far_away, Eigen::Matrix3d::Identity(), view)), 64);
}

TEST(RectifyPair, OfEuroc) {
  const auto pair = RectifyPair(EurocLeft(), EurocRight(), EurocRightFromLeft(), {});
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_NEAR(pair->baseline, 0.11007, 1e-5);
  EXPECT_EQ(pair->uncovered, 0);
  EXPECT_GT(pair->camera.fx, 410);
  EXPECT_LT(pair->camera.fx, 470);
}

TEST(RectifyPair, TakesSizeAndFocalLength) {
  RectifyOptions options;
  options.image = {376, 240};
  auto pair = RectifyPair(EurocLeft(), EurocRight(), EurocRightFromLeft(), options);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->camera.image, (Shape{376, 240}));
  const double fills = pair->camera.fx;
  options.focal_length = fills * 0.9;
  pair = RectifyPair(EurocLeft(), EurocRight(), EurocRightFromLeft(), options);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->camera.fx, options.focal_length);
  EXPECT_THAT(pair->uncovered, testing::AllOf(testing::Gt(0.01), testing::Lt(0.25)));
  options.focal_length = fills * 1.1;
  EXPECT_EQ(RectifyPair(EurocLeft(), EurocRight(), EurocRightFromLeft(), options)->uncovered, 0);
}

TEST(RectifyPair, KeepsToTheWidestField) {
  const Camera fisheye = TestCameras()[5].camera();
  for (const double field : {60.0, 90.0, 100.0}) {
    RectifyOptions options;
    options.max_field = field;
    const auto pair = RectifyPair(fisheye, fisheye, Turned(0, 0, 0, {-0.1, 0, 0}), options);
    ASSERT_TRUE(pair.ok()) << pair.status();
    EXPECT_NEAR(2 * std::atan(376 / pair->camera.fx), field * M_PI / 180, 1e-9);
  }
}

TEST(RectifyPair, SaysWhatCannotBe) {
  const auto error = [](const RigidTransform& right_from_left, RectifyOptions options = {}) {
    const auto pair = RectifyPair(EurocLeft(), EurocRight(), right_from_left, options);
    EXPECT_EQ(pair.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(pair.status().message());
  };
  EXPECT_THAT(error(EurocRightFromLeft().Inverse()), HasSubstr("to its left: the cameras are exchanged, or the"));
  EXPECT_THAT(error(Turned(0, 0, 0, {0.01, -0.1, 0})), HasSubstr("not beside it"));
  EXPECT_THAT(error(Turned(0, 0, 0, {-0.01, 0, 0.1})), HasSubstr("not beside it"));
  EXPECT_THAT(error({}), HasSubstr("right_from_left.translation: 0 is not in 0.0001..10000"));
  EXPECT_THAT(error(Turned(0, 0, 0, {-std::nan(""), 0, 0})), HasSubstr("right_from_left.translation: nan"));
  EXPECT_THAT(error(Turned(0, 1.9, 0, Turned(0, 0.95, 0, {}).rotation * Eigen::Vector3d(-0.1, 0, 0))),
              HasSubstr("right_from_left.rotation: the cameras do not see"));
  RigidTransform skewed = EurocRightFromLeft();
  skewed.rotation(0, 1) += 0.1;
  EXPECT_THAT(error(skewed), HasSubstr("right_from_left.rotation: is not a rotation"));
  EXPECT_THAT(error(EurocRightFromLeft(), {{0, 10}}), HasSubstr("image.width: 0 is not in 1..16384"));
  EXPECT_THAT(error(EurocRightFromLeft(), {{}, 1}), HasSubstr("focal_length: 1 is not in 75.2..7520"));
  EXPECT_THAT(error(EurocRightFromLeft(), {{}, 0, 151}), HasSubstr("max_field: 151 is not in 10..150"));
  EXPECT_THAT(error(EurocRightFromLeft(), {{}, 100}), HasSubstr("focal_length: 100 leaves"));
  Camera right = EurocRight();
  right.fx = 0;
  EXPECT_THAT(std::string(RectifyPair(EurocLeft(), right, EurocRightFromLeft(), {}).status().message()),
              HasSubstr("right.fx: 0 is not in"));
}

}  // namespace
}  // namespace glint
