// The scan's symbols, a subsequence at a time: what a thread of the device does, and what tests do in its place.
//
// After A. Weissenberger, B. Schmidt, "Massively parallel Huffman decoding on GPUs" (ICPP 2018) and "Accelerating JPEG
// decompression on GPUs" (HiPC 2021): the scan, free of stuffing and markers, is cut into subsequences of as many bits.
// A decoder that begins at a wrong bit, or in a wrong block of the unit, falls in with the right one after a while. So
// decoders begin at every cut, and go on through the subsequences behind it. On the device one begins in each block of
// the unit, and goes on until it comes to where another was: the right way is made of what any of them found. Pure
// functions.
#ifndef GLINT_CUDA_JPEG_SUBSEQUENCE_H_
#define GLINT_CUDA_JPEG_SUBSEQUENCE_H_

#include <cstddef>
#include <cstdint>

#include "cuda/jpeg/jpeg_plan.h"
#include "features/math.h"

namespace glint::cuda {

// Words of a subsequence. The more bits blocks have, the longer a wrong way can be.
inline constexpr uint32_t kMinSubsequenceWords = 4, kMaxSubsequenceWords = 8;
inline uint32_t SubsequenceWords(uint32_t scan_bytes, uint32_t blocks) {
  constexpr uint64_t kManyBits = 400;  // of a block
  return uint64_t{8} * scan_bytes > kManyBits * blocks ? kMaxSubsequenceWords : kMinSubsequenceWords;
}
// A symbol and the look ahead of it: words that are read behind a subsequence.
inline constexpr int kWordsBehind = 4;

// Where a decoder is: between two symbols.
struct Cursor {
  uint32_t bit = 0;    // of the scan
  uint32_t place = 0;  // of the next coefficient: 64 * block of the unit + position in zigzag order

  friend GLINT_HD bool operator==(Cursor a, Cursor b) { return a.bit == b.bit && a.place == b.place; }
};

// What lies between two cursors, or between the begin of the scan and a cursor. Blocks are those that ended.
struct Passed {
  uint32_t blocks = 0;  // kFromStart: counted from the begin of the scan, as the restart interval began in between
  int32_t dc = 0;       // sum of luma's differences, in the interval
};
inline constexpr uint32_t kFromStart = 1u << 31;
GLINT_HD inline bool operator==(Passed a, Passed b) { return a.blocks == b.blocks && a.dc == b.dc; }

GLINT_HD inline Passed Join(Passed first, Passed second) {
  if (second.blocks & kFromStart) return second;
  return {first.blocks + second.blocks,
          static_cast<int32_t>(static_cast<uint32_t>(first.dc) + static_cast<uint32_t>(second.dc))};
}

// Of a scan.
struct ScanShape {
  uint32_t unit_luma = 0;
  uint32_t unit_blocks = 0;
  uint32_t blocks = 0;           // of all units
  uint32_t interval_blocks = 0;  // of a restart interval but the last
  uint32_t intervals = 0;
};
inline ScanShape ShapeOf(const JpegPlan& plan) {
  const auto unit_blocks = static_cast<uint32_t>(plan.unit_blocks);
  return {static_cast<uint32_t>(plan.unit_luma()), unit_blocks, static_cast<uint32_t>(plan.units()) * unit_blocks,
          static_cast<uint32_t>(plan.restart_units) * unit_blocks, static_cast<uint32_t>(plan.intervals)};
}

// The restart interval, of those whose first bits `begins` has, that `bit` lies in. begins[intervals] is the scan's
// end.
GLINT_HD inline uint32_t IntervalAt(const uint32_t* begins, uint32_t intervals, uint32_t bit) {
  uint32_t first = 0, last = intervals - 1;
  while (first < last) {
    const uint32_t middle = (first + last + 1) / 2;
    if (begins[middle] <= bit) {
      first = middle;
    } else {
      last = middle - 1;
    }
  }
  return first;
}

// The first 32 bits from bit `offset`, 0..31, of two words on.
GLINT_HD inline uint32_t Window(uint32_t high, uint32_t low, uint32_t offset) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_l(low, high, offset);
#else
  return offset == 0 ? high : high << offset | low >> (32 - offset);
#endif
}

struct Symbol {
  uint32_t window;  // the bits it begins with
  uint32_t entry;

