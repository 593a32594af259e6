// The launchers after the ranking, each alone on levels and keypoints that it is given, against
// features/reference/rbrief.h, bfrost.h and orientation.h.
#include <algorithm>
#include <vector>

#include "features/bfrost.h"
#include "features/patch.h"
#include "features/reference/bfrost.h"
#include "features/reference/fast.h"
#include "features/reference/gaussian.h"
#include "features/reference/rbrief.h"
#include "gtest/gtest.h"
#include "tests/cuda/stage_checks.h"
#include "tests/support/images.h"
#include "tests/support/options.h"
#include "tests/support/random.h"

namespace glint::cuda {
namespace {

using reference::LevelTrace;
using testing::Random;

class CudaDescribeStagesTest : public StageTest {};

// Corners of the level's sides and random pixels.
std::vector<KeptCorner> RandomCorners(Random* random, Shape shape, size_t count, int border) {
  std::vector<KeptCorner> corners;
  const int right = shape.width - 1 - border;
  const int bottom = shape.height - 1 - border;
  if (right < border || bottom < border) return corners;
  for (size_t i = 0; i < count; ++i) {
    KeptCorner c;
    c.corner.x = i < 4 ? (i % 2 == 0 ? border : right) : random->Uniform(border, right);
    c.corner.y = i < 4 ? (i < 2 ? border : bottom) : random->Uniform(border, bottom);
    c.angle = i == 5 ? 360.0f : i == 6 ? 0.0f : random->Uniform(0.0f, 360.0f);
    corners.push_back(c);
  }
  return corners;
}

TEST_F(CudaDescribeStagesTest, RbriefOfEverySizePatchAndAngle) {
  Random random(1);
  for (const Shape shape : StageShapes()) {
    for (const int patch : {kMinPatchSize, 9, 31, kMaxPatchSize}) {
      DetectorOptions options = testing::OrbOptions();
      options.descriptor = Descriptor::kRbrief;
      options.patch_size = patch;
      options.edge_threshold = 0;
      options.levels = 4;
      options.max_features = 3000;
      const RbriefPattern pattern = MakeRbriefPattern(patch);
      const Image image = testing::RandomImage(&random, shape);
      const std::vector<LevelTrace> trace = TraceOf(options, image);
      std::vector<std::vector<KeptCorner>> corners;
      for (const LevelTrace& t : trace) {
        // The result has room for what suppression can leave.
        const int room = (std::max(t.level.width() - 6, 0) + 1) / 2 * ((std::max(t.level.height() - 6, 0) + 1) / 2);
        corners.push_back(RandomCorners(&random, t.level.shape(), static_cast<size_t>(std::min(room, 300)), 0));
        for (KeptCorner& c : corners.back()) {
          c.descriptor = reference::Describe(t.level, t.blurred, c.corner.x, c.corner.y, c.angle, pattern);
        }
      }
      ForEachDevice([&](StageDevice* device) {
        StageFrame frame(device, {options, shape});
        frame.SetLevels(trace);
        for (int l = 0; l < frame.levels(); ++l) frame.SetKept(l, corners[static_cast<size_t>(l)]);
        frame.Describe();
        for (int l = 0; l < frame.levels(); ++l) {
          const std::vector<KeptCorner>& expected = corners[static_cast<size_t>(l)];
          const std::vector<KeptCorner> found = frame.Kept(l);
          ASSERT_EQ(found.size(), expected.size());
          for (size_t i = 0; i < found.size(); ++i) {
            ASSERT_EQ(found[i].descriptor, expected[i].descriptor)
                << shape.width << "x" << shape.height << " patch " << patch << " level " << l << " at "
                << expected[i].corner.x << ", " << expected[i].corner.y << " angle " << expected[i].angle;
          }
        }
      });
    }
  }
}

// The blur of whole images, up to the border of the levels.
TEST_F(CudaDescribeStagesTest, RbriefWithFixedPointBlur) {
  Random random(3);
  const DetectorOptions options = PresetOptions("orbslam").value();
  const RbriefPattern pattern = MakeRbriefPattern(options.patch_size);
  for (const Shape shape : {Shape{62, 62}, Shape{97, 211}, Shape{631, 479}}) {
    for (int round = 0; round < 3; ++round) {
      const Image image = round == 0 ? testing::Flat(shape, 255) : testing::RandomImage(&random, shape);
      const std::vector<LevelTrace> trace = TraceOf(options, image);
      StageTest::ForEachDevice([&](StageDevice* device) {
        StageFrame frame(device, {options, shape});
        frame.SetLevels(trace);
        std::vector<std::vector<KeptCorner>> corners;
        for (int l = 0; l < frame.levels(); ++l) {
          const auto room = static_cast<size_t>(frame.frame().level[l].ranked_capacity);
          corners.push_back(RandomCorners(&random, frame.shape(l), std::min<size_t>(room, 100), 0));
          frame.SetKept(l, corners.back());
        }
        frame.Describe();
        for (int l = 0; l < frame.levels(); ++l) {
          const LevelTrace& t = trace[static_cast<size_t>(l)];
          const std::vector<KeptCorner> found = frame.Kept(l);
          ASSERT_EQ(found.size(), corners[static_cast<size_t>(l)].size());
          for (size_t i = 0; i < found.size(); ++i) {
            const KeptCorner& c = corners[static_cast<size_t>(l)][i];
            ASSERT_EQ(found[i].descriptor,
                      reference::Describe(t.level, t.blurred, c.corner.x, c.corner.y, c.angle, pattern))
                << shape.width << "x" << shape.height << " level " << l << " at " << c.corner.x << ", " << c.corner.y;
          }
        }
      });
    }
  }
}

DetectorOptions Bfrost(float scale, int levels) {
  DetectorOptions options = PresetOptions("bfrost").value();
  options.pyramid = Pyramid::kHalf;
  options.scale_factor = 2;
  options.levels = levels;
  options.bfrost_scale = scale;
  options.fast_threshold = 8;
  options.edge_threshold = 0;
  return options;
}

// Keypoints of the reference, with the step of their angle.
std::vector<KeptCorner> KeptOf(const LevelTrace& trace) {
  std::vector<KeptCorner> corners;
  for (size_t i = 0; i < trace.keypoints.size(); ++i) corners.push_back({trace.keypoints[i], trace.angles[i], {}});
  return corners;
}

TEST_F(CudaDescribeStagesTest, BfrostOfEverySizeAndScale) {
  uint32_t seed = 0;
  size_t described = 0;
  for (const Shape shape : StageShapes()) {
    for (const float scale : {kMinBfrostScale, 1.0f, 1.7f, kMaxBfrostScale}) {
      const DetectorOptions options = Bfrost(scale, 3);
      const BfrostPattern pattern = MakeBfrostPattern(scale);
      const std::vector<LevelTrace> trace = TraceOf(options, testing::Texture(shape, ++seed, 1));
      std::vector<std::vector<KeptCorner>> corners;
      for (const LevelTrace& t : trace) {
        corners.push_back(KeptOf(t));
        described += corners.back().size();
        for (KeptCorner& c : corners.back()) {
          const int step = RoundHalfEven(c.angle / kDegreesPerArcStep);
          c.descriptor = reference::DescribeBfrost(t.level, c.corner.x, c.corner.y, step, pattern);
          c.angle = -1;  // found again
        }
      }
      ForEachDevice([&](StageDevice* device) {
        StageFrame frame(device, {options, shape});
        frame.SetLevels(trace);
        for (int l = 0; l < frame.levels(); ++l) frame.SetKept(l, corners[static_cast<size_t>(l)]);
        frame.Describe();
        for (int l = 0; l < frame.levels(); ++l) {
          const LevelTrace& expected = trace[static_cast<size_t>(l)];
          const std::vector<KeptCorner> found = frame.Kept(l);
          ASSERT_EQ(found.size(), expected.keypoints.size());
          for (size_t i = 0; i < found.size(); ++i) {
            ASSERT_EQ(found[i].angle, expected.angles[i]) << "level " << l << " number " << i;
            ASSERT_EQ(found[i].descriptor, corners[static_cast<size_t>(l)][i].descriptor)
                << shape.width << "x" << shape.height << " scale " << scale << " level " << l << " at "
                << expected.keypoints[i].x << ", " << expected.keypoints[i].y;
          }
        }
      });
    }
  }
  EXPECT_GT(described, 1000u);
}

TEST_F(CudaDescribeStagesTest, ArcMidpointsOfEveryArc) {
  size_t found_angles = 0;
  for (int arc = kMinArcLength; arc <= kMaxArcLength; ++arc) {
    for (const Shape shape : {Shape{7, 7}, Shape{33, 17}, Shape{203, 131}}) {
      DetectorOptions options = Bfrost(1, 2);
      options.descriptor = Descriptor::kNone;
      options.orientation = Orientation::kArcMidpoint;
      options.arc_length = arc;
      options.max_arc = 16;
      const std::vector<LevelTrace> trace = TraceOf(options, testing::Texture(shape, 40, 1));
      ForEachDevice([&](StageDevice* device) {
        StageFrame frame(device, {options, shape});
        frame.SetLevels(trace);
        for (int l = 0; l < frame.levels(); ++l) {
          std::vector<KeptCorner> corners = KeptOf(trace[static_cast<size_t>(l)]);
          for (KeptCorner& c : corners) c.angle = -1;
          frame.SetKept(l, corners);
        }
        frame.Describe();
        for (int l = 0; l < frame.levels(); ++l) {
          const std::vector<KeptCorner> found = frame.Kept(l);
          ASSERT_EQ(found.size(), trace[static_cast<size_t>(l)].angles.size());
          for (size_t i = 0; i < found.size(); ++i) {
            ASSERT_EQ(found[i].angle, trace[static_cast<size_t>(l)].angles[i]);
            ++found_angles;
          }
        }
      });
    }
  }
  EXPECT_GT(found_angles, 1000u);
}

TEST_F(CudaDescribeStagesTest, IntegralImages) {
  uint32_t seed = 0;
  std::vector<Shape> shapes = StageShapes();
  shapes.push_back({3000, 19});
  shapes.push_back({19, 3000});
  for (const Shape shape : shapes) {
    for (const bool white : {false, true}) {
      const DetectorOptions options = Bfrost(1, 3);
      const Image image = white ? testing::Flat(shape, 255) : testing::Noise(shape, ++seed);
      const std::vector<LevelTrace> trace = TraceOf(options, image);
      ForEachDevice([&](StageDevice* device) {
        StageFrame frame(device, {options, shape});
        frame.SetLevels(trace);
        for (const Launch& launch : frame.schedule().launches) {
          if (launch.kernel == Kernel::kBandSums || launch.kernel == Kernel::kBandsAbove) frame.Run(launch);
        }
        for (int l = 0; l < frame.levels() && frame.shape(l).width > 0; ++l) {
          const Image& level = trace[static_cast<size_t>(l)].level;
          const std::vector<uint32_t> found = frame.Integral(l);
          std::vector<uint32_t> above(static_cast<size_t>(level.width()));
          size_t at = 0;
          for (int y = 0; y < level.height(); ++y) {
            uint32_t row = 0;
            for (int x = 0; x < level.width(); ++x, ++at) {
              row += level.row(y)[x];
              above[static_cast<size_t>(x)] += row;
              ASSERT_EQ(found[at], above[static_cast<size_t>(x)])
                  << shape.width << "x" << shape.height << " level " << l << " at " << x << ", " << y;
            }
          }
        }
      });
    }
  }
}

// None, one, as many as warps and blocks, and more than there are of them.
TEST_F(CudaDescribeStagesTest, KeypointsOfEveryNumber) {
  Random random(2);
  const Shape shape = {631, 479};
  DetectorOptions options = testing::OrbOptions();
  options.descriptor = Descriptor::kRbrief;
  options.levels = 2;
  options.max_features = 40000;
  const RbriefPattern pattern = MakeRbriefPattern(options.patch_size);
  const std::vector<LevelTrace> trace = TraceOf(options, testing::Texture(shape, 41));
  for (const size_t count : {0, 1, 2, 31, 32, 33, 4000}) {
    std::vector<KeptCorner> corners = RandomCorners(&random, shape, count, 0);
    ForEachDevice([&](StageDevice* device) {
      StageFrame frame(device, {options, shape});
      frame.SetLevels(trace);
      frame.SetKept(0, corners);
      frame.SetKept(1, {});
      frame.Describe();
      const std::vector<KeptCorner> found = frame.Kept(0);
      ASSERT_EQ(found.size(), count);
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(found[i].descriptor, reference::Describe(trace[0].level, trace[0].blurred, corners[i].corner.x,
                                                           corners[i].corner.y, corners[i].angle, pattern))
            << "number " << i << " of " << count;
      }
    });
  }
}

}  // namespace
}  // namespace glint::cuda
