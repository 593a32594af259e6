// Each stage on its own against the reference's, so that a difference names its stage.
#include "cpu/common/stages.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cpu/common/buffer.h"
#include "cpu/describe/blur_runs.h"
#include "cpu/harris/harris_corners.h"
#include "cpu/pyramid/levels.h"
#include "cpu/select/select.h"
#include "features/math.h"
#include "features/reference/fast.h"
#include "features/reference/gaussian.h"
#include "features/reference/harris.h"
#include "features/reference/orientation.h"
#include "features/reference/pyramid.h"
#include "features/reference/rbrief.h"
#include "features/reference/selection.h"
#include "gtest/gtest.h"
#include "tests/cpu/simd.h"
#include "tests/support/images.h"
#include "tests/support/random.h"

namespace glint {
namespace {

using reference::Corner;
using testing::Random;
using testing::StridedImage;

class StagesTest : public testing::SimdTest {
 protected:
  const cpu::Stages stages_ = MakeStages();
};
INSTANTIATE_TEST_SUITE_P(Simd, StagesTest, ::testing::ValuesIn(testing::TargetNames()), testing::ParamName);

cpu::Rect Inside(Shape shape, int border) { return {border, border, shape.width - border, shape.height - border}; }

std::vector<Shape> WideShapes() { return {{128, 31}, {131, 40}, {191, 33}, {193, 64}, {255, 20}, {631, 47}}; }

std::vector<uint32_t> RandomPoints(Random* random, Shape shape, int count) {
  std::vector<uint32_t> points;
  for (int i = 0; i < count; ++i) {
    points.push_back(cpu::PackPoint(random->Uniform(0, shape.width - 1), random->Uniform(0, shape.height - 1)));
  }
  return points;
}

TEST_P(StagesTest, FastRaw) {
  Random random(1);
  cpu::Buffer<uint8_t> scratch;
  for (const Shape shape : WideShapes()) {
    for (int i = 0; i < 12; ++i) {
      const Image image = testing::RandomImage(&random, shape);
      const StridedImage exact(image, shape.width, 1);
      const int threshold = random.OneIn(4) ? random.Uniform(1, 254) : random.Uniform(1, 40);
      const int arc = random.OneIn(2) ? 9 : random.Uniform(9, 12);
      std::vector<uint32_t> where(static_cast<size_t>(shape.pixels()) + cpu::kListSlack);
      scratch.Grow(cpu::FastScratchBytes(shape.width));
      where.resize(stages_.fast_raw({exact, Inside(shape, kFastRadius), threshold, arc}, scratch.data(), where.data()));
      std::vector<uint32_t> expected;
      for (const Corner& c : reference::DetectFast(image, threshold, arc)) expected.push_back(cpu::PackPoint(c.x, c.y));
      EXPECT_EQ(where, expected) << shape.width << "x" << shape.height << " t " << threshold << " arc " << arc;
    }
  }
}

TEST_P(StagesTest, FastSuppressed) {
  Random random(2);
  cpu::Buffer<uint8_t> scratch;
  for (const Shape shape : WideShapes()) {
    for (int i = 0; i < 12; ++i) {
      const Image image = testing::RandomImage(&random, shape);
      const StridedImage exact(image, shape.width, 1);
      const int threshold = random.Uniform(1, 40);
      const int arc = random.OneIn(2) ? 9 : random.Uniform(9, 12);
      const cpu::Rect region = Inside(shape, random.Uniform(kFastRadius, 9));
      const size_t room = cpu::MaxSuppressedCorners(region) + cpu::kListSlack;
      std::vector<uint32_t> where(room);
      std::vector<uint8_t> score(room);
      scratch.Grow(cpu::FastScratchBytes(shape.width));
      const size_t count =
          stages_.fast_suppressed({exact, region, threshold, arc}, scratch.data(), where.data(), score.data());
      std::vector<Corner> found;
      for (size_t k = 0; k < count; ++k) {
        found.push_back({cpu::PointX(where[k]), cpu::PointY(where[k]), static_cast<float>(score[k])});
      }
      const auto maxima = reference::SuppressNonMaxima(reference::DetectFast(image, threshold, arc), shape);
      EXPECT_EQ(found, reference::KeepInside(maxima, shape, region.x0)) << shape.width << "x" << shape.height;
    }
  }
}

TEST_P(StagesTest, HarrisCorners) {
  Random random(3);
  cpu::HarrisScratch scratch;
  for (const Shape shape : WideShapes()) {
    const Image image = testing::RandomImage(&random, shape);
    const StridedImage exact(image, shape.width, 1);
    const cpu::Rect region = Inside(shape, random.Uniform(kFastRadius, 6));
    std::vector<uint32_t> where(cpu::MaxSuppressedCorners(region) + cpu::kListSlack);
    std::vector<float> response(where.size());
    scratch.Prepare(shape.width);
    const size_t count = cpu::HarrisCorners(stages_, {exact, region, 12, 9}, &scratch, where.data(), response.data());
    std::vector<Corner> found;
    for (size_t k = 0; k < count; ++k) found.push_back({cpu::PointX(where[k]), cpu::PointY(where[k]), response[k]});
    std::vector<Corner> corners = reference::DetectFast(image, 12, 9);
    for (Corner& c : corners) c.response = reference::HarrisAt(image, c.x, c.y);
    EXPECT_EQ(found, reference::KeepInside(reference::SuppressNonMaxima(corners, shape), shape, region.x0));
  }
}

TEST_P(StagesTest, Resize) {
  Random random(4);
  cpu::ResizeTables tables;
  cpu::Plane out;
  cpu::Buffer<int16_t> scratch;
  for (int i = 0; i < 60; ++i) {
    const Shape from = {random.Uniform(cpu::kWideImage, 700), random.Uniform(1, 90)};
    // Factors beyond 2 do not fit the vectors' 16 bytes, and every level but the first may have one.
    const float factor = random.OneIn(5) ? random.Uniform(2.0f, 2.6f) : random.Uniform(1.0f, 2.0f);
    const Shape to = {std::max(1, static_cast<int>(static_cast<float>(from.width) / factor)),
                      std::max(1, static_cast<int>(static_cast<float>(from.height) / factor))};
    const Image image = testing::Noise(from, random.Bits());
    const StridedImage exact(image, from.width + random.Uniform(0, 3), 1);
    cpu::MakeResizeTables(from, to, &tables);
    out.Resize(to);
    scratch.Grow(cpu::ResizeScratchElements(to.width));
    const int middle = random.Uniform(0, to.height);  // in two bands
    for (const auto& [y0, y1] : {std::pair(0, middle), std::pair(middle, to.height)}) {
      stages_.resize(tables, exact, y0, y1, out.memory.data(), out.view.stride, scratch.data());
    }
    EXPECT_TRUE(testing::SamePixels(out.view, reference::Resize(image, to)))
        << from.width << "x" << from.height << " to " << to.width << "x" << to.height;
  }
}

TEST_P(StagesTest, Harris) {
  Random random(5);
  for (const Shape shape : WideShapes()) {
    const Image image = testing::RandomImage(&random, shape);
    const StridedImage exact(image, shape.width, 1);
    for (const int count : {0, 1, 2, 3, 5, 200}) {
      const std::vector<uint32_t> points = RandomPoints(&random, shape, count);
      std::vector<float> response(points.size());
      stages_.harris(exact, points.data(), points.size(), response.data());
      for (size_t i = 0; i < points.size(); ++i) {
        EXPECT_EQ(response[i], reference::HarrisAt(image, cpu::PointX(points[i]), cpu::PointY(points[i])));
      }
    }
  }
}

TEST_P(StagesTest, HarrisAtItsLargest) {
  // Steps between 0 and 255 in all directions: sums of squares beyond 24 bits, which floats round.
  for (const int cell : {2, 3, 4, 7, 20}) {
    const Image image = testing::Checkerboard({140, 60}, cell);
    std::vector<uint32_t> points;
    for (int y = 0; y < 60; ++y) {
      for (int x = 0; x < 140; ++x) points.push_back(cpu::PackPoint(x, y));
    }
    std::vector<float> response(points.size());
    stages_.harris(image, points.data(), points.size(), response.data());
    for (size_t i = 0; i < points.size(); ++i) {
      ASSERT_EQ(response[i], reference::HarrisAt(image, cpu::PointX(points[i]), cpu::PointY(points[i])));
    }
  }
}

TEST_P(StagesTest, Centroid) {
  Random random(6);
  for (const int patch_size : {2, 3, 15, 30, 31, 32, 47, 63}) {
    const PatchDisc disc = MakePatchDisc(patch_size);
    const cpu::CentroidTable table = cpu::MakeCentroidTable(disc);
    for (const Shape shape : {Shape{128, 20}, Shape{201, 90}}) {
      for (const Image& image : {testing::RandomImage(&random, shape), testing::Flat(shape, 255)}) {
        const StridedImage exact(image, shape.width, 1);
        const std::vector<uint32_t> points = RandomPoints(&random, shape, 100);
        std::vector<float> angle(points.size());
        stages_.centroid(exact, table, points.data(), points.size(), angle.data());
        for (size_t i = 0; i < points.size(); ++i) {
          EXPECT_EQ(angle[i], reference::CentroidAngle(image, cpu::PointX(points[i]), cpu::PointY(points[i]), disc));
        }
      }
    }
  }
}

TEST_P(StagesTest, BlurWhereNeeded) {
  Random random(7);
  cpu::BlurRuns runs;
  runs.Prepare(1100);
  for (const Shape shape : {Shape{128, 30}, Shape{511, 40}, Shape{530, 9}, Shape{150, 200}, Shape{1100, 60}}) {
    const Image image = testing::RandomImage(&random, shape);
    const StridedImage exact(image, shape.width, 1);
    const Image expected = reference::GaussianBlur(image);
    cpu::Plane out;
    out.Resize(shape);
    const int reach = random.Uniform(1, 40);
    std::vector<uint32_t> points = RandomPoints(&random, shape, random.Uniform(1, 12));
    std::sort(points.begin(), points.end());
    for (int y0 = 0; y0 < shape.height; y0 += cpu::kBlurRows) {
      const int y1 = std::min(y0 + cpu::kBlurRows, shape.height);
      runs.ForEach(points.data(), points.size(), shape, reach, y0, y1, [&](int x, int begin, int end) {
        stages_.blur({exact, x, begin, end, out.memory.data(), out.view.stride});
      });
    }
    for (const uint32_t p : points) {
      for (int y = std::max(cpu::PointY(p) - reach, 0); y <= std::min(cpu::PointY(p) + reach, shape.height - 1); ++y) {
        for (int x = std::max(cpu::PointX(p) - reach, 0); x <= std::min(cpu::PointX(p) + reach, shape.width - 1); ++x) {
          ASSERT_EQ(out.view.at(x, y), expected.row(y)[x]) << x << "," << y;
        }
      }
    }
  }
}

TEST(BlurRunsTest, CoverWhatIsReadOnceAndLittleMore) {
  Random random(17);
  cpu::BlurRuns runs;
  runs.Prepare(300);
  for (int i = 0; i < 200; ++i) {
    const Shape shape = {random.Uniform(1, 300), random.Uniform(1, 200)};
    const int reach = random.Uniform(0, 46);
    std::vector<uint32_t> points = RandomPoints(&random, shape, random.Uniform(0, 20));
    std::sort(points.begin(), points.end());
    const int y0 = random.Uniform(0, shape.height - 1);
    const int y1 = random.Uniform(y0 + 1, shape.height);
    const int blocks = (shape.width + cpu::kBlurBlock - 1) / cpu::kBlurBlock;
    std::vector<int> covered(static_cast<size_t>(blocks * shape.height));
    runs.ForEach(points.data(), points.size(), shape, reach, y0, y1, [&](int x, int begin, int end) {
      ASSERT_EQ(x % cpu::kBlurBlock, 0);
      ASSERT_LT(begin, end);
      ASSERT_LE(y0, begin);
      ASSERT_LE(end, y1);
      for (int y = begin; y < end; ++y) ++covered[static_cast<size_t>(y * blocks + x / cpu::kBlurBlock)];
    });
    for (int y = 0; y < shape.height; ++y) {
      for (int block = 0; block < blocks; ++block) {
        const auto is_read = [&](int slack) {
          return std::any_of(points.begin(), points.end(), [&](uint32_t p) {
            return std::abs(cpu::PointY(p) - y) <= reach + slack && cpu::PointX(p) + reach >= block * cpu::kBlurBlock &&
                   cpu::PointX(p) - reach < (block + 1) * cpu::kBlurBlock;
          });
        };
        const int times = covered[static_cast<size_t>(y * blocks + block)];
        if (y < y0 || y >= y1) {
          EXPECT_EQ(times, 0);
        } else if (is_read(0)) {
          EXPECT_EQ(times, 1) << block << "," << y;
        } else {
          EXPECT_LE(times, is_read(3) ? 1 : 0) << block << "," << y;
        }
      }
    }
  }
}

TEST_P(StagesTest, Describe) {
  Random random(8);
  for (const int patch_size : {2, 3, 8, 21, 28, 29, 30, 31, 32, 33, 63}) {
    const RbriefPattern pattern = MakeRbriefPattern(patch_size);
    const cpu::PatternTable table = cpu::MakePatternTable(pattern);
    EXPECT_LE(table.reach, RbriefReach(patch_size));
    const Image image = testing::Noise({150, 140}, 9);
    for (int i = 0; i < 300; ++i) {
      const int x = random.Uniform(table.reach, 149 - table.reach);
      const int y = random.Uniform(table.reach, 139 - table.reach);
      const float angle = i == 0 ? 360.0f : random.Uniform(0.0f, 360.0f);
      std::array<uint8_t, kRbriefBytes> descriptor;
      stages_.describe(table, image.row(y) + x, image.stride(), angle, descriptor.data());
      EXPECT_EQ(descriptor, reference::Describe(image, image, x, y, angle, pattern)) << angle;
    }
  }
}

TEST(SelectTest, KeepsTheBestAndTheirTies) {
  Random random(10);
  cpu::Buffer<uint32_t> scratch;
  for (int i = 0; i < 300; ++i) {
    std::vector<Corner> corners;
    std::vector<uint32_t> where;
    std::vector<uint8_t> score;
    std::vector<float> response;
    const int spread = random.OneIn(2) ? 254 : 5;  // few different values: many ties
    for (int k = random.Uniform(0, 400); k > 0; --k) {
      const int value = random.Uniform(0, spread);
      score.push_back(static_cast<uint8_t>(value));
      response.push_back(random.OneIn(2) ? static_cast<float>(value - 2) * 1e-7f : -0.0f);
      where.push_back(static_cast<uint32_t>(where.size()));
    }
    const int n = random.Uniform(0, 300);
    const auto expect = [&](const std::vector<float>& values, size_t count, const std::vector<uint32_t>& kept) {
      std::vector<Corner> all;
      for (size_t k = 0; k < values.size(); ++k) all.push_back({static_cast<int>(k), 0, values[k]});
      const std::vector<Corner> expected = reference::RetainBest(all, n);
      ASSERT_EQ(count, expected.size());
      for (size_t k = 0; k < count; ++k) ASSERT_EQ(static_cast<int>(kept[k]), expected[k].x);
    };
    std::vector<uint32_t> by_score = where;
    std::vector<float> out(score.size());
    const size_t kept =
        cpu::KeepBestScores(by_score.data(), score.data(), score.size(), static_cast<size_t>(n), out.data());
    expect(std::vector<float>(score.begin(), score.end()), kept, by_score);
    std::vector<float> responses = response;
    const size_t best =
        cpu::KeepBestResponses(where.data(), responses.data(), responses.size(), static_cast<size_t>(n), &scratch);
    expect(response, best, where);
  }
}

TEST(SelectTest, TrimsTheLastOfThoseThatTie) {
  std::vector<uint32_t> where = {0, 1, 2, 3, 4, 5};
  std::vector<float> response = {1, 2, 1, 3, 1, 1};
  EXPECT_EQ(cpu::TrimTies(where.data(), response.data(), 6, 6), 6u);
  ASSERT_EQ(cpu::TrimTies(where.data(), response.data(), 6, 4), 4u);
  where.resize(4);
  response.resize(4);
  EXPECT_EQ(where, (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(response, (std::vector<float>{1, 2, 1, 3}));
}

TEST(SelectTest, OrdersByResponseThenPlace) {
  Random random(11);
  cpu::Buffer<uint64_t> scratch;
  for (int i = 0; i < 200; ++i) {
    std::vector<float> response;
    for (int k = random.Uniform(0, 300); k > 0; --k)
      response.push_back(static_cast<float>(random.Uniform(-9, 9)) * 0.1f);
    std::vector<uint32_t> slot(response.size());
    cpu::OutputOrder(response.data(), response.size(), &scratch, slot.data());
    std::vector<uint32_t> order(response.size());
    for (uint32_t k = 0; k < order.size(); ++k) order[k] = k;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return response[a] > response[b]; });
    for (uint32_t k = 0; k < order.size(); ++k) EXPECT_EQ(slot[order[k]], k);
  }
}

}  // namespace
}  // namespace glint