  GLINT_HD uint32_t bits() const { return entry & 31; }
  GLINT_HD uint32_t size() const { return entry >> 5 & 15; }
  GLINT_HD uint32_t skip() const { return entry >> 9; }
  GLINT_HD bool wrong() const { return size() == kWrongSize; }
  // T.81, F.2.2.1: 0 for size 0.
  GLINT_HD int32_t value() const {
    const uint32_t magnitude = (window << (bits() - size())) >> 1 >> (31 - size());
    const bool negative = magnitude < (1u << size()) >> 1;
    return static_cast<int32_t>(magnitude) - (negative ? static_cast<int32_t>((1u << size()) - 1) : 0);
  }
};

// One read, and no branch, as the next symbol waits for it.
GLINT_HD inline Symbol FindSymbol(const uint16_t* codes, CodeTable table, uint32_t window) {
  const uint32_t begin = table & kCodeTableBegin, above = window | kCodeTableBegin;
  const uint32_t quick = begin + (window >> (32 - kQuickBits)), slow = begin + kQuickCodes + ((above - table) >> 16);
  return {window, codes[above >= table ? slow : quick]};
}

// Decodes from `*cursor` up to bit `end` or a little beyond. `words(i)` are 32 bits of the scan, the first one highest;
// it is asked for up to kWordsBehind words behind `end`. `tables` has JpegTables's first two members. `sink` is told
// of
//   OnSymbol(symbol, position, is_luma) before it is passed,
//   OnBlockEnd(bit, interval_end),
//   OnInterval(n): restart interval n begins, or, with n == intervals, the scan has ended.
template <typename Tables, typename Words, typename Sink>
GLINT_HD inline void DecodeSubsequence(const ScanShape& scan, const Tables& tables, const uint32_t* begins, Words words,
                                       uint32_t end, Cursor* cursor, Sink* sink) {
  uint32_t interval = IntervalAt(begins, scan.intervals, cursor->bit);
  uint32_t interval_end = begins[interval + 1];
  uint32_t bit = cursor->bit, block = cursor->place / 64, position = cursor->place % 64;
  // What the next symbol waits for is as little as can be: both of what may come are there before it is known which.
  uint32_t high, low, next;
  const auto load = [&] {
    const uint32_t word = bit / 32;
    high = words(word), low = words(word + 1), next = words(word + 2);
  };
  load();
  const CodeTable luma_dc = tables.tables[0], luma = tables.tables[1];
  const CodeTable chroma_dc = tables.tables[2], chroma = tables.tables[3];
  const auto is_luma = [&](uint32_t b) { return b < scan.unit_luma; };
  CodeTable table = position != 0 ? (is_luma(block) ? luma : chroma) : (is_luma(block) ? luma_dc : chroma_dc);
  while (bit < end) {
    const uint32_t limit = end < interval_end ? end : interval_end;
    while (bit < limit) {
      const uint32_t block_after = block + 1 == scan.unit_blocks ? 0 : block + 1;
      const CodeTable within = is_luma(block) ? luma : chroma, after = is_luma(block_after) ? luma_dc : chroma_dc;
      const Symbol symbol = FindSymbol(tables.codes, table, Window(high, low, bit % 32));
      sink->OnSymbol(symbol, position, is_luma(block));
      const bool crosses = ((bit ^ (bit + symbol.bits())) & 32) != 0;
      bit += symbol.bits();
      high = crosses ? low : high;
      low = crosses ? next : low;
      next = words(bit / 32 + 2);
      position += symbol.skip();
      const bool ends = position >= 64;
      table = ends ? after : within;
      position = ends ? 0 : position;
      block = ends ? block_after : block;
      if (ends) sink->OnBlockEnd(bit, interval_end);
    }
    if (bit >= interval_end) {
      bit = interval_end;
      block = position = 0;
      sink->OnInterval(++interval);
      if (interval == scan.intervals) break;
      interval_end = begins[interval + 1];
      load();
      table = luma_dc;
    }
  }
  *cursor = {bit, 64 * block + position};
}

// A sink for who wants the cursor alone.
struct NoSink {
  GLINT_HD void OnSymbol(const Symbol&, uint32_t, bool) {}
  GLINT_HD void OnBlockEnd(uint32_t, uint32_t) {}
  GLINT_HD void OnInterval(uint32_t) {}
};

// A sink that counts.
class Counter {
 public:
  GLINT_HD explicit Counter(uint32_t interval_blocks) : interval_blocks_(interval_blocks) {}

