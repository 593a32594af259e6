#include "decode/jpeg_parts.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace glint::decode {
namespace {

constexpr uint8_t kMarker = 0xff, kStuffed = 0, kRestart0 = 0xd0, kEnd = 0xd9;
constexpr uint8_t kFrames[] = {0xc0, 0xc1};  // baseline and extended sequential
constexpr int64_t kRestarts = 8;

int Read16(absl::Span<const uint8_t> file, size_t at) { return file[at] * 256 + file[at + 1]; }

// Offset of the height in the frame header; 0: the segments are malformed.
size_t FindHeight(absl::Span<const uint8_t> file, size_t header_bytes) {
  size_t at = 2;
  while (at + 7 <= header_bytes && file[at] == kMarker) {
    if (std::find(std::begin(kFrames), std::end(kFrames), file[at + 1]) != std::end(kFrames)) return at + 5;
    at += 2 + static_cast<size_t>(Read16(file, at + 2));
  }
  return 0;
}

// Sets the offsets of the parts' data. False: unexpected markers. `first` has the first restart interval of each part,
// and of the part after the last.
bool FindData(absl::Span<const uint8_t> file, const JpegScan& scan, int64_t intervals,
              const std::array<int64_t, JpegParts::kMax + 1>& first, JpegParts* parts) {
  int64_t interval = 0;
  int open = 0;
  parts->part[0].begin = scan.begin;
  const uint8_t* const end = file.data() + file.size();
  const uint8_t* at = file.data() + scan.begin;
  while ((at = static_cast<const uint8_t*>(std::memchr(at, kMarker, static_cast<size_t>(end - at)))) != nullptr) {
    if (end - at < 2) return false;
    const uint8_t code = at[1];
    const auto place = static_cast<size_t>(at - file.data());
    at += 2;
    if (code == kStuffed) continue;
    if (code == kEnd) {
      parts->part[static_cast<size_t>(open)].end = place;
      return interval + 1 == intervals && open + 1 == parts->count;
    }
    if (code != kRestart0 + interval % kRestarts || ++interval >= intervals) return false;
    if (interval != first[static_cast<size_t>(open) + 1]) continue;
    parts->part[static_cast<size_t>(open)].end = place;
    parts->part[static_cast<size_t>(++open)].begin = place + 2;
  }
  return false;
}

}  // namespace

JpegParts FindJpegParts(absl::Span<const uint8_t> file, const JpegScan& scan, int wanted) {
  JpegParts parts;
  if (scan.restart_units < 1 || wanted < 2) return parts;
  const int64_t columns = (scan.shape.width + scan.unit.width - 1) / scan.unit.width;
  const int64_t rows = (scan.shape.height + scan.unit.height - 1) / scan.unit.height;
  const int64_t intervals = (columns * rows + scan.restart_units - 1) / scan.restart_units;
  // Intervals after which both a row of units and eight markers end.
  const int64_t step = std::lcm(kRestarts, columns / std::gcd(columns, int64_t{scan.restart_units}));
  const int64_t rows_of_step = step * scan.restart_units / columns;
  const int64_t steps = (intervals + step - 1) / step;
  const auto count = static_cast<int>(std::min<int64_t>({wanted, JpegParts::kMax, steps}));
  parts.height_at = FindHeight(file, scan.begin);
  if (count < 2 || parts.height_at == 0 || Read16(file, parts.height_at) != scan.shape.height) return parts;

  parts.count = count;
  std::array<int64_t, JpegParts::kMax + 1> first = {};
  for (int p = 0; p <= count; ++p) {
    const int64_t begin = steps * p / count;
    first[static_cast<size_t>(p)] = begin * step;
    const auto row = static_cast<int>(std::min<int64_t>(begin * rows_of_step * scan.unit.height, scan.shape.height));
    if (p < count) parts.part[static_cast<size_t>(p)].first_row = row;
    if (p > 0) parts.part[static_cast<size_t>(p) - 1].rows = row - parts.part[static_cast<size_t>(p) - 1].first_row;
  }
  if (!FindData(file, scan, intervals, first, &parts)) parts.count = 0;
  return parts;
}

}  // namespace glint::decode
