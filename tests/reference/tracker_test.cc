// The reference tracker on pictures with known displacements, and what it says when it fails.
#include "features/reference/tracker.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "features/track_system.h"
#include "gtest/gtest.h"
#include "tests/support/images.h"

namespace glint {
namespace {

// A smooth pattern, so that moving it by parts of a pixel needs no interpolation.
Image Waves(Shape shape, double dx, double dy, double gain = 1, double offset = 0) {
  Image image(shape.width, shape.height);
  for (int y = 0; y < shape.height; ++y) {
    for (int x = 0; x < shape.width; ++x) {
      const double u = x - dx;
      const double v = y - dy;
      const double value = 110 + 40 * std::sin(0.31 * u + 0.12 * v) + 35 * std::cos(0.27 * v - 0.09 * u) +
                           20 * std::sin(0.05 * u) * std::cos(0.06 * v);
      image.row(y)[x] = static_cast<uint8_t>(std::clamp(std::lround(gain * value + offset), 0L, 255L));
    }
  }
  return image;
}

class Pyramids {
 public:
  Pyramids(const ImageView& from, const ImageView& to, const TrackOptions& options) {
    for (const auto& [image, e] : {std::pair{&from, 0}, std::pair{&to, 1}}) {
      images_[e].push_back(Image::CopyOf(*image));
      const int levels = UsedTrackLevels(options, from.shape());
      for (int l = 1; l < levels; ++l) images_[e].push_back(reference::HalveForTracking(images_[e].back()));
      for (const Image& level : images_[e]) views_[e].push_back(level);
    }
  }
  TrackInput input(const std::vector<float>& x, const std::vector<float>& y) const {
    TrackInput input;
    input.from = {views_[0].data(), static_cast<int>(views_[0].size())};
    input.to = {views_[1].data(), static_cast<int>(views_[1].size())};
    input.count = static_cast<int>(x.size());
    input.x = x.data();
    input.y = y.data();
    return input;
  }
  TrackResult Track(const std::vector<float>& x, const std::vector<float>& y, const TrackOptions& options) const {
    EXPECT_EQ(ValidateTrackOptions(options).message(), "");
    EXPECT_EQ(ValidateTrackInput(input(x, y), options).message(), "");
    return reference::Track(input(x, y), options);
  }

