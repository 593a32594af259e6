// Depths as disparities: the rule at planes, edges, holes and limits, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "features/options.h"
#include "slam/front_end/calibration_watch.h"
#include "slam/front_end/depth_rules.h"
#include "slam/front_end/lane_front_end.h"
#include "slam/localizer.h"
#include "tests/slam/is_warning.h"

namespace glint::slam {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Shape kShape = {64, 48};

StereoCamera Camera() {
  StereoCamera camera;
  camera.image = kShape;
  camera.focal_length = 50;
  camera.centre_x = 31.5;
  camera.centre_y = 23.5;
  camera.baseline = 0.1;
  return camera;
}

// Samples of a millimetre, with two bytes between rows and an odd address.
class Depths {
 public:
  explicit Depths(const std::function<int(int, int)>& at, Shape shape = kShape)
      : shape_(shape), stride_(2 * shape.width + 2), bytes_(1 + static_cast<size_t>(stride_ * shape.height), 0xee) {
    for (int y = 0; y < shape.height; ++y) {
      for (int x = 0; x < shape.width; ++x) {
        uint8_t* const sample = bytes_.data() + 1 + y * stride_ + 2 * x;
        sample[0] = static_cast<uint8_t>(at(x, y) & 255);
        sample[1] = static_cast<uint8_t>(at(x, y) >> 8);
      }
    }
  }
  DepthView view(const DepthSensor& sensor = {0.001, 0, 0}) const {
    return {bytes_.data() + 1, shape_.width, shape_.height, stride_, sensor};
  }

