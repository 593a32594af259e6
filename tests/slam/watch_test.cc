// Watches of what cameras send: regions that move with the camera, frozen images, lenses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "slam/localizer.h"
#include "slam/watch/frozen_image.h"
#include "slam/watch/lens_distortion.h"
#include "slam/watch/static_region.h"
#include "tests/slam/point_world.h"
#include "tests/support/images.h"

namespace glint::slam {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kFrameNs = 100'000'000;

Pose OnTheRoad(double z) { return {Eigen::Quaterniond::Identity(), {0, 0, z}}; }

// A world with something near in front of it, whose keypoints are at the same place of the picture, but for a shift.
class WorldBehind : public PointWorld {
 public:
  WorldBehind(int keypoints, int top, int bottom, float disparity, uint32_t seed)
      : PointWorld(CameraOfTest(), 80, seed) {
    std::mt19937 random(seed + 100);
    const auto within = [&random](int low, int high) {
      return static_cast<float>(low + static_cast<int>(random() % static_cast<uint32_t>(high - low)));
    };
    for (int i = 0; i < keypoints; ++i) {
      x_.push_back(within(120, 780));
      y_.push_back(within(top, bottom));
      disparity_.push_back(disparity + 0.01f * within(0, 1000));
      for (int b = 0; b < 32; ++b) descriptors_.push_back(static_cast<uint8_t>(random()));
    }
  }
  void Shift(float x) { shift_ = x; }

  absl::Status Find(const PixelPair& pair, StereoFrame* frame) override {
    const absl::Status status = PointWorld::Find(pair, frame);
    Features& f = frame->left;
    for (size_t i = 0; i < x_.size(); ++i) {
      if (x_[i] + shift_ >= 800) continue;
      f.x.push_back(x_[i] + shift_);
      f.y.push_back(y_[i]);
      f.size.push_back(31);
      f.angle.push_back(0);
      f.response.push_back(1);
      f.octave.push_back(0);
      const auto descriptor = descriptors_.begin() + static_cast<ptrdiff_t>(32 * i);
      f.descriptors.insert(f.descriptors.end(), descriptor, descriptor + 32);
      frame->is_stereo.push_back(1);
      frame->disparity.push_back(disparity_[i]);
      frame->vertical_disparity.push_back(0);
    }
    return status;
  }

 private:
  std::vector<float> x_, y_, disparity_;
  std::vector<uint8_t> descriptors_;
  float shift_ = 0;
};

struct Drive {
  explicit Drive(WorldBehind* a_world) : world(a_world), localizer(*Localizer::Create(CameraOfTest(), {}, world)) {}

  LocalizerResult Take(double z) {
    world->Look(OnTheRoad(z));
    LocalizerResult result;
    EXPECT_TRUE(localizer->Track(picture, picture, {0, time_ns += kFrameNs}, &result).ok());
    return result;
  }

