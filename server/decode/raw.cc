#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "server/decode/decode.h"
#include "server/decode/gray_row.h"

namespace glint::decode {
absl::Status CheckSize(uint64_t width, uint64_t height, int64_t max_pixels) {
  if (width < 1 || width > kMaxImageSide) return OutOfRangeError("image.width", width, 1, kMaxImageSide);
  if (height < 1 || height > kMaxImageSide) return OutOfRangeError("image.height", height, 1, kMaxImageSide);
  const int64_t pixels = static_cast<int64_t>(width * height);
  if (pixels > max_pixels) return LimitError("image.pixels", pixels, max_pixels, "--max-image-pixels");
  return absl::OkStatus();
}

int BytesPerPixel(PixelFormat format) {
  switch (format) {
    case PixelFormat::kGray8:
      return 1;
    case PixelFormat::kBgr8:
    case PixelFormat::kRgb8:
      return 3;
    case PixelFormat::kBgra8:
    case PixelFormat::kRgba8:
      return 4;
  }
  return 0;
}

absl::StatusOr<RawPlan> InspectRaw(const RawLayout& layout, size_t bytes, int64_t max_pixels) {
  if (layout.format < static_cast<int>(PixelFormat::kGray8) || layout.format > static_cast<int>(PixelFormat::kRgba8)) {
    return NotOneOfError("image.format", absl::StrCat(layout.format), "GRAY8, BGR8, RGB8, BGRA8, RGBA8");
  }
  if (auto s = CheckSize(layout.width, layout.height, max_pixels); !s.ok()) return s;

  RawPlan plan;
  plan.format = static_cast<PixelFormat>(layout.format);
  plan.shape = {static_cast<int>(layout.width), static_cast<int>(layout.height)};
  plan.row_bytes = static_cast<size_t>(layout.width) * static_cast<size_t>(BytesPerPixel(plan.format));
  plan.stride = layout.stride == 0 ? plan.row_bytes : layout.stride;
  if (plan.stride < plan.row_bytes) {
    return ContradictionError("image.stride",
                              absl::StrCat(layout.stride, " is less than the row of ", plan.row_bytes, " bytes"));
  }
  const size_t most = plan.stride * layout.height;
  const size_t least = most - plan.stride + plan.row_bytes;
  if (bytes != least && bytes != most) {
    const std::string wanted = least == most ? absl::StrCat(most) : absl::StrCat(least, " or ", most);
    return ContradictionError("image.data", absl::StrCat(bytes, " bytes, but ", layout.width, "x", layout.height,
                                                         " with a stride of ", plan.stride, " is ", wanted));
  }
  return plan;
}

void RowToGray(PixelFormat format, const uint8_t* pixels, int width, uint8_t* gray) {
  if (format == PixelFormat::kGray8) {
    std::memcpy(gray, pixels, static_cast<size_t>(width));
    return;
  }
  const bool blue_first = format == PixelFormat::kBgr8 || format == PixelFormat::kBgra8;
  GrayRow(pixels, BytesPerPixel(format), blue_first, width, gray);
}

void RawToGray(const RawPlan& plan, Pieces data, int first, const Destination& to, std::vector<uint8_t>* scratch) {
  PieceReader reader(data);
  reader.Skip(static_cast<size_t>(first) * plan.stride);
  for (int y = 0; y < to.shape.height; ++y) {
    if (y > 0) reader.Skip(plan.stride - plan.row_bytes);
    if (plan.format == PixelFormat::kGray8) {
      reader.Read(plan.row_bytes, to.row(y));
      continue;
    }
    if (scratch->size() < plan.row_bytes) scratch->resize(plan.row_bytes);
    RowToGray(plan.format, reader.Next(plan.row_bytes, scratch->data()), plan.shape.width, to.row(y));
  }
}

}  // namespace glint::decode