 private:
  Shape shape_;
  int stride_;
  std::vector<uint8_t> bytes_;
};

StereoFrame Keypoints(const std::vector<float>& x, const std::vector<float>& y) {
  StereoFrame frame;
  frame.left.Resize(x.size(), 0);
  frame.left.x = x;
  frame.left.y = y;
  return frame;
}

TEST(PutDepths, AreDisparitiesAtTheBaseline) {
  const Depths depths([](int, int) { return 2000; });
  StereoFrame frame = Keypoints({10, 0, 63, 20.25f}, {10, 0, 47, 30.75f});
  frame.vertical_disparity.assign(9, 7);
  PutDepths(Camera(), depths.view(), &frame);
  EXPECT_THAT(frame.is_stereo, ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(frame.disparity, ElementsAre(2.5f, 2.5f, 2.5f, 2.5f));  // 50 * 0.1 / 2
  EXPECT_THAT(frame.vertical_disparity, ElementsAre(0, 0, 0, 0));
  // A fifth of a millimetre a sample, as TUM's.
  PutDepths(Camera(), depths.view({0.0002, 0, 0}), &frame);
  EXPECT_FLOAT_EQ(frame.disparity[0], 12.5f);
}

// Below a pixel a plane's disparity is linear, whatever its depth is.
TEST(PutDepths, AreInterpolatedAlongAPlane) {
  const auto disparity = [](double x, double y) { return 1 + 0.05 * x + 0.02 * y; };
  const Depths depths([&](int x, int y) { return static_cast<int>(5000 / disparity(x, y) + 0.5); });
  StereoFrame frame = Keypoints({10.5f, 33.25f, 62.75f}, {7.5f, 20.125f, 46.5f});
  PutDepths(Camera(), depths.view(), &frame);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(frame.is_stereo[i], 1);
    EXPECT_NEAR(frame.disparity[i], disparity(frame.left.x[i], frame.left.y[i]), 0.004) << i;
  }
}

TEST(PutDepths, LeaveOutHolesEdgesAndLimits) {
  // A hole at (10, 10); from x = 30 on something at 1 m (5 px) before a wall at 2 m (2.5 px), from x = 50 on at 1.5 m.
  const Depths depths([](int x, int y) { return x == 10 && y == 10 ? 0 : x < 30 ? 2000 : x < 50 ? 1000 : 1050; });
  StereoFrame frame = Keypoints({10, 9.5f, 11, 29.5f, 29, 28.5f, 30, 49.5f}, {10, 9.5f, 10, 20, 20, 20, 20, 20});
  PutDepths(Camera(), depths.view(), &frame);
  // 49.5: 5 and 4.76 px are one surface.
  EXPECT_THAT(frame.is_stereo, ElementsAre(0, 0, 1, 0, 0, 1, 1, 1));
  EXPECT_EQ(frame.disparity[3], 0);
  EXPECT_FLOAT_EQ(frame.disparity[7], 0.5f * (5 + 5000 / 1050.0f));
  PutDepths(Camera(), depths.view({0.001, 1.01, 0}), &frame);
  EXPECT_THAT(frame.is_stereo, ElementsAre(0, 0, 1, 0, 0, 1, 0, 0));
  PutDepths(Camera(), depths.view({0.001, 0, 1.9}), &frame);
  EXPECT_THAT(frame.is_stereo, ElementsAre(0, 0, 0, 0, 0, 0, 1, 1));
}

TEST(ValidateView, NamesWhatIsWrong) {
  const Image image(kShape.width, kShape.height), other(60, kShape.height);
  const auto flat = [](int, int) { return 1; };
  const Depths depths(flat), small(flat, {60, 48});
  const auto message = [](const StereoCamera& camera, const CameraView& view) {
    return std::string(ValidateView(camera, view).message());
  };
  EXPECT_THAT(message(Camera(), {image, {}, depths.view()}), IsEmpty());
  EXPECT_THAT(message(Camera(), {image, {}, small.view()}), HasSubstr("depth: 60x48 is not the camera's 64x48"));
  EXPECT_THAT(message(Camera(), {other, {}, depths.view()}), HasSubstr("left: 60x48 is not the camera's 64x48"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double unit : {0.0, -1.0, 1.5, nan, std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(message(Camera(), {image, {}, depths.view({unit, 0, 0})}), HasSubstr("depth.unit: ")) << unit;
  }
  EXPECT_THAT(message(Camera(), {image, {}, depths.view({0.001, nan, 0})}), HasSubstr("depth.nearest: nan"));
  EXPECT_THAT(message(Camera(), {image, {}, depths.view({0.001, -1, 0})}), HasSubstr("-1 is not in 0..1000"));
  EXPECT_THAT(message(Camera(), {image, {}, depths.view({0.001, 2, 1})}), HasSubstr("depth.farthest: 1"));
  EXPECT_THAT(message(Camera(), {image, {}, depths.view({0.001, 0, nan})}), HasSubstr("depth.farthest: nan"));
  StereoCamera turned = Camera();
  turned.rig_rotation[1] = 0.001;
  EXPECT_THAT(message(turned, {image, {}, depths.view()}), HasSubstr("camera.rig_rotation"));
}

TEST(Odometry, DoesNotRefineARightEyeThatIsNotThere) {
  const Image image(kShape.width, kShape.height);
  const Depths depths([](int, int) { return 1000; });
  LaneFrontEnd front_end(*PresetOptions("orb"), 1);
  const auto localizer = Localizer::Create(Camera(), LocalizerOptions(), &front_end);
  ASSERT_TRUE(localizer.ok()) << localizer.status();
  LocalizerResult result;
  EXPECT_THAT(std::string((*localizer)->Track({image, {}, depths.view()}, {}, &result).message()),
              HasSubstr("refine_rig: is on"));
}

TEST(DepthWarnings, AreOfDepthAlone) {
  CalibrationFigures figures;
  figures.stereo_keypoints = 300;
  figures.stereo_share = 0.8;
  figures.median_disparity = 0.01;  // as one image sent twice has it
  EXPECT_THAT(DepthWarningsOf(figures, 400), IsEmpty());
  figures.speed = 200;
  EXPECT_THAT(DepthWarningsOf(figures, 400),
              ElementsAre(IsWarning(WarningKind::kImplausibleSpeed, 200, "m/s", "200 m/s: unit of the depth")));
  figures = CalibrationFigures();
  figures.stereo_keypoints = 4;
  figures.stereo_share = 0.01;
  EXPECT_THAT(DepthWarningsOf(figures, 400),
              ElementsAre(IsWarning(WarningKind::kFewDepths, 0.01, "1", "only 1.0 % of 400 keypoints have a depth")));
  EXPECT_THAT(DepthWarningsOf(figures, 20), IsEmpty());
}

}  // namespace
}  // namespace glint::slam
