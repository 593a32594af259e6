// Device memory of a pipeline is within what the memory bound counts for GPUs that share the host's memory.
#include <cstdint>

#include "cuda/plan/plan.h"
#include "features/options.h"
#include "gtest/gtest.h"
#include "server/memory/memory_bound.h"

namespace glint::cuda {
namespace {

constexpr int kMultiprocessors = 132;

// Levels, scores and candidates are most at the least factor, and without a border.
TEST(IntegratedMemoryTest, IsWithinTheBound) {
  int plans = 0;
  for (const std::string& preset : PresetNames()) {
    for (const int features : {1, 4000, 65536}) {
      DetectorOptions options = *PresetOptions(preset);
      options.max_features = features;
      options.levels = kMaxLevels;
      options.scale_factor = kMinScaleFactor;
      options.edge_threshold = 0;
      if (!ValidateOptions(options).ok()) options = *PresetOptions(preset);  // levels of half the size, or one
      for (const Shape shape : {Shape{64, 64}, Shape{2048, 2048}, Shape{kMaxImageSide, 64}, Shape{64, kMaxImageSide}}) {
        const Plan plan({options, shape, /*masked=*/true}, kMultiprocessors);
        const size_t state = plan.selection().has_value() ? plan.selection()->state_bytes() : 0;
        EXPECT_LE(
            static_cast<int64_t>(plan.scratch_bytes() + plan.tables().size() + state),
            kPipelineBytes + shape.pixels() * kPipelineBytesPerPixel + options.max_features * kPipelineBytesPerFeature)
            << preset << " " << features << " " << shape.width << "x" << shape.height;
        ++plans;
      }
    }
  }
  EXPECT_GT(plans, 50);
}

}  // namespace
}  // namespace glint::cuda
