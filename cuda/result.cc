#include "cuda/result.h"

#include <algorithm>
#include <cstring>

namespace glint::cuda {
namespace {

constexpr size_t kBlock = 16;  // corners at a time, in loops that a compiler turns into vectors

struct Corners {
  float x[kBlock], y[kBlock], response[kBlock], angle[kBlock];
};

// The first `count` of a block; the others are undefined.
void Read(const RankedCorner* from, size_t count, float scale, bool integer_keys, float response_scale, Corners* to) {
  uint32_t position[kBlock] = {};
  uint32_t key[kBlock] = {};
  for (size_t i = 0; i < count; ++i) {
    RankedCorner corner;
    std::memcpy(&corner, &from[i], sizeof(corner));
    position[i] = corner.position;
    key[i] = corner.key;
    to->angle[i] = corner.angle;
  }
  for (size_t i = 0; i < kBlock; ++i) {
    to->x[i] = static_cast<float>(XOf(position[i])) * scale;
    to->y[i] = static_cast<float>(YOf(position[i])) * scale;
  }
  if (integer_keys) {
    for (size_t i = 0; i < kBlock; ++i) to->response[i] = static_cast<float>(static_cast<int32_t>(key[i]));
    return;
  }
  for (size_t i = 0; i < kBlock; ++i) {
    // FromOrderedKey() without a branch.
    key[i] ^= ~static_cast<uint32_t>(static_cast<int32_t>(key[i]) >> 31 & 0x7fffffff);
  }
  std::memcpy(to->response, key, sizeof(key));
  for (size_t i = 0; i < kBlock; ++i) to->response[i] *= response_scale;
}

}  // namespace

void ReadResult(const Frame& frame, const DetectorOptions& detector, bool integer_keys, float response_scale,
                Features* features) {
  size_t found = 0;
  for (int l = 0; l < frame.levels; ++l) found += frame.result->kept[l];
  const auto capacity = static_cast<size_t>(OutputCapacity(detector));
  const bool describes = detector.descriptor != Descriptor::kNone;
  features->Resize(std::min(found, capacity), describes ? kRbriefBytes : 0);
  features->truncated = found > capacity;
  size_t out = 0;
  for (int l = 0; l < frame.levels; ++l) {
    const Level& level = frame.level[l];
    const size_t count = std::min<size_t>(frame.result->kept[l], features->count() - out);
    if (count == 0) continue;
    for (size_t first = 0; first < count; first += kBlock) {
      Corners corners;
      const size_t n = std::min(kBlock, count - first);
      Read(level.result + first, n, level.scale, integer_keys, response_scale, &corners);
      const size_t at = out + first;
      std::memcpy(&features->x[at], corners.x, n * sizeof(float));
      std::memcpy(&features->y[at], corners.y, n * sizeof(float));
      std::memcpy(&features->response[at], corners.response, n * sizeof(float));
      std::memcpy(&features->angle[at], corners.angle, n * sizeof(float));
    }
    std::fill_n(features->size.begin() + out, count, static_cast<float>(detector.patch_size) * level.scale);
    std::fill_n(features->octave.begin() + out, count, l);
    if (describes) {
      std::memcpy(features->descriptors.data() + out * kRbriefBytes, level.descriptors, count * kRbriefBytes);
    }
    out += count;
  }
}

}  // namespace glint::cuda