 private:
  std::vector<Image> images_[2];
  std::vector<ImageView> views_[2];
};

constexpr Shape kShape = {160, 120};
const std::vector<float> kX = {40.25f, 80, 110.7f};
const std::vector<float> kY = {50, 61.5f, 70.3f};

TEST(ReferenceTracker, FindsPartsOfAPixel) {
  const TrackOptions options;
  for (const auto& [dx, dy] : {std::pair{0.0, 0.0}, std::pair{0.4, -0.3}, std::pair{3.7, 2.2}, std::pair{-6.5, 5.25}}) {
    const TrackResult result = Pyramids(Waves(kShape, 0, 0), Waves(kShape, dx, dy), options).Track(kX, kY, options);
    for (size_t i = 0; i < kX.size(); ++i) {
      EXPECT_EQ(result.status[i], TrackStatus::kTracked);
      EXPECT_NEAR(result.x[i] - kX[i], dx, 0.03) << dx;
      EXPECT_NEAR(result.y[i] - kY[i], dy, 0.03) << dy;
      EXPECT_LT(result.residual[i], 1.0f);
      EXPECT_EQ(result.gain[i], 1.0f);
      EXPECT_EQ(result.offset[i], 0.0f);
    }
  }
}

TEST(ReferenceTracker, EstimatesGainAndOffset) {
  const Image from = Waves(kShape, 0, 0);
  const Image to = Waves(kShape, 1.5, -2.25, 0.7, 30);
  TrackOptions options;
  options.levels = 2;  // on coarser ones the waves look alike
  options.intensity = IntensityModel::kGainAndOffset;
  const TrackResult both = Pyramids(from, to, options).Track(kX, kY, options);
  for (size_t i = 0; i < kX.size(); ++i) {
    EXPECT_NEAR(both.x[i] - kX[i], 1.5, 0.03);
    EXPECT_NEAR(both.y[i] - kY[i], -2.25, 0.03);
    EXPECT_NEAR(both.gain[i], 0.7, 0.02);
    EXPECT_NEAR(both.offset[i], 30, 2);
    EXPECT_LT(both.residual[i], 1.0f);
  }
  options.intensity = IntensityModel::kSame;
  const TrackResult same = Pyramids(from, to, options).Track(kX, kY, options);
  EXPECT_GT(same.residual[0], 2.0f);

  options.intensity = IntensityModel::kOffset;
  const TrackResult offset = Pyramids(from, Waves(kShape, 1.5, -2.25, 1, 25), options).Track(kX, kY, options);
  EXPECT_NEAR(offset.offset[1], 25, 0.2);
  EXPECT_EQ(offset.gain[1], 1.0f);
  EXPECT_NEAR(offset.x[1] - kX[1], 1.5, 0.03);

  options.intensity = IntensityModel::kGain;
  const TrackResult gain = Pyramids(from, Waves(kShape, 1.5, -2.25, 1.3, 0), options).Track(kX, kY, options);
  EXPECT_NEAR(gain.gain[1], 1.3, 0.01);
  EXPECT_EQ(gain.offset[1], 0.0f);
  EXPECT_NEAR(gain.y[1] - kY[1], -2.25, 0.03);
}

// In a cell the step is the least-squares solution for the image between its pixels, wherever that is.
TEST(ReferenceTracker, CellsHoldTheStepsOfAllTheirPositions) {
  const Image from = testing::Texture(kShape, 3, 3);
  const Image to = testing::Texture(kShape, 4, 3);
  constexpr int kSize = 9;
  const reference::TrackPatch patch =
      reference::MakeTrackPatch(from, {40 * kTrackGrid + 13, 50 * kTrackGrid + 50}, kSize);
  const TemplateSums t = reference::SumTemplate(patch);
  for (const IntensityModel model : {IntensityModel::kSame, IntensityModel::kOffset, IntensityModel::kGain}) {
    SCOPED_TRACE(static_cast<int>(model));
    TrackSystem system;
    ASSERT_TRUE(MakeTrackSystem(model, kSize * kSize, t, 0, &system));
    const CellSteps steps = SolveCell(model, t, system, reference::SumCell(patch, to, 37, 44));
    for (const auto& [right, down] : {std::pair{0, 0}, std::pair{63, 0}, std::pair{0, 63}, std::pair{17, 41}}) {
      // Columns: gradients, the basis, one. Rows: the normal equations.
      double a[3][3] = {};
      double b[3] = {};
      for (int i = 0; i < kSize * kSize; ++i) {
        const int x = 37 + i % kSize;
        const int y = 44 + i / kSize;
        const double u = right / 64.0;
        const double v = down / 64.0;
        const double pixel = (1 - v) * ((1 - u) * to.row(y)[x] + u * to.row(y)[x + 1]) +
                             v * ((1 - u) * to.row(y + 1)[x] + u * to.row(y + 1)[x + 1]);
        const auto at = static_cast<size_t>(i);
        const double sample = patch.sample[at] / 64.0;
        const double column[3] = {-patch.gradient_x[at] / 16.0, -patch.gradient_y[at] / 16.0,
                                  model == IntensityModel::kOffset ? 1.0
                                  : model == IntensityModel::kGain ? patch.basis[at] / 8.0
                                                                   : 0.0};
        for (int r = 0; r < 3; ++r) {
          for (int c = 0; c < 3; ++c) a[r][c] += column[r] * column[c];
          b[r] += column[r] * (pixel - sample);
        }
      }
      if (model == IntensityModel::kSame) a[2][2] = 1;
      for (int r = 0; r < 3; ++r) {
        for (int below = r + 1; below < 3; ++below) {
          const double factor = a[below][r] / a[r][r];
          for (int c = 0; c < 3; ++c) a[below][c] -= factor * a[r][c];
          b[below] -= factor * b[r];
        }
      }
      double solution[3];
      for (int r = 2; r >= 0; --r) {
        solution[r] = b[r];
        for (int c = r + 1; c < 3; ++c) solution[r] -= a[r][c] * solution[c];
        solution[r] /= a[r][r];
      }
      const double gain = model == IntensityModel::kGain ? std::max(1 + solution[2], double{kMinStepGain}) : 1;
      const TrackStep step = StepAt(model, steps, static_cast<float>(right), static_cast<float>(down));
      EXPECT_NEAR(step.x, 64 * solution[0] / gain, 0.01 + std::abs(step.x) * 1e-4);
      EXPECT_NEAR(step.y, 64 * solution[1] / gain, 0.01 + std::abs(step.y) * 1e-4);
    }
  }
}

TEST(ReferenceTracker, PredictionsReachFarther) {
  const Image from = testing::Texture({260, 200}, 5, 3);
  // The same texture, 60 pixels away.
  const ImageView near_part{from.row(20), 180, 160, from.stride()};
  const ImageView far_part{from.row(20) + 60, 180, 160, from.stride()};
  TrackOptions options;
  options.levels = 2;
  const Pyramids pyramids(near_part, far_part, options);
  const std::vector<float> x = {100, 120};
  const std::vector<float> y = {80, 90};
  TrackInput input = pyramids.input(x, y);
  const std::vector<float> to_x = {42, 58};
  input.to_x = to_x.data();
  input.to_y = y.data();
  options.max_backward_error = 0.2f;
  ASSERT_EQ(ValidateTrackInput(input, options).message(), "");
  const TrackResult result = reference::Track(input, options);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(result.status[i], TrackStatus::kTracked);
    EXPECT_NEAR(result.x[i], x[i] - 60, 0.01);
    EXPECT_NEAR(result.y[i], y[i], 0.01);
    EXPECT_LT(result.backward_error[i], 0.02f);
  }
}

TEST(ReferenceTracker, SaysWhyPointsAreLost) {
  const Image waves = Waves(kShape, 0, 0);
  const Image moved = Waves(kShape, 4, 0);
  const std::vector<float> x = {80};
  const std::vector<float> y = {60};
  const auto status = [&](const ImageView& from, const ImageView& to, const std::vector<float>& at,
                          const TrackOptions& options) {
    const TrackResult result = Pyramids(from, to, options).Track(at, y, options);
    if (result.status[0] != TrackStatus::kTracked && result.status[0] <= TrackStatus::kMovedTooFar) {
      EXPECT_EQ(result.residual[0], 0.0f);
      EXPECT_EQ(result.gain[0], 1.0f);
    }
    return result.status[0];
  };
  TrackOptions options;
  EXPECT_EQ(status(waves, moved, x, options), TrackStatus::kTracked);
  EXPECT_EQ(status(testing::Flat(kShape, 90), waves, x, options), TrackStatus::kFlat);
  EXPECT_EQ(status(waves, moved, {159.6f}, options), TrackStatus::kOutOfImage);
  EXPECT_EQ(status(waves, moved, {-0.33f}, options), TrackStatus::kOutOfImage);
  EXPECT_EQ(status(waves, moved, {157}, options), TrackStatus::kOutOfImage);  // moves out

  options.max_move = 3;
  EXPECT_EQ(status(waves, moved, x, options), TrackStatus::kMovedTooFar);
  options = {};
  options.max_residual = 5;
  const Image brighter = Waves(kShape, 4, 0, 1, 12);
  EXPECT_EQ(status(waves, moved, x, options), TrackStatus::kTracked);
  EXPECT_EQ(status(waves, brighter, x, options), TrackStatus::kHighResidual);
  options.intensity = IntensityModel::kOffset;
  EXPECT_EQ(status(waves, brighter, x, options), TrackStatus::kTracked);
  options = {};
  options.max_iterations = 1;
  options.levels = 1;
  EXPECT_EQ(status(waves, moved, x, options), TrackStatus::kTracked);
  options.require_convergence = true;
  EXPECT_EQ(status(waves, moved, x, options), TrackStatus::kNotConverged);
  options = {};
  options.levels = 1;
  options.max_backward_error = 0.1f;
  EXPECT_EQ(status(testing::Texture(kShape, 1), testing::Texture(kShape, 2), x, options), TrackStatus::kBackwardError);
  options = {};
  options.min_eigenvalue = 5000;
  EXPECT_EQ(status(waves, moved, x, options), TrackStatus::kFlat);
}

// A point is where it was, whatever part of a pixel that is: rounding to the grid must not move it.
TEST(ReferenceTracker, StandsStillOnTheSameImage) {
  const Image image = testing::Texture(kShape, 3, 3);
  const TrackOptions options;
  std::vector<float> x, y;
  for (int i = 0; i < 50; ++i) {
    x.push_back(30 + 1.8371f * static_cast<float>(i));
    y.push_back(20 + 1.5713f * static_cast<float>(i));
  }
  const TrackResult result = Pyramids(image, image, options).Track(x, y, options);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(result.status[i], TrackStatus::kTracked);
    EXPECT_EQ(result.x[i], x[i]);
    EXPECT_EQ(result.y[i], y[i]);
    EXPECT_EQ(result.residual[i], 0.0f);
    EXPECT_EQ(result.iterations[i], options.levels);
  }
}

