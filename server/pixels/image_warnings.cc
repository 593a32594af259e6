#include "server/pixels/image_warnings.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/base/allocations.h"

namespace glint {
namespace {

constexpr int kNarrow = 16;   // grey levels of 256
constexpr int kRowStep = 16;  // most images tell within a few of these rows

// Row y, in memory or converted to `*row`.
const uint8_t* RowOf(const Pixels& pixels, int y, Image* row) {
  if (!pixels.view.empty()) return pixels.view.row(y);
  row->Resize({pixels.shape().width, 1});
  pixels.rows->CopyRows(y, 1, row->row(0), row->stride());
  return row->row(0);
}

// Whether the samples have 16 bits: of a PNG file that is byte 24, in its header.
bool HasSixteenBits(const ImageSource& source) {
  if (source.kind == ImageSource::Kind::kRaw) return source.raw.format == PixelFormat::kGray16;
  uint8_t header[25] = {};
  if (decode::TotalBytes(source.bytes) < sizeof(header)) return false;
  decode::PieceReader(source.bytes).Read(sizeof(header), header);
  return header[0] == 0x89 && header[24] == 16;
}

}  // namespace

void WarnOfNarrowRange(absl::string_view field, const ImageSource& source, const Pixels& pixels, Image* row,
                       std::vector<Warning>* warnings) {
  const Shape shape = pixels.shape();
  int lowest = 255, highest = 0;
  for (int first = 0; first < kRowStep; ++first) {
    for (int y = first; y < shape.height; y += kRowStep) {
      const uint8_t* const gray = RowOf(pixels, y, row);
      for (int x = 0; x < shape.width; ++x) {
        lowest = std::min<int>(lowest, gray[x]);
        highest = std::max<int>(highest, gray[x]);
      }
      if (highest - lowest >= kNarrow) return;
    }
  }
  const FramePathPause pause;
  const double share = (highest - lowest) / 255.0;
  std::string text = absl::StrFormat(
      "narrow range: all grey values lie in %.1f %% of the range, so that hardly a corner stands out", 100 * share);
  if (!field.empty()) text = absl::StrCat(field, ": ", text);
  if (source.range != nullptr) {
    const GrayLimits limits = source.range->limits();
    absl::StrAppend(&text, "; gray_range is ", limits.lowest, "..", limits.highest);
  } else if (HasSixteenBits(source)) {
    absl::StrAppend(&text, "; if its samples use fewer than 16 bits, set the range (gray_range, --range)");
  }
  warnings->push_back({WarningKind::kNarrowRange, share, "1", std::move(text)});
}

double ShareOfOtherMaskValues(const Pixels& mask, Image* row) {
  const Shape shape = mask.shape();
  int64_t others = 0;
  for (int y = 0; y < shape.height; ++y) {
    const uint8_t* const values = RowOf(mask, y, row);
    int in_row = 0;
    for (int x = 0; x < shape.width; ++x) in_row += static_cast<uint8_t>(values[x] + 1) > 1 ? 1 : 0;
    others += in_row;
  }
  return shape.pixels() == 0 ? 0 : static_cast<double>(others) / static_cast<double>(shape.pixels());
}

void WarnOfMaskValues(double share, std::vector<Warning>* warnings) {
  const FramePathPause pause;
  warnings->push_back(
      {WarningKind::kMaskValues, share, "1",
       absl::StrFormat("mask: %.1f %% of its pixels are neither 0 nor 255; this detector follows cv::ORB, so that "
                       "they are allowed in the first level alone: write 255 where features are wanted",
                       100 * share)});
}

}  // namespace glint
