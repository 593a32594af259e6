// Localization on a GPU's lanes: the same bytes as on the CPU's. Skips without a usable GPU and says why.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "lane/lane.h"
#include "lane/rectified_rows.h"
#include "server/operations/localize/localization.h"
#include "tests/server/flight.h"
#include "tests/server/gpu_lanes.h"
#include "tests/support/images.h"
#include "tests/support/remap_cases.h"

namespace glint::testing {
namespace {

LaneSet Lanes(Backend backend, int lanes) {
  LaneOptions options;
  options.backend = backend;
  options.lanes = lanes;
  auto set = CreateLanes(options);
  EXPECT_TRUE(set.ok()) << set.status();
  return *std::move(set);
}

// The pixels as localize_work.cc gives them to a lane: raw ones, of which a device makes the rectified ones by itself.
class RawView {
 public:
  Pixels Of(const Lane& lane, const Image& raw, const RemapTable& table) {
    rows_.Use(raw, table);
    Pixels pixels(&rows_);
    if (!lane.remaps()) pixels.view = ViewOf(pixels, &rectified_);
    return pixels;
  }

 private:
  RectifiedRows rows_;
  Image rectified_;
};

// Every pair on another lane. With a table, the frames are raw.
std::vector<Location> Locate(const LaneSet& set, const LocalizationOptions& options,
                             const std::vector<slam::DriveFrame>& frames, const RemapTable* table) {
  const double unit = options.depth.value_or(DepthSensor()).unit;
  auto localization = Localization::Create(options);
  EXPECT_TRUE(localization.ok()) << localization.status();
  std::vector<Location> found(frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    FrameTimes times;
    const slam::DriveFrame& f = frames[i];
    Lane* const lane = set.lanes[i % set.lanes.size()].get();
    CameraView view = f.view(unit);
    RawView left, right;
    if (table != nullptr) {
      view.left = left.Of(*lane, f.left, *table);
      if (!view.has_depth()) view.right = right.Of(*lane, f.right, *table);
    }
    const absl::Status status =
        (*localization)->Track(lane, view, i, std::llround(f.seconds * 1e9) + 1, &found[i], &times);
    EXPECT_TRUE(status.ok()) << status;
  }
  return found;
}

template <typename T>
bool SameBytes(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// In the frames from `blind_from` to the one before `blind_to` the left image is black.
void ExpectTheBytesOfTheCpus(const slam::DriveOptions& drive, const LocalizationOptions& options,
                             const RemapTable* table = nullptr, size_t blind_from = 0, size_t blind_to = 0) {
  std::vector<slam::DriveFrame> frames = RenderFlight(drive);
  for (size_t i = blind_from; i < blind_to; ++i) frames[i].left = Flat(frames[i].left.shape(), 0);
  const std::vector<Location> cpu = Locate(Lanes(Backend::kCpu, 2), options, frames, table);
  EXPECT_EQ(cpu.back().status, LocationStatus::kTracking);
  for (size_t i = blind_from; i < blind_to; ++i) {
    EXPECT_EQ(cpu[i].status, LocationStatus::kTracking) << i;
    ASSERT_FALSE(cpu[i].warnings.empty()) << i;
    EXPECT_EQ(cpu[i].warnings[0].kind, WarningKind::kOneCamera) << i;
  }
  const LaneSet gpu = Lanes(Backend::kCuda, 2);
  for (int again = 0; again < 2; ++again) {
    const std::vector<Location> found = Locate(gpu, options, frames, table);
    for (size_t i = 0; i < frames.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_EQ(cpu[i].status, found[i].status);
      EXPECT_TRUE(SameBytes(cpu[i].pose, found[i].pose));
      EXPECT_TRUE(SameBytes(cpu[i].covariance, found[i].covariance));
      EXPECT_TRUE(SameBytes(cpu[i].rig_rotation, found[i].rig_rotation));
      EXPECT_EQ(cpu[i].keypoints, found[i].keypoints);
      EXPECT_EQ(cpu[i].matches, found[i].matches);
      EXPECT_EQ(cpu[i].inliers, found[i].inliers);
      EXPECT_EQ(cpu[i].is_keyframe, found[i].is_keyframe);
    }
  }
}

TEST(GpuLocalize, PosesHaveTheBytesOfTheCpus) {
  if (const auto set = OneGpuLane(); !set.ok()) GTEST_SKIP() << set.status().message();
  const slam::DriveOptions drive = FlightOptions({376, 240, 229, 187.5, 119.5}, 45);
  ExpectTheBytesOfTheCpus(drive, OptionsOf(drive.head, 700));
}

TEST(GpuLocalize, PosesOfRawPairs) {
  if (const auto set = OneGpuLane(); !set.ok()) GTEST_SKIP() << set.status().message();
  const slam::DriveOptions drive = FlightOptions({376, 240, 229, 187.5, 119.5}, 45);
  LocalizationOptions options = OptionsOf(drive.head, 700);
  constexpr double kLarger = 1.02;  // in the rectified images
  options.camera.focal_length *= kLarger;
  const RemapTable table = LensTable(options.camera.image, options.camera.image, 0.0005, 1 / kLarger, 0);
  ExpectTheBytesOfTheCpus(drive, options, &table);
}

TEST(GpuLocalize, PosesOfTheRightCameraAlone) {
  if (const auto set = OneGpuLane(); !set.ok()) GTEST_SKIP() << set.status().message();
  const slam::DriveOptions drive = FlightOptions({376, 240, 229, 187.5, 119.5}, 45);
  LocalizationOptions options = OptionsOf(drive.head, 700);
  ExpectTheBytesOfTheCpus(drive, options, nullptr, 20, 30);
  const RemapTable table = LensTable(options.camera.image, options.camera.image, 0.0005, 1, 0);
  ExpectTheBytesOfTheCpus(drive, options, &table, 20, 30);
}

TEST(GpuLocalize, PosesOfACameraWithDepth) {
  if (const auto set = OneGpuLane(); !set.ok()) GTEST_SKIP() << set.status().message();
  slam::DriveOptions drive = FlightOptions({376, 240, 229, 187.5, 119.5}, 45);
  drive.depth = scene::DepthSensorOptions();
  drive.depth->noise = 0.1;
  LocalizationOptions options = OptionsOf(drive.head, 700);
  options.localizer.odometry.refine_rig = false;
  options.depth = DepthSensor{drive.depth->unit, 0, 0};
  ExpectTheBytesOfTheCpus(drive, options);
}

}  // namespace
}  // namespace glint::testing
