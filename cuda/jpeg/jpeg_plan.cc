#include "cuda/jpeg/jpeg_plan.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "cuda/jpeg/huffman.h"
#include "features/limits.h"

namespace glint::cuda {
namespace {

// T.81, figure A.6: where the coefficients of a block lie, in the order they are coded.
constexpr uint8_t kNaturalOrder[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                       12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                       35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                       58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

struct Bytes {
  const uint8_t* data = nullptr;
  size_t size = 0;

  bool has(size_t count) const { return size >= count; }
  void Skip(size_t count) { data += count, size -= count; }
  // One and two bytes; they must be there.
  uint32_t Byte() {
    const uint32_t value = data[0];
    Skip(1);
    return value;
  }
  uint32_t Word() {
    const uint32_t value = uint32_t{data[0]} << 8 | data[1];
    Skip(2);
    return value;
  }
};

enum Marker : uint32_t {
  kSof0 = 0xc0,
  kSof1 = 0xc1,
  kDht = 0xc4,
  kSof15 = 0xcf,
  kSoi = 0xd8,
  kSos = 0xda,
  kDqt = 0xdb,
  kDri = 0xdd,
  kApp0 = 0xe0,
  kApp14 = 0xee,
  kApp15 = 0xef,
  kCom = 0xfe,
};

struct Component {
  uint32_t id, columns, rows, quantizer;
};

class HeaderReader {
 public:
  HeaderReader(Bytes file, int64_t max_pixels, JpegPlan* plan) : rest_(file), max_pixels_(max_pixels), plan_(*plan) {}

  JpegReason Read() {
    const size_t size = rest_.size;
    if (!rest_.has(2) || rest_.Word() != (0xff00 | kSoi)) return JpegReason::kHeader;
    for (;;) {
      if (!rest_.has(2) || rest_.Byte() != 0xff) return JpegReason::kHeader;
      uint32_t marker = rest_.Byte();
      while (marker == 0xff && rest_.has(1)) marker = rest_.Byte();
      if (!rest_.has(2)) return JpegReason::kHeader;
      const size_t length = rest_.Word();
      if (length < 2 || !rest_.has(length - 2)) return JpegReason::kHeader;
      Bytes segment = {rest_.data, length - 2};
      rest_.Skip(segment.size);
      if (marker == kSos) {
        plan_.scan_begin = size - rest_.size;
        if (rest_.size > static_cast<size_t>(kMaxJpegScanBytes)) return JpegReason::kSize;
        if (rest_.size == 0) return JpegReason::kScan;
        return ReadScan(segment);
      }
      const JpegReason reason = ReadSegment(marker, segment);
      if (reason != JpegReason::kNone) return reason;
    }
  }

 private:
  JpegReason ReadSegment(uint32_t marker, Bytes segment) {
    if (marker == kDht) return ReadHuffman(segment);
    if (marker == kDqt) return ReadQuantizers(segment);
    if (marker == kSof0 || marker == kSof1) return ReadFrame(segment);
    if (marker >= kSof0 && marker <= kSof15) return JpegReason::kKind;  // arithmetic conditioning among them
    if (marker == kDri) {
      if (segment.size != 2) return JpegReason::kHeader;
      restart_units_ = segment.Word();
      return JpegReason::kNone;
    }
    if (marker == kApp14 && segment.has(12) && std::memcmp(segment.data, "Adobe", 5) == 0) {
      adobe_colour_ = segment.data[11];
    }
    return (marker >= kApp0 && marker <= kApp15) || marker == kCom ? JpegReason::kNone : JpegReason::kHeader;
  }

  JpegReason ReadHuffman(Bytes segment) {
    while (segment.size > 0) {
      if (!segment.has(17)) return JpegReason::kTables;
      const uint32_t which = segment.Byte();
      if ((which & 0x0f) > 3 || which >> 4 > 1) return JpegReason::kTables;
      HuffmanTable& table = huffman_[which >> 4][which & 3].emplace();
      std::memcpy(table.counts, segment.data, 16);
      segment.Skip(16);
      size_t symbols = 0;
      for (const uint8_t count : table.counts) symbols += count;
      if (symbols > 256 || !segment.has(symbols)) return JpegReason::kTables;
      std::fill_n(table.symbols, 256, uint8_t{0});
      std::copy_n(segment.data, symbols, table.symbols);
      segment.Skip(symbols);
    }
    return JpegReason::kNone;
  }

  JpegReason ReadQuantizers(Bytes segment) {
    while (segment.size > 0) {
      const uint32_t which = segment.Byte();
      const bool wide = which >> 4 == 1;
      if (which >> 4 > 1 || (which & 15) > 3 || !segment.has(wide ? 128 : 64)) return JpegReason::kTables;
      auto& quantizer = quantizers_[which & 3];
      quantizer.set = true;
      for (const uint8_t natural : kNaturalOrder) {
        quantizer.values[natural] = static_cast<uint16_t>(wide ? segment.Word() : segment.Byte());
      }
    }
    return JpegReason::kNone;
  }

  JpegReason ReadFrame(Bytes segment) {
    if (count_ != 0 || !segment.has(6)) return JpegReason::kHeader;
    if (segment.Byte() != 8) return JpegReason::kKind;
    plan_.shape.height = static_cast<int>(segment.Word());
    plan_.shape.width = static_cast<int>(segment.Word());
    count_ = segment.Byte();
    if (count_ != 1 && count_ != 3) return JpegReason::kKind;
    if (segment.size != 3 * count_) return JpegReason::kHeader;
    for (uint32_t i = 0; i < count_; ++i) {
      const uint32_t id = segment.Byte();
      const uint32_t sampling = segment.Byte();
      components_[i] = {id, sampling >> 4, sampling & 15, segment.Byte()};
      if (components_[i].columns == 0 || components_[i].rows == 0) return JpegReason::kHeader;
    }
    const Shape& shape = plan_.shape;
    if (shape.width == 0 || shape.height == 0) return JpegReason::kHeader;
    const bool fits = shape.width <= kMaxImageSide && shape.height <= kMaxImageSide && shape.pixels() <= max_pixels_;
    return fits ? JpegReason::kNone : JpegReason::kSize;
  }

  JpegReason ReadScan(Bytes segment) {
    if (count_ == 0 || !segment.has(1)) return JpegReason::kHeader;
    if (segment.Byte() != count_) return JpegReason::kKind;
    if (segment.size != 2 * count_ + 3) return JpegReason::kHeader;
    uint32_t tables[3];
    for (uint32_t i = 0; i < count_; ++i) {
      if (segment.Byte() != components_[i].id) return JpegReason::kHeader;
      tables[i] = segment.Byte();
    }
    if (segment.Byte() != 0 || segment.Byte() != 63 || segment.Byte() != 0) return JpegReason::kHeader;
    if (JpegReason reason = Colours(); reason != JpegReason::kNone) return reason;
    if (JpegReason reason = Units(); reason != JpegReason::kNone) return reason;
    if (count_ == 3 && tables[1] != tables[2]) return JpegReason::kTables;
    for (uint32_t i = 0; i < std::min(count_, 2u); ++i) {
      if (!Lookup(HuffmanClass::kDc, tables[i] >> 4, 2 * i) || !Lookup(HuffmanClass::kAc, tables[i] & 15, 2 * i + 1)) {
        return JpegReason::kTables;
      }
    }
    if (components_[0].quantizer > 3 || !quantizers_[components_[0].quantizer].set) return JpegReason::kTables;
    std::copy_n(quantizers_[components_[0].quantizer].values, 64, plan_.tables.quantizer);
    std::copy_n(kNaturalOrder, 64, plan_.tables.natural);
    return JpegReason::kNone;
  }

  // As libjpeg guesses what components are, where all of its hints agree.
  JpegReason Colours() const {
    if (count_ == 1) return JpegReason::kNone;
    const uint32_t first = components_[0].id, second = components_[1].id, third = components_[2].id;
    if (first == second || first == third || second == third) return JpegReason::kHeader;
    if (adobe_colour_.has_value() && *adobe_colour_ != 1) return JpegReason::kColour;
    return first == 'R' && second == 'G' && third == 'B' ? JpegReason::kColour : JpegReason::kNone;
  }

  JpegReason Units() {
    Component luma = components_[0];
    if (count_ == 1) luma.columns = luma.rows = 1;  // the blocks of a single component come one by one
    for (uint32_t i = 1; i < count_; ++i) {
      const Component& chroma = components_[i];
      if (chroma.columns != 1 || chroma.rows != 1) return JpegReason::kSampling;
      if (chroma.quantizer > 3 || !quantizers_[chroma.quantizer].set) return JpegReason::kTables;
    }
    if (luma.columns > 2 || luma.rows > 2) return JpegReason::kSampling;
    plan_.luma_columns = static_cast<int>(luma.columns);
    plan_.luma_rows = static_cast<int>(luma.rows);
    plan_.unit_columns = (plan_.shape.width + 8 * plan_.luma_columns - 1) / (8 * plan_.luma_columns);
    plan_.unit_rows = (plan_.shape.height + 8 * plan_.luma_rows - 1) / (8 * plan_.luma_rows);
    plan_.unit_blocks = plan_.unit_luma() + static_cast<int>(count_) - 1;
    const int units = plan_.units();
    plan_.restart_units = restart_units_ == 0 ? units : std::min(static_cast<int>(restart_units_), units);
    plan_.intervals = (units + plan_.restart_units - 1) / plan_.restart_units;
    return JpegReason::kNone;
  }

  bool Lookup(HuffmanClass table_class, uint32_t index, uint32_t to) {
    if (index > 3) return false;
    const auto& table = huffman_[table_class == HuffmanClass::kDc ? 0 : 1][index];
    if (!table.has_value() && index > 1) return false;
    return MakeLookup(table.has_value() ? *table : StandardTable(table_class, static_cast<int>(index)), table_class,
                      static_cast<int>(to), &plan_.tables);
  }

  Bytes rest_;
  const int64_t max_pixels_;
  JpegPlan& plan_;
  std::optional<HuffmanTable> huffman_[2][4];  // DC, AC
  struct {
    bool set = false;
    uint16_t values[64];
  } quantizers_[4];
  Component components_[3] = {};
  uint32_t count_ = 0;  // of components
  uint32_t restart_units_ = 0;
  std::optional<uint8_t> adobe_colour_;
};

}  // namespace

const char* NameOf(JpegReason reason) {
  constexpr const char* kNames[kJpegReasons] = {"none",   "kind", "sampling", "colour", "tables",
                                                "header", "size", "scan",     "range",  "sync"};
  return kNames[static_cast<int>(reason)];
}

JpegReason PlanJpeg(const uint8_t* file, size_t size, int64_t max_pixels, JpegPlan* plan) {
  return HeaderReader({file, size}, max_pixels, plan).Read();
}

}  // namespace glint::cuda