  WorldBehind* const world;
  const std::unique_ptr<Localizer> localizer;
  const Image picture{800, 400};
  int64_t time_ns = 0;
};

const Warning* Find(const std::vector<Warning>& warnings, WarningKind kind) {
  for (const Warning& w : warnings) {
    if (w.kind == kind) return &w;
  }
  return nullptr;
}

TEST(StaticRegion, ABonnetDoesNotHoldTheCamera) {
  WorldBehind world(/*keypoints=*/400, /*top=*/320, /*bottom=*/380, /*disparity=*/120, /*seed=*/1);
  Drive drive(&world);
  LocalizerResult result;
  for (int i = 0; i <= 30; ++i) {
    result = drive.Take(0.8 * i);
    EXPECT_EQ(result.status, TrackingStatus::kTracking) << i;
  }
  EXPECT_NEAR(result.world_from_camera.translation.z(), 24, 0.5);
  const Warning* const warning = Find(result.warnings, WarningKind::kStaticRegion);
  ASSERT_NE(warning, nullptr);
  EXPECT_GT(warning->figure, 0.2);
  EXPECT_THAT(warning->text, HasSubstr("within rows 3"));
  EXPECT_THAT(warning->text, HasSubstr("does not move while the rest does"));
  // It stays left out while the camera stands.
  for (int i = 0; i < 5; ++i) EXPECT_NE(Find(drive.Take(24).warnings, WarningKind::kStaticRegion), nullptr);
}

// What passes in front of a camera at rest is no reason to leave the world out.
TEST(StaticRegion, ABusDoesNotCarryTheCameraAlong) {
  WorldBehind world(/*keypoints=*/100, /*top=*/60, /*bottom=*/340, /*disparity=*/60, /*seed=*/2);
  Drive drive(&world);
  for (int i = 0; i < 12; ++i) {
    world.Shift(9.0f * static_cast<float>(i));
    const LocalizerResult result = drive.Take(0);
    EXPECT_LT(result.world_from_camera.translation.norm(), 0.06) << i;
    EXPECT_EQ(Find(result.warnings, WarningKind::kStaticRegion), nullptr) << i;
  }
}

TEST(StaticRegion, IsNotSeenWhereThereIsNone) {
  WorldBehind world(0, 1, 2, 1, 3);
  Drive drive(&world);
  for (int i = 0; i < 30; ++i) {
    const LocalizerResult result = drive.Take(i < 10 ? 0 : i < 20 ? 0.02 * (i - 10) : 0.2 + 0.9 * (i - 20));
    EXPECT_EQ(Find(result.warnings, WarningKind::kStaticRegion), nullptr) << i;
  }
}

TEST(FrozenImage, IsOneOfTwoThatStays) {
  const Image a = testing::Texture({83, 40}, 1), b = testing::Texture({83, 40}, 2), c = testing::Texture({83, 40}, 3);
  FrozenImageWatch watch;
  EXPECT_FALSE(watch.Look(a, b));
  EXPECT_FALSE(watch.Look(a, b));  // a camera that stands, or a pair that is sent again
  EXPECT_THAT(watch.Warnings(), IsEmpty());
  EXPECT_TRUE(watch.Look(a, c));
  EXPECT_TRUE(watch.Look(a, b));
  ASSERT_THAT(watch.Warnings(), SizeIs(1));
  EXPECT_EQ(watch.Warnings()[0].figure, 2);
  EXPECT_THAT(watch.Warnings()[0].text, HasSubstr("the left image is frozen"));
  EXPECT_FALSE(watch.Look(c, a));
  EXPECT_TRUE(watch.Look(b, a));
  EXPECT_THAT(watch.Warnings()[0].text, HasSubstr("the right image is frozen"));
  // Black, or white with glare: such images are the same without being frozen.
  const Image black = testing::Flat({83, 40}, 0);
  EXPECT_FALSE(watch.Look(black, b));
  EXPECT_FALSE(watch.Look(black, c));
  Image nearly = Image::CopyOf(black);
  nearly.row(39)[82] = 1;
  EXPECT_FALSE(watch.Look(nearly, b));
  EXPECT_TRUE(watch.Look(nearly, a));
  // One pixel, the last one, makes another image.
  Image other = Image::CopyOf(b);
  other.row(39)[82] ^= 1;
  EXPECT_FALSE(watch.Look(other, c));
}

TEST(FrozenImage, ItsPairsArePassedOver) {
  WorldBehind world(0, 1, 2, 1, 4);
  const auto localizer = *Localizer::Create(CameraOfTest(), {}, &world);
  LocalizerResult result;
  Image left = testing::Flat({800, 400}, 1), right = testing::Flat({800, 400}, 2);
  for (int i = 0; i < 24; ++i) {
    const bool is_frozen = i >= 10 && i < 15;
    left.row(0)[0] = static_cast<uint8_t>(is_frozen ? 9 : i);
    right.row(0)[0] = static_cast<uint8_t>(i);
    world.Look(OnTheRoad(0.8 * i));
    ASSERT_TRUE(localizer->Track(left, right, {0, (i + 1) * kFrameNs}, &result).ok());
    EXPECT_EQ(Find(result.warnings, WarningKind::kFrozenImage) != nullptr, is_frozen) << i;
    EXPECT_EQ(result.status, !is_frozen ? TrackingStatus::kTracking
                             : i < 13   ? TrackingStatus::kCoasting
                                        : TrackingStatus::kLost)
        << i;
    if (!is_frozen) {
      EXPECT_NEAR(result.world_from_camera.translation.z(), 0.8 * i, 0.3) << i;
    }
  }
}

// A clock that jumps does not move the camera: as in frame_clock_test, through the whole localizer.
TEST(Localizer, GoesOnUnderAClockThatJumps) {
  constexpr int64_t kHour = 3'600'000'000'000;
  for (const int64_t off : {kHour, -kHour, 11 * kFrameNs}) {
    WorldBehind world(0, 1, 2, 1, 5);
    const auto localizer = *Localizer::Create(CameraOfTest(), {}, &world);
    LocalizerResult result;
    const Image picture(800, 400);
    for (int i = 0; i < 40; ++i) {
      const bool is_odd = i == 12;
      world.Look(OnTheRoad(0.8 * i));
      const int64_t stamp = i * kFrameNs + (is_odd ? off : 0) + (i >= 24 ? off : 0);
      ASSERT_TRUE(localizer->Track(picture, picture, {0, stamp}, &result).ok());
      EXPECT_EQ(result.status, TrackingStatus::kTracking) << i;
      EXPECT_NEAR(result.world_from_camera.translation.z(), 0.8 * i, 0.3) << i;
      EXPECT_EQ(Find(result.warnings, WarningKind::kTimestamp) != nullptr, is_odd || (i >= 24 && i < 27)) << i;
      EXPECT_EQ(Find(result.warnings, WarningKind::kImplausibleSpeed), nullptr) << i;
    }
    EXPECT_THAT(std::string(localizer->Track(picture, picture, {0, 39 * kFrameNs + off}, &result).message()),
                HasSubstr("is an earlier pair's, too"));
  }
}

// Keypoints of a pair whose cameras bend the picture by `k1`, and whose right one is turned.
StereoFrame Bent(double k1, const Eigen::Vector3d& rig_rotation, uint32_t seed) {
  StereoCamera camera = CameraOfTest();
  camera.rig_rotation = rig_rotation;
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> share(-1, 1);
  std::normal_distribution<double> noise(0, 0.3);
  StereoFrame frame;
  const auto bend = [&](double* x, double* y) {
    const double u = (*x - camera.centre_x) / camera.focal_length, v = (*y - camera.centre_y) / camera.focal_length;
    const double factor = 1 + k1 * (u * u + v * v);
    *x = camera.centre_x + camera.focal_length * u * factor;
    *y = camera.centre_y + camera.focal_length * v * factor;
  };
  for (int i = 0; i < 400; ++i) {
    const double z = 4 + 12 * (1 + share(random));
    const StereoPixel pixel = Project(camera, {0.8 * z * share(random), 0.4 * z * share(random), z});
    double x = pixel.left.x(), y = pixel.left.y();
    double right_x = x - pixel.disparity, right_y = y - pixel.vertical_disparity;
    bend(&x, &y);
    bend(&right_x, &right_y);
    frame.left.x.push_back(static_cast<float>(x));
    frame.left.y.push_back(static_cast<float>(y));
    frame.is_stereo.push_back(1);
    frame.disparity.push_back(static_cast<float>(x - right_x));
    frame.vertical_disparity.push_back(static_cast<float>(y - right_y + noise(random)));
  }
  return frame;
}

TEST(LensWatch, TellsK1AndNoTurnedCamera) {
  for (const double k1 : {-0.3, -0.15, 0.0, 0.1}) {
    LensWatch watch;
    for (uint32_t i = 0; i < 8; ++i) watch.Add(CameraOfTest(), Bent(k1, {0.002, -0.003, 0.002}, i));
    const std::vector<Warning> warnings = watch.Warnings(CameraOfTest());
    ASSERT_EQ(warnings.size(), k1 == 0 ? 0U : 1U) << k1;
    if (warnings.empty()) continue;
    EXPECT_EQ(warnings[0].kind, WarningKind::kLensDistortion);
    EXPECT_NEAR(warnings[0].figure / k1, 1.2, 0.5);  // what is bent is measured where it is, not where it was
    EXPECT_THAT(warnings[0].text, HasSubstr("the lens' distortion seems to be left in the images"));
  }
}

// The disparities of a wall that faces the camera differ by their errors alone, with which vertical ones go.
TEST(LensWatch, IsSilentBeforeAWall) {
  LensWatch watch;
  for (uint32_t i = 0; i < 8; ++i) {
    StereoFrame frame = Bent(0, Eigen::Vector3d::Zero(), i);
    std::mt19937 random(100 + i);
    std::normal_distribution<float> error(0, 0.3F);
    for (size_t k = 0; k < frame.left.x.size(); ++k) {
      const StereoCamera camera = CameraOfTest();
      const auto x = static_cast<float>((frame.left.x[k] - camera.centre_x) / camera.focal_length);
      const auto y = static_cast<float>((frame.left.y[k] - camera.centre_y) / camera.focal_length);
      const float of_disparity = error(random);
      frame.disparity[k] = 25 + of_disparity;
      frame.vertical_disparity[k] = -0.8F * 2 * x * y * of_disparity + 0.01F * error(random);
    }
    watch.Add(CameraOfTest(), frame);
  }
  EXPECT_THAT(watch.Warnings(CameraOfTest()), IsEmpty());
}

}  // namespace
}  // namespace glint::slam
