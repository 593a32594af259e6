#include "decode/clahe.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "features/math.h"

namespace glint::decode {
namespace {

constexpr int kTiles = 8;  // along each side
constexpr int kBins = 256;
constexpr int kClipLimit = 40;  // times the mean of the bins

// Where position `at` of an axis lies between the centres of tiles.
struct Place {
  Place(int at, int tile) {
    const float position = static_cast<float>(at) * (1.0f / static_cast<float>(tile)) - 0.5f;
    const int cell = static_cast<int>(std::floor(position));
    weight = position - static_cast<float>(cell);
    before = Max(cell, 0);
    after = Min(cell + 1, kTiles - 1);
  }
  int before, after;
  float weight;  // of `after`
};

// Cuts the bins at `limit` and gives what was cut off to all: in equal parts, and the rest to bins far apart.
void Clip(int limit, int* bins) {
  int clipped = 0;
  for (int i = 0; i < kBins; ++i) {
    clipped += Max(bins[i] - limit, 0);
    bins[i] = Min(bins[i], limit);
  }
  int rest = clipped % kBins;
  for (int i = 0; i < kBins; ++i) bins[i] += clipped / kBins;
  const int step = rest == 0 ? kBins : Max(kBins / rest, 1);
  for (int i = 0; i < kBins && rest > 0; i += step, --rest) ++bins[i];
}

}  // namespace

void Clahe::Apply(const ImageView& image, Image* to) {
  const int width = image.width, height = image.height;
  const bool even = width % kTiles == 0 && height % kTiles == 0;
  // As in OpenCV, a side that eight divides becomes longer by eight if the other side is lengthened.
  const int tile_width = even ? width / kTiles : width / kTiles + 1;
  const int tile_height = even ? height / kTiles : height / kTiles + 1;
  const int pixels = tile_width * tile_height;
  const int limit = Max(static_cast<int>(int64_t{kClipLimit} * pixels / kBins), 1);
  const float scale = 255.0f / static_cast<float>(pixels);
  for (int tile = 0; tile < kTiles * kTiles; ++tile) {
    int bins[kBins] = {};
    const int x0 = tile % kTiles * tile_width, y0 = tile / kTiles * tile_height;
    for (int y = y0; y < y0 + tile_height; ++y) {
      const uint8_t* const row = image.row(Reflect101(y, height));
      const int inside = Max(x0, Min(x0 + tile_width, width));
      for (int x = x0; x < inside; ++x) ++bins[row[x]];
      for (int x = inside; x < x0 + tile_width; ++x) ++bins[row[Reflect101(x, width)]];
    }
    Clip(limit, bins);
    int sum = 0;
    for (int i = 0; i < kBins; ++i) {
      sum += bins[i];
      tables_[static_cast<size_t>(tile)][static_cast<size_t>(i)] =
          static_cast<uint8_t>(Clamp(RoundHalfEven(static_cast<float>(sum) * scale), 0, 255));
    }
  }

  columns_.clear();
  for (int x = 0; x < width; ++x) {
    const Place place(x, tile_width);
    columns_.push_back({place.before, place.after, place.weight});
  }
  to->Resize(image.shape());
  for (int y = 0; y < height; ++y) {
    const Place place(y, tile_height);
    const auto* const above = tables_.data() + place.before * kTiles;
    const auto* const below = tables_.data() + place.after * kTiles;
    const float lower = place.weight, upper = 1.0f - lower;
    const uint8_t* const from = image.row(y);
    uint8_t* const out = to->row(y);
    for (int x = 0; x < width; ++x) {
      const Column& column = columns_[static_cast<size_t>(x)];
      const size_t gray = from[x];
      const float right = column.weight, left = 1.0f - right;
      const float top =
          static_cast<float>(above[column.left][gray]) * left + static_cast<float>(above[column.right][gray]) * right;
      const float bottom =
          static_cast<float>(below[column.left][gray]) * left + static_cast<float>(below[column.right][gray]) * right;
      out[x] = static_cast<uint8_t>(Clamp(RoundHalfEven(top * upper + bottom * lower), 0, 255));
    }
  }
}

}  // namespace glint::decode
