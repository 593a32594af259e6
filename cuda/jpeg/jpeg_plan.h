// What the headers of a JPEG file say, made ready for the device: tables as look-ups, sizes, where the scan begins.
//
// Of files that libjpeg-turbo decodes: sequential Huffman coding (SOF0, SOF1) of 8 bits in one scan, grey or colour
// with chroma of one block in a unit (4:4:4, 4:2:2, 4:4:0, 4:2:0), with or without restart intervals. Tables that a
// motion JPEG leaves out are those of ITU T.81, annex K. Thread-safe.
#ifndef GLINT_CUDA_JPEG_JPEG_PLAN_H_
#define GLINT_CUDA_JPEG_JPEG_PLAN_H_

#include <cstddef>
#include <cstdint>

#include "features/types.h"

namespace glint::cuda {

// Why a file is not for the device, or what became of it there.
enum class JpegReason {
  kNone,      // it is for the device
  kKind,      // progressive, arithmetic, lossless, 12 bits, several scans, four components
  kSampling,  // luma that is not the finest component, or more than one block of chroma in a unit
  kColour,    // components that are not luma and chroma
  kTables,    // wrong, missing, or longer than the device's look-ups
  kHeader,    // anything else in front of the scan that is not plain
  kSize,      // a scan beyond kMaxJpegScanBytes, or an image beyond what the caller allows
  kScan,   // most often found on the device: no scan, a wrong code, a marker out of place, too little or too much data
  kRange,  // found on the device: coefficients beyond what every decoder computes alike
  kSync,   // found on the device: symbol boundaries that were not found within the bound
};
inline constexpr int kJpegReasons = 10;
// "kind", "scan": for metrics and logs.
const char* NameOf(JpegReason reason);

inline constexpr int64_t kMaxJpegScanBytes = int64_t{64} << 20;

// A look-up for each of DC and AC, of luma and chroma: kQuickBits bits of the scan lead to an entry, or, where codes
// are longer, 16 bits to one of kLongCodes.
inline constexpr int kJpegTables = 4;
inline constexpr int kMaxUnitBlocks = 6;
inline constexpr int kQuickBits = 10;
inline constexpr int kQuickCodes = 1 << kQuickBits;
inline constexpr uint32_t kLongCodes = 2048;  // of all tables

// A look-up's entries in JpegTables::codes: kQuickCodes by the first bits of the scan; behind them those of long codes,
// by how far its first 16 bits are beyond the first long code. Here that code's 16 bits, above where the entries begin.
using CodeTable = uint32_t;
inline constexpr uint32_t kCodeTableBegin = (1 << 13) - 1;  // mask

// As they lie on the device, in front of the scan.
struct JpegTables {
  uint16_t codes[kJpegTables * kQuickCodes + kLongCodes];
  CodeTable tables[kJpegTables];  // DC and AC of luma, then of chroma
  uint16_t quantizer[64];         // of luma; row y, column x at 8 * y + x
  uint8_t natural[64];            // where coefficients lie, by their position in the block's code
};

// An entry: bits 0..4 the length of code and value together, 5..8 that of the value, 9..15 by how much the position in
// the block goes on. kEndOfBlock goes beyond any block.
inline constexpr uint32_t kEndOfBlock = 64;
inline constexpr uint32_t kWrongSize = 15;  // of a value: no code
constexpr uint16_t JpegEntry(uint32_t code_bits, uint32_t value_bits, uint32_t skip) {
  return static_cast<uint16_t>((code_bits + value_bits) | value_bits << 5 | skip << 9);
}
inline constexpr uint16_t kWrongCode = kWrongSize << 5 | kEndOfBlock << 9 | 16;

struct JpegPlan {
  Shape shape;
  int unit_columns = 0, unit_rows = 0;  // units: the blocks that are coded together (T.81: MCU)
  int luma_columns = 0, luma_rows = 0;  // 1 or 2: blocks of luma in a unit
  int unit_blocks = 0;                  // luma and chroma
  int restart_units = 0;                // in an interval; all units without restart markers
  int intervals = 0;
  size_t scan_begin = 0;  // bytes of the file in front of the scan
  JpegTables tables{};

  int units() const { return unit_columns * unit_rows; }
  int unit_luma() const { return luma_columns * luma_rows; }
  int64_t luma_blocks() const { return int64_t{units()} * unit_luma(); }
};

// kNone: `plan` is filled. Else its contents are unspecified, and the file is one for another decoder, which may accept
// it. Reads headers alone; nothing in them is trusted.
JpegReason PlanJpeg(const uint8_t* file, size_t size, int64_t max_pixels, JpegPlan* plan);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_JPEG_JPEG_PLAN_H_
