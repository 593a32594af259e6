// The pyramid's launchers, each alone, against features/reference/pyramid.h: images and masks, byte for byte.
#include <set>
#include <vector>

#include "features/reference/pyramid.h"
#include "gtest/gtest.h"
#include "tests/cuda/stage_checks.h"
#include "tests/support/images.h"
#include "tests/support/options.h"
#include "tests/support/random.h"

namespace glint::cuda {
namespace {

using testing::Random;

class CudaPyramidStagesTest : public StageTest {};

struct Case {
  DetectorOptions options;
  Image image, mask;  // mask: may be empty
  std::vector<Image> levels, masks;

  ImageView mask_view() const { return mask.width() > 0 ? mask.view() : ImageView{}; }
  PlanKey key(int parts = 1) const { return {options, image.shape(), mask.width() > 0, parts}; }
};

Case MakeCase(const DetectorOptions& options, Shape shape, bool masked, uint32_t seed) {
  Random random(seed);
  Case c;
  c.options = options;
  c.image = testing::Noise(shape, seed);
  if (masked) c.mask = testing::RandomMask(&random, shape);
  const PyramidPlan plan = PlanPyramid(options, shape);
  c.levels = reference::BuildPyramid(options.pyramid, plan, c.image, reference::InterpolationOf(options));
  c.masks = reference::BuildMaskPyramid(options, plan, c.mask_view());
  return c;
}

DetectorOptions Cascaded(float scale_factor) {
  DetectorOptions options = testing::OrbOptions();
  options.scale_factor = scale_factor;
  return options;
}

// Masks are not.
DetectorOptions Linear(float scale_factor) {
  DetectorOptions options = PresetOptions("orbslam").value();
  options.scale_factor = scale_factor;
  return options;
}

constexpr float kScaleFactors[] = {kMinScaleFactor, 1.2f, 1.34f, 1.6f, kMaxScaleFactor};

void SetLevel(const Case& c, int level, StageFrame* frame) {
  frame->SetImage(level, c.levels[static_cast<size_t>(level)]);
  if (c.mask.width() > 0) frame->SetMask(level, c.masks[static_cast<size_t>(level)]);
}

void SetLevel0(const Case& c, StageFrame* frame) {
  frame->SetImage(0, c.image);
  if (c.mask.width() > 0) frame->SetMask(0, c.masks[0]);  // as it is uploaded
}

// Levels first..end-1; those that vanished have none.
void ExpectLevels(const Case& c, const StageFrame& frame, int first, int end) {
  for (int l = first; l < end && frame.shape(l).width > 0; ++l) {
    EXPECT_TRUE(SameImage(c.levels[static_cast<size_t>(l)], frame.GetImage(l))) << "level " << l;
    // Other pyramids ask the image's mask.
    if (c.mask.width() == 0 || c.options.pyramid != Pyramid::kCascaded) continue;
    EXPECT_TRUE(SameImage(c.masks[static_cast<size_t>(l)], frame.GetMask(l))) << "mask of level " << l;
  }
}

void ExpectPyramid(const Case& c) {
  SCOPED_TRACE(::testing::Message() << c.image.width() << "x" << c.image.height() << ", factor "
                                    << c.options.scale_factor);
  StageTest::ForEachDevice([&](StageDevice* device) {
    StageFrame frame(device, c.key());
    SetLevel0(c, &frame);
    frame.BuildPyramid();
    ExpectLevels(c, frame, 1, frame.levels());
  });
}

TEST_F(CudaPyramidStagesTest, CascadeOfEveryFactorAndSize) {
  uint32_t seed = 0;
  for (const Shape shape : StageShapes()) {
    for (const float factor : kScaleFactors) {
      for (const bool masked : {false, true}) {
        ExpectPyramid(MakeCase(Cascaded(factor), shape, masked, ++seed));
        ExpectPyramid(MakeCase(Linear(factor), shape, masked, ++seed));
      }
    }
  }
}

// On a level that the reference made, all others unknown.
TEST_F(CudaPyramidStagesTest, EachLaunchAlone) {
  std::vector<DetectorOptions> all;
  for (const float factor : {kMinScaleFactor, 1.1f, 1.2f, 1.3f, 1.34f, 1.6f, kMaxScaleFactor}) {
    all.push_back(Cascaded(factor));
    all.push_back(Linear(factor));
    all.push_back(PresetOptions("pyca").value());
    all.back().pyramid = Pyramid::kDirect;
    all.back().scale_factor = factor;
  }
  all.push_back(PresetOptions("fast_grid").value());
  all.back().levels = 8;
  std::set<Kernel> kernels;
  for (const DetectorOptions& options : all) {
    for (const Shape shape : {Shape{97, 61}, Shape{320, 240}, Shape{631, 479}}) {
      for (const bool masked : {false, true}) {
        if (masked && options.pyramid != Pyramid::kCascaded) continue;
        const Case c = MakeCase(options, shape, masked, 7);
        ForEachDevice([&](StageDevice* device) {
          const StageFrame planned(device, c.key());
          for (const Launch& launch : planned.schedule().launches) {
            if (launch.stage != Stage::kPyramid) continue;
            kernels.insert(launch.kernel);
            StageFrame frame(device, c.key());
            if (launch.from == 0) {
              SetLevel0(c, &frame);
            } else {
              SetLevel(c, launch.from, &frame);
            }
            frame.Run(launch);
            ExpectLevels(c, frame, launch.level, launch.level + launch.levels);
          }
        });
      }
    }
  }
  EXPECT_EQ(kernels.size(), 4u);  // every way to make levels
}

TEST_F(CudaPyramidStagesTest, CascadeOfAnImageInParts) {
  for (const Shape shape : {Shape{33, 31}, Shape{200, 3}, Shape{631, 479}, Shape{90, 700}}) {
    for (const float factor : kScaleFactors) {
      const Case c = MakeCase(Cascaded(factor), shape, /*masked=*/false, 9);
      ForEachDevice([&](StageDevice* device) {
        constexpr int kParts = 2;
        StageFrame frame(device, c.key(kParts));
        int first = 0;
        for (int part = 0; part < kParts; ++part) {
          const int end = frame.plan().part_end(part);
          frame.SetRows(c.image, first, end);
          frame.BuildPyramid(part);
          first = end;
        }
        ExpectLevels(c, frame, 1, frame.levels());
      });
    }
  }
}

TEST_F(CudaPyramidStagesTest, DirectOfEveryFactorAndSize) {
  DetectorOptions options = PresetOptions("pyca").value();
  options.pyramid = Pyramid::kDirect;
  uint32_t seed = 0;
  for (const Shape shape : StageShapes()) {
    for (const float factor : kScaleFactors) {
      for (const int levels : {2, 8}) {
        options.scale_factor = factor;
        options.levels = levels;
        ExpectPyramid(MakeCase(options, shape, /*masked=*/false, ++seed));
      }
    }
  }
}

TEST_F(CudaPyramidStagesTest, HalfOfEveryDepthAndSize) {
  DetectorOptions options = PresetOptions("fast_grid").value();
  uint32_t seed = 0;
  for (const Shape shape : StageShapes()) {
    for (int levels = 1; levels <= kMaxLevels; ++levels) {
      options.levels = levels;
      ExpectPyramid(MakeCase(options, shape, /*masked=*/false, ++seed));
    }
  }
}

TEST_F(CudaPyramidStagesTest, FlatAndExtremeImages) {
  for (const float factor : kScaleFactors) {
    for (const uint8_t value : {uint8_t{0}, uint8_t{127}, uint8_t{255}}) {
      Case c = MakeCase(Cascaded(factor), {203, 97}, /*masked=*/true, 11);
      c.image = testing::Flat(c.image.shape(), value);
      c.mask = testing::Flat(c.image.shape(), value);
      const PyramidPlan plan = PlanPyramid(c.options, c.image.shape());
      c.levels = reference::BuildPyramid(c.options.pyramid, plan, c.image);
      c.masks = reference::BuildMaskPyramid(c.options, plan, c.mask);
      ExpectPyramid(c);
    }
  }
}

}  // namespace
}  // namespace glint::cuda
