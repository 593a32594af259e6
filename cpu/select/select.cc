#include "cpu/select/select.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

namespace glint::cpu {
namespace {

constexpr int kBinBits = 11;
constexpr size_t kBins = size_t{1} << kBinBits;

// Unsigned integers in the order of the floats. The two zeros are one.
uint32_t OrderedBits(float value) {
  const float no_negative_zero = value + 0.0f;
  uint32_t bits;
  std::memcpy(&bits, &no_negative_zero, sizeof(bits));
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

// How far to shift differences from the least key so that they are bin numbers.
int BinShift(uint32_t range) {
  int shift = 0;
  while ((range >> shift) >= kBins) ++shift;
  return shift;
}

// The n-th largest of keys[0..count), 1 <= n <= count. One histogram finds its bin; only that bin is partitioned.
uint32_t NthLargest(uint32_t* keys, size_t count, size_t n) {
  const auto [least, most] = std::minmax_element(keys, keys + count);
  const uint32_t low = *least;
  const int shift = BinShift(*most - low);
  uint32_t bins[kBins] = {};
  for (size_t i = 0; i < count; ++i) ++bins[(keys[i] - low) >> shift];
  size_t bin = kBins - 1;
  size_t above = 0;
  while (above + bins[bin] < n) above += bins[bin--];
  size_t in_bin = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t key = keys[i];
    keys[in_bin] = key;
    in_bin += ((key - low) >> shift) == bin;
  }
  std::nth_element(keys, keys + (n - above - 1), keys + in_bin, std::greater<uint32_t>());
  return keys[n - above - 1];
}

// Stable sort of the upper halves by bytes, least significant first; bytes that are all the same are skipped.
void SortByUpperHalf(uint64_t* keys, uint64_t* other, size_t count) {
  constexpr int kPasses = 4;
  uint32_t starts[kPasses][256] = {};
  for (size_t i = 0; i < count; ++i) {
    for (int p = 0; p < kPasses; ++p) ++starts[p][(keys[i] >> (32 + 8 * p)) & 0xff];
  }
  uint64_t* from = keys;
  uint64_t* to = other;
  for (int p = 0; p < kPasses; ++p) {
    uint32_t* start = starts[p];
    if (start[(from[0] >> (32 + 8 * p)) & 0xff] == count) continue;
    uint32_t sum = 0;
    for (int b = 0; b < 256; ++b) sum += std::exchange(start[b], sum);
    for (size_t i = 0; i < count; ++i) to[start[(from[i] >> (32 + 8 * p)) & 0xff]++] = from[i];
    std::swap(from, to);
  }
  if (from != keys) std::memcpy(keys, from, count * sizeof(uint64_t));
}

}  // namespace

size_t KeepBestScores(uint32_t* where, const uint8_t* score, size_t count, size_t n, float* response) {
  // A score is a byte: its histogram says where the n-th is.
  int worst = 0;
  if (count > n) {
    if (n == 0) return 0;
    // Neighbours are often alike, and an increment has to wait for the one before of the same bin: four tables.
    uint32_t part[4][256] = {};
    for (size_t i = 0; i < count; ++i) ++part[i & 3][score[i]];
    uint32_t bins[256];
    for (int b = 0; b < 256; ++b) bins[b] = part[0][b] + part[1][b] + part[2][b] + part[3][b];
    worst = 255;
    for (size_t above = bins[255]; above < n; above += bins[worst]) --worst;
  }
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    where[kept] = where[i];
    response[kept] = score[i];
    kept += score[i] >= worst;
  }
  return kept;
}

size_t KeepBestResponses(uint32_t* where, float* response, size_t count, size_t n, Buffer<uint32_t>* scratch) {
  if (count <= n) return count;
  if (n == 0) return 0;
  uint32_t* keys = scratch->Reserve(count);
  for (size_t i = 0; i < count; ++i) keys[i] = OrderedBits(response[i]);
  const uint32_t worst = NthLargest(keys, count, n);
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    const float r = response[i];
    where[kept] = where[i];
    response[kept] = r;
    kept += OrderedBits(r) >= worst;
  }
  return kept;
}

size_t TrimTies(uint32_t* where, float* response, size_t count, size_t limit) {
  if (count <= limit) return count;
  const float worst = *std::min_element(response, response + count);
  const size_t tied = static_cast<size_t>(std::count(response, response + count, worst));
  size_t room = tied - (count - limit);  // for those that tie
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    const float r = response[i];
    if (r == worst) {
      if (room == 0) continue;
      --room;
    }
    where[kept] = where[i];
    response[kept] = r;
    ++kept;
  }
  return kept;
}

void OutputOrder(const float* response, size_t count, Buffer<uint64_t>* scratch, uint32_t* slot) {
  if (count == 0) return;
  uint64_t* keys = scratch->Reserve(2 * count);
  for (size_t i = 0; i < count; ++i) keys[i] = static_cast<uint64_t>(~OrderedBits(response[i])) << 32 | i;
  SortByUpperHalf(keys, keys + count, count);
  for (size_t i = 0; i < count; ++i) slot[keys[i] & 0xffffffff] = static_cast<uint32_t>(i);
}

}  // namespace glint::cpu