// All that is tracked ends within 0..width - 1 and 0..height - 1, wherever it was looked for; on a border as well.
TEST(ReferenceTracker, PositionsOutsideTheImageAreLost) {
  std::vector<float> x, y, to_x, to_y;
  for (int i = 0; i <= 64; ++i) {
    const float part = static_cast<float>(i) / 16 - 2;  // -2..2 around a corner of the image
    for (const float last : {0.0f, 1.0f}) {
      x.insert(x.end(), {last * 159 + part, 80});
      y.insert(y.end(), {60, last * 119 + part});
      to_x.insert(to_x.end(), {x[x.size() - 2] - part / 2, 80});
      to_y.insert(to_y.end(), {60, y.back() - part / 2});
    }
  }
  const auto is_inside = [](float at_x, float at_y) { return at_x >= 0 && at_x <= 159 && at_y >= 0 && at_y <= 119; };
  const Image waves = Waves(kShape, 0, 0);
  for (const double step : {-0.7, -0.33, -0.003, 0.0, 0.003, 0.33, 0.7}) {
    const Image moved = Waves(kShape, step, step);
    TrackOptions options;
    options.levels = 3;
    const Pyramids pyramids(waves, moved, options);
    TrackInput input = pyramids.input(x, y);
    input.to_x = to_x.data();
    input.to_y = to_y.data();
    for (const bool predicted : {false, true}) {
      const TrackResult result = predicted ? reference::Track(input, options) : pyramids.Track(x, y, options);
      int tracked = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        if (result.status[i] != TrackStatus::kTracked) continue;
        ++tracked;
        EXPECT_TRUE(is_inside(x[i], y[i])) << x[i] << ", " << y[i];
        EXPECT_TRUE(is_inside(result.x[i], result.y[i])) << result.x[i] << ", " << result.y[i];
      }
      EXPECT_GT(tracked, 20) << step;
    }
  }
}

