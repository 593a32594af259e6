#include "tests/cuda/jpeg_model.h"

#include <algorithm>
#include <vector>

#include "cuda/jpeg/inverse_dct.h"
#include "cuda/jpeg/subsequence.h"

namespace glint::cuda {
namespace {

// The scan without stuffing and markers.
struct CleanScan {
  std::vector<uint32_t> words;
  std::vector<uint32_t> begins;  // bits; the last one is the end

  uint32_t operator()(uint32_t i) const { return i < words.size() ? words[i] : 0; }
};

// false: a marker is missing or out of place.
bool Clean(const JpegPlan& plan, const uint8_t* scan, size_t size, CleanScan* clean) {
  std::vector<uint8_t> bytes;
  clean->begins.assign(1, 0);
  size_t i = 0;
  for (;; ++i) {
    if (i + 1 >= size) return false;
    if (scan[i] != 0xff) {
      bytes.push_back(scan[i]);
    } else if (scan[++i] == 0) {
      bytes.push_back(0xff);
    } else if ((scan[i] & 0xf8) == 0xd0) {
      if ((scan[i] & 7) != ((clean->begins.size() - 1) & 7)) return false;
      clean->begins.push_back(static_cast<uint32_t>(8 * bytes.size()));
    } else {
      break;
    }
  }
  if (scan[i] != 0xd9 || clean->begins.size() != static_cast<size_t>(plan.intervals)) return false;
  clean->begins.push_back(static_cast<uint32_t>(8 * bytes.size()));
  clean->words.assign((bytes.size() + 3) / 4, 0);
  for (size_t b = 0; b < bytes.size(); ++b) clean->words[b / 4] |= uint32_t{bytes[b]} << (24 - b % 4 * 8);
  return true;
}

JpegReason ToPixels(const JpegPlan& plan, const std::vector<int16_t>& coefficients, Image* luma) {
  luma->Resize(plan.shape);
  for (int64_t block = 0; block < plan.luma_blocks(); ++block) {
    int32_t values[8][8];
    bool fits = true;
    for (int i = 0; i < 64; ++i) {
      values[i / 8][i % 8] = coefficients[static_cast<size_t>(64 * block + i)] * int32_t{plan.tables.quantizer[i]};
      fits = fits && FitsDct(values[i / 8][i % 8]);
    }
    for (int x = 0; x < 8; ++x) {
      int32_t column[8];
      for (int y = 0; y < 8; ++y) column[y] = values[y][x];
      InverseDct<kColumnShift>(column);
      for (int y = 0; y < 8; ++y) {
        values[y][x] = column[y];
        fits = fits && FitsDct(column[y]);
      }
    }
    const auto unit = static_cast<int>(block / plan.unit_luma()), in_unit = static_cast<int>(block % plan.unit_luma());
    const int left = 8 * (unit % plan.unit_columns * plan.luma_columns + in_unit % plan.luma_columns);
    const int top = 8 * (unit / plan.unit_columns * plan.luma_rows + in_unit / plan.luma_columns);
    for (int y = 0; y < 8; ++y) {
      InverseDct<kRowShift>(values[y]);
      for (int x = 0; x < 8; ++x) {
        fits = fits && FitsPixel(values[y][x]);
        if (left + x < luma->width() && top + y < luma->height())
          luma->row(top + y)[left + x] = PixelOfDct(values[y][x]);
      }
    }
    if (!fits) return JpegReason::kRange;
  }
  return JpegReason::kNone;
}

}  // namespace

JpegReason DecodeByModel(const JpegPlan& plan, const uint8_t* file, size_t size, int max_rounds, Image* luma) {
  CleanScan clean;
  if (!Clean(plan, file + plan.scan_begin, size - plan.scan_begin, &clean)) return JpegReason::kScan;
  const ScanShape scan = ShapeOf(plan);
  const uint32_t bits = clean.begins.back();
  const uint32_t each = 32 * SubsequenceWords(static_cast<uint32_t>(size - plan.scan_begin), scan.blocks);
  const uint32_t count = (bits + each - 1) / each;
  const auto end_of = [&](uint32_t i) { return std::min(bits, (i + 1) * each); };

  std::vector<Cursor> starts(count), ends(count);
  std::vector<Passed> passed(count);
  const auto run = [&](uint32_t i) {
    Counter counter(scan.interval_blocks);
    ends[i] = starts[i];
    DecodeSubsequence(scan, plan.tables, clean.begins.data(), clean, end_of(i), &ends[i], &counter);
    passed[i] = counter.passed();
  };
  for (uint32_t i = 0; i < count; ++i) {
    starts[i] = {i * each, 0};
    run(i);
  }
  bool changed = true;
  for (int round = 0; changed && round < max_rounds; ++round) {
    changed = false;
    const std::vector<Cursor> before = ends;
    for (uint32_t i = 1; i < count; ++i) {
      if (starts[i] == before[i - 1]) continue;
      starts[i] = before[i - 1];
      run(i);
      changed = true;
    }
  }

  std::vector<int16_t> coefficients(static_cast<size_t>(64 * plan.luma_blocks()));
  Passed before;
  uint32_t intervals = 0;
  for (uint32_t i = 0; i < count; ++i) {
    Cursor cursor = i == 0 ? Cursor() : ends[i - 1];
    Writer writer(scan, plan.tables.natural, before, cursor,
                  IntervalAt(clean.begins.data(), scan.intervals, cursor.bit), coefficients.data());
    DecodeSubsequence(scan, plan.tables, clean.begins.data(), clean, end_of(i), &cursor, &writer);
    if (!(cursor == ends[i]) || !(writer.passed() == passed[i])) return JpegReason::kSync;
    if (!writer.regular()) return JpegReason::kScan;
    intervals += writer.intervals();
    before = Join(before, passed[i]);
  }
  if (intervals != scan.intervals) return JpegReason::kScan;
  return ToPixels(plan, coefficients, luma);
}

}  // namespace glint::cuda
