// Nothing is allocated on the frame path once the largest frame was seen. Every operator new of this program counts.
#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "cpu/match/matcher.h"
#include "cpu/pipeline.h"
#include "cpu/stereo/stereo_matcher.h"
#include "cpu/stereo/stereo_pipeline.h"
#include "features/reference/pyramid.h"
#include "gtest/gtest.h"
#include "tests/support/descriptors.h"
#include "tests/support/images.h"
#include "tests/support/options.h"

namespace {
std::atomic<int> allocations{0};

void* Allocate(size_t bytes, size_t alignment) {
  ++allocations;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* p = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (p == nullptr) std::abort();
  return p;
}
}  // namespace

void* operator new(size_t bytes) { return Allocate(bytes, alignof(std::max_align_t)); }
void* operator new[](size_t bytes) { return Allocate(bytes, alignof(std::max_align_t)); }
void* operator new(size_t bytes, std::align_val_t alignment) { return Allocate(bytes, static_cast<size_t>(alignment)); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }

namespace glint {
namespace {

class MemoryTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, MemoryTest, ::testing::Values(1, 2));

TEST_P(MemoryTest, NoAllocationAfterWarmUp) {
  cpu::Pipeline pipeline(GetParam());
  testing::Random random(1);
  const Image full = testing::Texture({640, 480}, 1);
  const Image calm = testing::Texture({640, 480}, 2, 6);
  const Image noise = testing::Noise({640, 480}, 3);
  const Image mask = testing::RandomMask(&random, {640, 480});
  for (const DetectorOptions& options :
       {testing::OrbOptions(), testing::OrientedFastOptions(), PresetOptions("orbslam").value()}) {
    Features features;
    StageTimes times;
    const auto detect = [&](const Image& image, const ImageView& m) {
      ASSERT_TRUE(pipeline.Detect(options, image, m, &features, &times).ok());
    };
    detect(calm, mask);
    const int before = allocations;
    // The largest shape was seen, its hardest content was not.
    for (int i = 0; i < 3; ++i) {
      detect(full, {});
      detect(noise, mask);
      detect(calm, mask);
    }
    EXPECT_EQ(allocations - before, 0) << testing::ToString(options);
  }
}

TEST_P(MemoryTest, MatchingAllocatesNothingAfterWarmUp) {
  cpu::Matcher matcher(GetParam());
  const testing::DescriptorSet query(300, 32, testing::Likeness::kNoisy, 1);
  const testing::DescriptorSet train(500, 32, testing::Likeness::kNoisy, 2);
  const testing::RandomConditions random(300, 500, 3);
  MatchResult result;
  int before = 0;
  for (int round = 0; round < 3; ++round) {
    for (const QueryConditions& conditions : {random.angles(), random.all()}) {
      for (MatchOptions options : {MatchOptions{8}, MatchOptions{1, true, 0.9f}, MatchOptions{1, true}}) {
        options.rotation_histogram = options.k == 1;
        matcher.Match({query.view(), train.view(), conditions, random.keypoints()}, options, &result);
      }
    }
    if (round == 0) before = allocations;
  }
  EXPECT_EQ(allocations - before, 0);
}

TEST_P(MemoryTest, StereoMatchingAllocatesNothingAfterWarmUp) {
  const Image image = testing::Texture({320, 240}, 4);
  DetectorOptions orb = testing::OrbOptions();
  orb.descriptor = Descriptor::kRbrief;
  Features features;
  ASSERT_TRUE(cpu::Pipeline().Detect(orb, image, {}, &features, nullptr).ok());
  StereoInput input;
  input.plan = PlanPyramid(orb, image.shape());
  const std::vector<Image> pyramid = reference::BuildPyramid(orb.pyramid, input.plan, image);
  const std::vector<ImageView> levels(pyramid.begin(), pyramid.end());
  input.left = input.right = {&features, levels.data()};
  cpu::StereoMatcher matcher(GetParam());
  StereoResult result;
  int before = 0;
  for (int round = 0; round < 3; ++round) {
    matcher.Match(input, {}, &result);
    if (round == 0) before = allocations;
  }
  EXPECT_GT(result.matches, 0);
  EXPECT_EQ(allocations - before, 0);
}

// The largest shape was seen, and as many keypoints in each eye; content and stereo options change.
TEST_P(MemoryTest, PairsAllocateNothingAfterWarmUp) {
  cpu::StereoPipeline pipeline(GetParam());
  const Image first = testing::Texture({640, 480}, 1);
  const Image second = testing::Texture({640, 480}, 2);
  for (const char* preset : {"orb", "orbslam"}) {
    DetectorOptions options = *PresetOptions(preset);
    options.max_features = 1200;  // not all of them are checked
    Features left, right;
    StereoResult result;
    const auto detect = [&](const Image& l, const Image& r) {
      ASSERT_TRUE(pipeline.Detect(options, {l, r, r, l}, {}, &left, &right, &result, nullptr).ok());
      ASSERT_GT(left.count(), 300u);
    };
    detect(first, first);  // has the most keypoints, being its own mask
    detect(first, second);
    detect(second, first);
    const int before = allocations;
    for (int i = 0; i < 3; ++i) {
      detect(first, first);
      EXPECT_GT(result.matches, 100);
      detect(first, second);
      detect(second, first);
    }
    EXPECT_EQ(allocations - before, 0) << preset;
  }
}

}  // namespace
}  // namespace glint