TEST(ReferenceTracker, StaysOnTheBorder) {
  const Image image = testing::Texture(kShape, 3, 3);
  const std::vector<float> x = {0, 159, 50.3f, 90.7f, 0, 159}, y = {40, 70.6f, 0, 119, 0, 119};
  const TrackResult result = Pyramids(image, image, {}).Track(x, y, {});
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(result.status[i], TrackStatus::kTracked) << i;
  EXPECT_EQ(result.x, x);
  EXPECT_EQ(result.y, y);
}

TEST(ReferenceTracker, ValidationNamesFieldValueAndRange) {
  TrackOptions options;
  EXPECT_TRUE(ValidateTrackOptions(options).ok());
  options.levels = 9;
  EXPECT_EQ(ValidateTrackOptions(options).message(), "levels: 9 is not in 1..8");
  options = {};
  options.patch_size = 33;
  EXPECT_EQ(ValidateTrackOptions(options).message(), "patch_size: 33 is not in 3..32");
  options = {};
  options.epsilon = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(ValidateTrackOptions(options).message(), "epsilon: nan is not in 0..1");
  options = {};
  options.intensity = static_cast<IntensityModel>(4);
  EXPECT_EQ(ValidateTrackOptions(options).message(),
            "intensity: \"4\" is not one of same, offset, gain, gain_and_offset");

  options = {};
  const Image image = testing::Texture({64, 48}, 1);
  const Pyramids pyramids(image, image, options);
  std::vector<float> x = {5, 7};
  const std::vector<float> y = {5, 7};
  EXPECT_TRUE(ValidateTrackInput(pyramids.input(x, y), options).ok());
  x[1] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(ValidateTrackInput(pyramids.input(x, y), options).message(), "x[1]: inf is not in -32768..32768");
  x[1] = 7;
  TrackInput input = pyramids.input(x, y);
  input.to_x = x.data();
  EXPECT_EQ(ValidateTrackInput(input, options).message(),
            "to_x, to_y: one of these arrays is missing; both or none are needed");
  input = pyramids.input(x, y);
  input.count = kMaxTrackPoints + 1;
  EXPECT_EQ(ValidateTrackInput(input, options).message(), "count: 65537 is not in 0..65536");
  input = pyramids.input(x, y);
  input.to.count = 4;
  EXPECT_EQ(ValidateTrackInput(input, options).message(), "to.count: 4, but 64x48 with 5 levels needs 5");
  const Image other = testing::Texture({66, 48}, 1);
  const Pyramids wider(other, other, options);
  input = pyramids.input(x, y);
  input.to = wider.input(x, y).to;
  EXPECT_EQ(ValidateTrackInput(input, options).message(), "to.levels[0]: 66x48, but the other image is 64x48");
}

}  // namespace
}  // namespace glint