  GLINT_HD void OnSymbol(const Symbol& symbol, uint32_t position, bool is_luma) {
    if (position == 0 && is_luma) AddTo(&passed_.dc, symbol.value());
  }
  GLINT_HD void OnBlockEnd(uint32_t, uint32_t) { ++passed_.blocks; }
  GLINT_HD void OnInterval(uint32_t interval) { passed_ = {kFromStart | interval * interval_blocks_, 0}; }
  GLINT_HD const Passed& passed() const { return passed_; }

  // Without overflow, as what is summed may be no data.
  GLINT_HD static void AddTo(int32_t* sum, int32_t value) {
    *sum = static_cast<int32_t>(static_cast<uint32_t>(*sum) + static_cast<uint32_t>(value));
  }

 private:
  const uint32_t interval_blocks_;
  Passed passed_;
};

// A sink that writes luma's coefficients, of each block in the order of rows, and says whether all was regular. What
// lies behind an interval's last block is passed, as it may be padding.
class Writer {
 public:
  // `coefficients` has 64 for each block of luma in the order of the scan, all 0. `natural` is where the coefficients
  // lie, in zigzag order. `before` lies before the cursor, counted from the begin.
  GLINT_HD Writer(const ScanShape& scan, const uint8_t* natural, Passed before, Cursor at, uint32_t interval,
                  int16_t* coefficients)
      : scan_(scan), natural_(natural), coefficients_(coefficients), block_(before.blocks & ~kFromStart) {
    passed_.dc = 0;
    dc_ = before.dc;
    in_unit_ = at.place / 64;
    luma_ = block_ / scan.unit_blocks * scan.unit_luma + (in_unit_ < scan.unit_luma ? in_unit_ : scan.unit_luma);
    interval_end_ = EndOf(interval);
    regular_ = block_ % scan.unit_blocks == in_unit_ || block_ >= interval_end_;
  }

  // Without branches but the last: threads of the device differ in what they have.
  GLINT_HD void OnSymbol(const Symbol& symbol, uint32_t position, bool is_luma) {
    const bool is_dc = position == 0, inside = block_ < interval_end_;
    const int32_t value = symbol.value();
    const int32_t difference = is_dc && is_luma ? value : 0;
    Counter::AddTo(&passed_.dc, difference);
    Counter::AddTo(&dc_, difference);
    const uint32_t at = position + symbol.skip() - 1;
    const bool beyond = symbol.skip() != kEndOfBlock && at > 63;
    const bool too_great = is_luma && dc_ != static_cast<int16_t>(dc_);
    regular_ = regular_ && !(inside && (symbol.wrong() || beyond || too_great));
    const uint32_t natural = natural_[at % 64];
    if (inside && is_luma && regular_ && (is_dc || symbol.size() > 0)) {
      coefficients_[size_t{64} * luma_ + (is_dc ? 0 : natural)] = static_cast<int16_t>(is_dc ? dc_ : value);
    }
  }

  GLINT_HD void OnBlockEnd(uint32_t bit, uint32_t interval_end_bit) {
    ++passed_.blocks;
    ++block_;
    if (in_unit_ < scan_.unit_luma) ++luma_;
    if (++in_unit_ == scan_.unit_blocks) in_unit_ = 0;
    if (block_ != interval_end_) return;
    // The rest of a byte is padding.
    if (bit <= interval_end_bit && interval_end_bit - bit < 8) {
      ++intervals_;
    } else {
      regular_ = false;
    }
  }

  GLINT_HD void OnInterval(uint32_t interval) {
    passed_ = {kFromStart | interval * scan_.interval_blocks, 0};
    dc_ = 0;
    in_unit_ = 0;
    block_ = interval * scan_.interval_blocks;
    luma_ = block_ / scan_.unit_blocks * scan_.unit_luma;
    interval_end_ = EndOf(interval);
  }

  GLINT_HD const Passed& passed() const { return passed_; }
  GLINT_HD bool regular() const { return regular_; }
  // That ended with their last block.
  GLINT_HD uint32_t intervals() const { return intervals_; }

 private:
  GLINT_HD uint32_t EndOf(uint32_t interval) const {
    if (interval >= scan_.intervals) return 0;
    return interval + 1 == scan_.intervals ? scan_.blocks : (interval + 1) * scan_.interval_blocks;
  }

  const ScanShape& scan_;
  const uint8_t* const natural_;
  int16_t* const coefficients_;
  uint32_t block_;  // of the scan
  uint32_t in_unit_;
  uint32_t luma_;
  uint32_t interval_end_;  // block
  int32_t dc_;
  Passed passed_;
  uint32_t intervals_ = 0;
  bool regular_ = true;
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_JPEG_SUBSEQUENCE_H_
