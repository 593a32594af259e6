#include "features/reference/tracker.h"

#include <cstddef>
#include <utility>

#include "features/track_point.h"

namespace glint::reference {
namespace {

// What TrackPoint() asks for.
class Patches {
 public:
  Patches(const TrackInput& input, const TrackOptions& options)
      : from_(input.from.levels),
        to_(input.to.levels),
        levels_(UsedTrackLevels(options, input.from.levels[0].shape())),
        intensity_(options.intensity) {}

  int levels() const { return levels_; }
  int width(int level) const { return to_[level].width; }
  int height(int level) const { return to_[level].height; }
  IntensityModel intensity() const { return intensity_; }
  TemplateSums Template(int level, GridPoint centre, int size, GridPoint /*first*/) {
    level_ = level;
    patch_ = MakeTrackPatch(from_[level], centre, size);
    return SumTemplate(patch_);
  }
  CellSums Cell(int x, int y) const { return SumCell(patch_, to_[level_], x, y); }
  ResidualSums Residual(GridPoint at) const { return SumResidual(patch_, to_[level_], at); }
  void Reverse(float /*x*/, float /*y*/) { std::swap(from_, to_); }

 private:
  const ImageView* from_;
  const ImageView* to_;
  int levels_;
  IntensityModel intensity_;
  int level_ = 0;
  TrackPatch patch_;
};

}  // namespace

Image HalveForTracking(const ImageView& image) {
  Image out(image.width / 2, image.height / 2);
  for (int y = 0; y < out.height(); ++y) {
    for (int x = 0; x < out.width(); ++x) {
      int sum = 0;
      for (int j = 0; j < kPyramidTaps; ++j) {
        for (int i = 0; i < kPyramidTaps; ++i) {
          const int from_x = Clamp(2 * x + i - kPyramidReach, 0, image.width - 1);
          const int from_y = Clamp(2 * y + j - kPyramidReach, 0, image.height - 1);
          sum += PyramidWeight(i) * PyramidWeight(j) * image.at(from_x, from_y);
        }
      }
      out.row(y)[x] = static_cast<uint8_t>(PyramidPixel(sum));
    }
  }
  return out;
}

std::vector<int> SampleWindow(const ImageView& image, const PatchPosition& at, int width, int height) {
  const auto pixel = [&](int x, int y) {
    return image.at(Clamp(x, 0, image.width - 1), Clamp(y, 0, image.height - 1));
  };
  const auto across = [&](int x, int y) { return SampleAcross(at.weight_x, pixel(x, y), pixel(x + 1, y)); };
  std::vector<int> samples;
  for (int y = at.y; y < at.y + height; ++y) {
    for (int x = at.x; x < at.x + width; ++x) {
      samples.push_back(SampleDown(at.weight_y, across(x, y), across(x, y + 1)));
    }
  }
  return samples;
}

TrackPatch MakeTrackPatch(const ImageView& image, GridPoint centre, int size) {
  const PatchPosition at = PatchPositionAt(centre, size);
  // One sample more on each side, for the gradients.
  const int wide = size + 2;
  const std::vector<int> window = SampleWindow(image, {at.x - 1, at.y - 1, at.weight_x, at.weight_y}, wide, wide);
  TrackPatch patch;
  patch.size = size;
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      const int* const middle = &window[static_cast<size_t>((y + 1) * wide + x + 1)];
      const auto across = [&](int line) { return middle[line * wide + 1] - middle[line * wide - 1]; };
      const auto down = [&](int line) { return middle[line + wide] - middle[line - wide]; };
      const bool counts = at.x + x >= 0 && at.y + y >= 0 && at.x + x < image.width && at.y + y < image.height;
      patch.sample.push_back(*middle);
      patch.counts.push_back(counts ? 1 : 0);
      patch.gradient_x.push_back(counts ? TrackGradient(across(0), across(-1) + across(1)) : 0);
      patch.gradient_y.push_back(counts ? TrackGradient(down(0), down(-1) + down(1)) : 0);
      patch.basis.push_back(counts ? GainBasis(*middle) : 0);
    }
  }
  return patch;
}

TemplateSums SumTemplate(const TrackPatch& patch) {
  TemplateSums sums = {};
  for (size_t i = 0; i < patch.sample.size(); ++i) {
    const int64_t x = patch.gradient_x[i];
    const int64_t y = patch.gradient_y[i];
    const int64_t b = patch.basis[i];
    const int64_t t = patch.sample[i];
    sums.n += patch.counts[i];
    sums.xx += x * x;
    sums.xy += x * y;
    sums.yy += y * y;
    sums.xt += x * t;
    sums.yt += y * t;
    sums.x += x;
    sums.y += y;
    sums.t += t * patch.counts[i];
    sums.xb += x * b;
    sums.yb += y * b;
    sums.bb += b * b;
    sums.bt += b * t;
    sums.b += b;
  }
  return sums;
}

CellSums SumCell(const TrackPatch& patch, const ImageView& image, int x, int y) {
  CellSums sums = {};
  for (int c = 0; c < 4; ++c) {
    for (int i = 0; i < patch.size * patch.size; ++i) {
      const int column = Clamp(x + (c & 1) + i % patch.size, 0, image.width - 1);
      const int row = Clamp(y + (c >> 1) + i / patch.size, 0, image.height - 1);
      const int pixel = image.at(column, row);
      const auto at = static_cast<size_t>(i);
      sums.corner[c].x += pixel * patch.gradient_x[at];
      sums.corner[c].y += pixel * patch.gradient_y[at];
      sums.corner[c].one += pixel * patch.counts[at];
      sums.corner[c].b += pixel * patch.basis[at];
    }
  }
  return sums;
}

ResidualSums SumResidual(const TrackPatch& patch, const ImageView& image, GridPoint centre) {
  const std::vector<int> window = SampleWindow(image, PatchPositionAt(centre, patch.size), patch.size, patch.size);
  ResidualSums sums = {};
  for (size_t i = 0; i < window.size(); ++i) {
    const int64_t difference = ResidualOf(window[i] - patch.sample[i]);
    sums.square += difference * difference * patch.counts[i];
    sums.one += difference * patch.counts[i];
    sums.b += difference * patch.basis[i];
  }
  return sums;
}

TrackResult Track(const TrackInput& input, const TrackOptions& options) {
  TrackResult result;
  result.Resize(static_cast<size_t>(input.count));
  for (size_t i = 0; i < result.count(); ++i) {
    const float dx = input.to_x == nullptr ? 0 : input.to_x[i] - input.x[i];
    const float dy = input.to_y == nullptr ? 0 : input.to_y[i] - input.y[i];
    Patches patches(input, options);
    StoreTrackedPoint(TrackPoint(input.x[i], input.y[i], dx, dy, options, &patches), i, &result);
  }
  return result;
}

}  // namespace glint::reference
