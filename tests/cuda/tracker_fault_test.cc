// The host side of tracking on CUDA over a runtime that can be told to fail.
#include <memory>
#include <utility>
#include <vector>

#include "cuda/track/tracker_factory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cuda/fake_api.h"
#include "tests/support/images.h"

namespace glint::cuda {
namespace {

constexpr Shape kShape = {120, 90};

TrackerOptions OptionsFor(int sm_limit) {
  TrackerOptions options;
  options.max_points = 20;
  options.max_shape = kShape;
  options.sm_limit = sm_limit;
  return options;
}

// Points with predictions, from frame 0 to frame 1.
struct Points {
  explicit Points(int count) : at(static_cast<size_t>(count), 40) {}
  FramePoints view() const { return {0, 1, static_cast<int>(at.size()), at.data(), at.data(), at.data(), at.data()}; }
  std::vector<float> at;
};

// What one client sees, from the first call on: the first error, if any.
absl::Status OneFrame(FakeApi* api, std::unique_ptr<Tracker>* tracker, const Points& points, int sm_limit) {
  if (*tracker == nullptr) {
    auto made = TrackerFactory::Create(OptionsFor(sm_limit), api);
    if (!made.ok()) return made.status();
    *tracker = *std::move(made);
  }
  const Image image = testing::Texture(kShape, 1);
  for (const int frame : {0, 1}) {
    if (absl::Status s = (*tracker)->SetFrame(frame, image); !s.ok()) return s;
  }
  if (absl::Status s = (*tracker)->CopyFrame(1, image); !s.ok()) return s;
  if (absl::Status s = (*tracker)->Release(); !s.ok()) return s;
  TrackResult result;
  result.Resize(3);
  const absl::Status status = (*tracker)->Track(points.view(), {}, &result);
  EXPECT_EQ(result.count(), status.ok() ? points.at.size() : 0);
  return status;
}

TEST(CudaTrackFaults, EveryCallFailsOnce) {
  const Points points(20);
  for (const int sm_limit : {0, 2}) {
    int failures = 0;
    for (int n = 0;; ++n) {
      SCOPED_TRACE(n);
      FakeApi api;
      api.fail_at = n;
      api.error = cudaErrorMemoryAllocation;
      std::unique_ptr<Tracker> tracker;
      absl::Status status = OneFrame(&api, &tracker, points, sm_limit);
      if (status.ok()) status = OneFrame(&api, &tracker, points, sm_limit);
      const bool reached = api.calls > n;
      if (!status.ok()) {
        ++failures;
        EXPECT_THAT(status.message(), ::testing::HasSubstr("cudaErrorMemoryAllocation"));
        // The tracker, or a new one, works on.
        EXPECT_TRUE(OneFrame(&api, &tracker, points, sm_limit).ok());
      }
      tracker.reset();
      EXPECT_EQ(api.live, 0);
      if (!reached) break;
    }
    EXPECT_GT(failures, 30);
  }
}

TEST(CudaTrackFaults, AFrameThatFailedIsNotSet) {
  FakeApi api;
  std::unique_ptr<Tracker> tracker;
  const Points points(5);
  ASSERT_TRUE(OneFrame(&api, &tracker, points, 0).ok());
  api.fail_at = api.calls + 3;  // a launch of the pyramid
  EXPECT_FALSE(tracker->SetFrame(1, testing::Texture(kShape, 2)).ok());
  TrackResult result;
  EXPECT_EQ(tracker->Track(points.view(), {}, &result).message(), "to: frame 1 is not set");
  ASSERT_TRUE(tracker->SetFrame(1, testing::Texture(kShape, 2)).ok());
  EXPECT_TRUE(tracker->Track(points.view(), {}, &result).ok());
}

TEST(CudaTrackFaults, TimingFailsCleanly) {
  const Points points(5);
  int failures = 0;
  for (int n = 0;; ++n) {
    SCOPED_TRACE(n);
    FakeApi api;
    std::unique_ptr<Tracker> tracker;
    ASSERT_TRUE(OneFrame(&api, &tracker, points, 0).ok());
    const int live = api.live;
    const int start = api.calls;
    api.fail_at = start + n;
    const bool works = tracker->TimeOnDevice(points.view(), {}, 2).ok();
    const bool reached = api.calls > start + n;
    EXPECT_EQ(works, !reached);
    failures += !works;
    EXPECT_EQ(api.live, live);
    if (!reached) break;
  }
  EXPECT_GT(failures, 10);
}

TEST(CudaTrackFaults, CallsAllocateNothing) {
  FakeApi api;
  std::unique_ptr<Tracker> tracker;
  ASSERT_TRUE(OneFrame(&api, &tracker, Points(20), 0).ok());
  const int live = api.live;
  const int before = api.calls;
  ASSERT_TRUE(OneFrame(&api, &tracker, Points(20), 0).ok());
  const int calls = api.calls - before;
  for (const int count : {1, 20}) {
    const int start = api.calls;
    ASSERT_TRUE(OneFrame(&api, &tracker, Points(count), 0).ok());
    EXPECT_EQ(api.calls - start, calls);
    EXPECT_EQ(api.live, live);
  }
}

// Pixels in page-locked memory go to the device from there; others are left to SetFrame().
TEST(CudaTrackFaults, LentPixelsAreTakenFromWhereTheyLie) {
  FakeApi api;
  std::unique_ptr<Tracker> tracker;
  const Points points(5);
  ASSERT_TRUE(OneFrame(&api, &tracker, points, 0).ok());
  const Image image = testing::Texture(kShape, 2);
  const int copies = api.copies_to_device;
  auto lent = tracker->LendFrame(1, image);
  ASSERT_TRUE(lent.ok()) << lent.status();
  EXPECT_FALSE(*lent);
  EXPECT_EQ(api.copies_to_device, copies);
  api.pinned = true;
  lent = tracker->LendFrame(1, image);
  ASSERT_TRUE(lent.ok()) << lent.status();
  EXPECT_TRUE(*lent);
  EXPECT_EQ(api.copies_to_device, copies + 1);
  EXPECT_EQ(api.copied_from, image.row(0));
  EXPECT_TRUE(tracker->Release().ok());
  EXPECT_EQ(tracker->LendFrame(2, image).status().message(), "frame: 2 is not in 0..1");
  // A device that cannot take them says so.
  ASSERT_TRUE(tracker->LendFrame(1, image).ok());
  api.fail_at = api.calls;
  EXPECT_FALSE(tracker->Release().ok());
  for (int n = 0;; ++n) {
    const int start = api.calls;
    api.fail_at = start + n;
    const bool works = tracker->LendFrame(1, image).ok();
    const bool reached = api.calls > start + n;
    EXPECT_EQ(works, !reached || n == 0) << n;  // the first call asks whose memory it is
    if (!reached) break;
  }
  api.fail_at = -1;
  ASSERT_TRUE(tracker->LendFrame(1, image).ok());
  TrackResult result;
  EXPECT_TRUE(tracker->Track(points.view(), {}, &result).ok());
}

TEST(CudaTrackFaults, NoPointsNeedNoLaunch) {
  FakeApi api;
  std::unique_ptr<Tracker> tracker;
  EXPECT_TRUE(OneFrame(&api, &tracker, Points(0), 0).ok());
}

}  // namespace
}  // namespace glint::cuda
