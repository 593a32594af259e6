// Selection::kQuadtree on the CPU against the reference, bit for bit, at every SIMD target: its stages, and the
// pipeline.
#include "cpu/select/quadtree.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cpu/common/quadtree_stages.h"
#include "cpu/fast/cell_columns.h"
#include "cpu/pipeline.h"
#include "cpu/pyramid/levels.h"
#include "features/reference/gaussian.h"
#include "features/reference/pyramid.h"
#include "features/reference/quadtree.h"
#include "features/reference/reference.h"
#include "gtest/gtest.h"
#include "tests/cpu/simd.h"
#include "tests/support/features.h"
#include "tests/support/images.h"
#include "tests/support/options.h"

namespace glint {
namespace {

using reference::Corner;
using testing::Random;
using testing::SameFeatures;
using testing::StridedImage;
using testing::ToString;

class QuadtreeTest : public testing::SimdTest {
 protected:
  cpu::QuadtreeStages MakeQuadtreeStages() const {
    const testing::ForcedSimd forced(GetParam());
    return cpu::QuadtreeStagesFor(cpu::BestSimdTarget());
  }
};
INSTANTIATE_TEST_SUITE_P(Simd, QuadtreeTest, ::testing::ValuesIn(testing::TargetNames()), testing::ParamName);

DetectorOptions Orbslam() { return PresetOptions("orbslam").value(); }

DetectorOptions RandomOrbslam(Random* random) {
  DetectorOptions options = Orbslam();
  options.levels = random->Uniform(1, 8);
  options.scale_factor = random->OneIn(2) ? 1.2f : random->Uniform(kMinScaleFactor, kMaxScaleFactor);
  options.max_features = random->OneIn(3) ? random->Uniform(1, 30) : random->Uniform(1, 3000);
  options.ini_fast_threshold = random->OneIn(3) ? 20 : random->Uniform(1, 120);
  options.min_fast_threshold =
      random->OneIn(5) ? options.ini_fast_threshold : random->Uniform(1, options.ini_fast_threshold);
  if (random->OneIn(4)) options.descriptor = Descriptor::kNone;
  return options;
}

TEST_P(QuadtreeTest, ResizeEqualsTheReference) {
  const cpu::QuadtreeStages stages = MakeQuadtreeStages();
  Random random(4);
  cpu::LinearTables tables;
  cpu::Plane out;
  cpu::Buffer<int16_t> scratch;
  for (int i = 0; i < 60; ++i) {
    const Shape from = {random.Uniform(cpu::kWideImage, 700), random.Uniform(1, 90)};
    // Factors beyond 2 do not fit the vectors' 16 bytes.
    const float factor = random.OneIn(5)   ? random.Uniform(2.0f, 2.6f)
                         : random.OneIn(8) ? 2.0f
                                           : random.Uniform(1.0f, 2.0f);
    const Shape to = {std::max(1, static_cast<int>(static_cast<float>(from.width) / factor)),
                      std::max(1, static_cast<int>(static_cast<float>(from.height) / factor))};
    const Image image = testing::Noise(from, random.Bits());
    const StridedImage exact(image, from.width + random.Uniform(0, 3), 1);
    cpu::MakeLinearTables(from, to, &tables);
    out.Resize(to);
    scratch.Grow(cpu::ResizeScratchElements(to.width));
    const int middle = random.Uniform(0, to.height);  // in two bands
    for (const auto& [y0, y1] : {std::pair(0, middle), std::pair(middle, to.height)}) {
      stages.resize(tables, exact, y0, y1, out.memory.data(), out.view.stride, scratch.data());
    }
    EXPECT_TRUE(testing::SamePixels(out.view, reference::ResizeLinear(image, to)))
        << from.width << "x" << from.height << " to " << to.width << "x" << to.height;
  }
}

TEST_P(QuadtreeTest, BlurEqualsTheReferenceWhereAsked) {
  const cpu::QuadtreeStages stages = MakeQuadtreeStages();
  Random random(5);
  cpu::Plane out;
  cpu::Buffer<int16_t> scratch;
  scratch.Grow(cpu::kFixedBlurScratchElements);
  for (const int width : {1, 2, 7, 16, 17, 38, 127, 128, 130, 530}) {
    const Shape shape = {width, random.Uniform(1, 90)};
    const Image image = random.OneIn(3) ? testing::Flat(shape, 255) : testing::RandomImage(&random, shape);
    const StridedImage exact(image, width);
    const Image expected = reference::FixedGaussianBlur(image);
    out.Resize(shape);
    for (int x0 = 0; x0 < width; x0 += cpu::kBlurBlock) {
      const int y0 = random.Uniform(0, shape.height - 1);
      const int y1 = random.Uniform(y0 + 1, std::min(y0 + cpu::kBlurRows, shape.height));
      stages.blur({exact, x0, y0, y1, out.memory.data(), out.view.stride}, scratch.data());
      for (int y = y0; y < y1; ++y) {
        for (int x = x0; x < std::min(width, x0 + cpu::kBlurBlock); ++x) {
          ASSERT_EQ(out.row(y)[x], expected.row(y)[x]) << width << "x" << shape.height << " at " << x << "," << y;
        }
      }
    }
  }
}

TEST_P(QuadtreeTest, PipelineEqualsTheReference) {
  // One pipeline for all: what one frame leaves in its scratch must not matter to the next.
  const auto pipeline = MakePipeline();
  const auto threaded = MakePipeline(3);
  Random random(6);
  for (int i = 0; i < testing::Repetitions(60); ++i) {
    const Shape shape = {random.Uniform(1, 500), random.Uniform(1, 300)};
    const DetectorOptions options = RandomOrbslam(&random);
    const Image image = random.OneIn(4) ? testing::Texture(shape, random.Bits()) : testing::RandomImage(&random, shape);
    const StridedImage strided(image, shape.width + random.Uniform(0, 70), random.Bits());
    const Image mask = testing::RandomMask(&random, shape);
    const ImageView mask_view = random.OneIn(3) ? mask.view() : ImageView{};
    const Features expected = reference::Detect(options, image, mask_view);
    for (cpu::Pipeline* const p : {pipeline.get(), threaded.get()}) {
      Features features;
      ASSERT_TRUE(p->Detect(options, strided, mask_view, &features, nullptr).ok());
      EXPECT_TRUE(SameFeatures(expected, features)) << shape.width << "x" << shape.height << " " << ToString(options);
    }
  }
}

// The reference takes its time: once for all targets.
const Features& ExpectedOf(const DetectorOptions& options, const Image& image) {
  static auto* const answers = new std::map<std::tuple<int, int, int>, Features>();
  const auto [answer, is_new] = answers->try_emplace({image.width(), image.height(), options.max_features});
  if (is_new) answer->second = reference::Detect(options, image);
  return answer->second;
}

TEST_P(QuadtreeTest, LongImagesAndFlatOnes) {
  const auto pipeline = MakePipeline(2);
  DetectorOptions options = Orbslam();
  Features features;
  for (const Shape shape : {Shape{631, 479}, Shape{3000, 62}, Shape{62, 3000}, Shape{3000, 110}, Shape{110, 2000}}) {
    const Image image = testing::Texture(shape, 2);
    for (const int n : {1, 30, 1000, 20000}) {
      options.max_features = n;
      ASSERT_TRUE(pipeline->Detect(options, image, {}, &features, nullptr).ok());
      EXPECT_TRUE(SameFeatures(ExpectedOf(options, image), features)) << shape.width << " " << ToString(options);
      EXPECT_GT(features.count(), 0u);
    }
  }
  ASSERT_TRUE(pipeline->Detect(options, testing::Flat({300, 200}, 9), {}, &features, nullptr).ok());
  EXPECT_EQ(features.count(), 0u);
}

// Lists with many ties, crowded in places, of any share.
TEST(QuadtreeSelection, EqualsTheReferenceOnRandomLists) {
  Random random(7);
  cpu::QuadtreeSelection selection;
  for (int i = 0; i < testing::Repetitions(300); ++i) {
    const Shape shape = {random.Uniform(62, 900), random.Uniform(62, 400)};
    const int crowd = random.OneIn(2) ? 12 : 2000;
    const int center_x = random.Uniform(kQuadtreeEdge, shape.width - kQuadtreeEdge - 1);
    const int center_y = random.Uniform(kQuadtreeEdge, shape.height - kQuadtreeEdge - 1);
    std::vector<uint32_t> where;
    for (int n = random.Uniform(0, 400); n > 0; --n) {
      const int x =
          std::clamp(center_x + random.Uniform(-crowd, crowd), kQuadtreeEdge, shape.width - kQuadtreeEdge - 1);
      const int y =
          std::clamp(center_y + random.Uniform(-crowd, crowd), kQuadtreeEdge, shape.height - kQuadtreeEdge - 1);
      where.push_back(cpu::PackPoint(x, y));
    }
    std::sort(where.begin(), where.end());
    where.erase(std::unique(where.begin(), where.end()), where.end());
    std::vector<uint8_t> score;
    std::vector<Corner> corners;
    for (const uint32_t point : where) {
      score.push_back(static_cast<uint8_t>(random.Uniform(20, random.OneIn(2) ? 22 : 200)));
      corners.push_back({cpu::PointX(point), cpu::PointY(point), static_cast<float>(score.back())});
    }
    // In the order that ties are decided by: cells row by row, then raster.
    const QuadtreeAxis across = DivideQuadtreeAxis(shape.width);
    const QuadtreeAxis down = DivideQuadtreeAxis(shape.height);
    std::stable_sort(corners.begin(), corners.end(), [&](const Corner& a, const Corner& b) {
      const auto cell = [&](const Corner& c) {
        return std::pair((c.y - kQuadtreeEdge) / down.cell, (c.x - kQuadtreeEdge) / across.cell);
      };
      return cell(a) < cell(b);
    });
    const int share = random.OneIn(3) ? random.Uniform(0, 9) : random.Uniform(0, 450);
    std::vector<Corner> expected = reference::Distribute(corners, shape, share);
    std::sort(expected.begin(), expected.end(),
              [](const Corner& a, const Corner& b) { return std::pair(a.y, a.x) < std::pair(b.y, b.x); });
    std::vector<float> response(where.size() + 1);
    const size_t count = selection.Keep(shape, share, where.data(), score.data(), where.size(), response.data());
    std::vector<Corner> found;
    for (size_t k = 0; k < count; ++k) {
      found.push_back({cpu::PointX(where[k]), cpu::PointY(where[k]), response[k]});
    }
    EXPECT_EQ(found, expected) << shape.width << "x" << shape.height << " share " << share;
  }
}

}  // namespace
}  // namespace glint
