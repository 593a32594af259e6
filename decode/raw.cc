#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "decode/bayer.h"
#include "decode/decode.h"
#include "decode/gray_row.h"
#include "features/error.h"
#include "features/math.h"
#include "features/server_error.h"
#include "features/status_macros.h"

namespace glint::decode {

absl::Status CheckSize(uint64_t width, uint64_t height, int64_t max_pixels) {
  if (width < 1 || width > kMaxImageSide) return OutOfRangeError("image.width", width, 1, kMaxImageSide);
  if (height < 1 || height > kMaxImageSide) return OutOfRangeError("image.height", height, 1, kMaxImageSide);
  const int64_t pixels = static_cast<int64_t>(width * height);
  if (pixels > max_pixels) return LimitError("image", pixels, "pixels", max_pixels, "--max-image-pixels");
  return absl::OkStatus();
}

int BytesPerPixel(PixelFormat format) {
  switch (format) {
    case PixelFormat::kGray8:
    case PixelFormat::kNv12:
    case PixelFormat::kBayerRggb8:
      return 1;
    case PixelFormat::kYuyv:
    case PixelFormat::kGray16:
      return 2;
    case PixelFormat::kBgr8:
    case PixelFormat::kRgb8:
      return 3;
    case PixelFormat::kBgra8:
    case PixelFormat::kRgba8:
      return 4;
  }
  return 0;
}

absl::StatusOr<RawPlan> InspectLayout(const RawLayout& layout, int64_t max_pixels) {
  if (layout.format < static_cast<int>(PixelFormat::kGray8) ||
      layout.format > static_cast<int>(PixelFormat::kBayerRggb8)) {
    return NotOneOfError("image.format", absl::StrCat(layout.format),
                         "GRAY8, BGR8, RGB8, BGRA8, RGBA8, NV12, YUYV, GRAY16, BAYER_RGGB8");
  }
  GLINT_RETURN_IF_ERROR(CheckSize(layout.width, layout.height, max_pixels));

  RawPlan plan;
  plan.format = static_cast<PixelFormat>(layout.format);
  if (plan.format == PixelFormat::kNv12 && layout.width % 2 != 0) {
    return ContradictionError("image.width", absl::StrCat(layout.width, " is odd; sides of NV12 are even"));
  }
  if (plan.format == PixelFormat::kNv12 && layout.height % 2 != 0) {
    return ContradictionError("image.height", absl::StrCat(layout.height, " is odd; sides of NV12 are even"));
  }
  plan.shape = {static_cast<int>(layout.width), static_cast<int>(layout.height)};
  plan.row_bytes = static_cast<size_t>(layout.width) * static_cast<size_t>(BytesPerPixel(plan.format));
  plan.stride = layout.stride == 0 ? plan.row_bytes : layout.stride;
  if (plan.stride < plan.row_bytes) {
    return ContradictionError("image.stride",
                              absl::StrCat(layout.stride, " is less than the row of ", plan.row_bytes, " bytes"));
  }
  return plan;
}

size_t BytesOf(const RawPlan& plan) {
  size_t rows = static_cast<size_t>(plan.shape.height);
  if (plan.format == PixelFormat::kNv12) rows += rows / 2;
  return plan.stride * (rows - 1) + plan.row_bytes;
}

absl::StatusOr<RawPlan> InspectRaw(const RawLayout& layout, size_t bytes, int64_t max_pixels) {
  auto inspected = InspectLayout(layout, max_pixels);
  if (!inspected.ok()) return inspected;
  const RawPlan& plan = *inspected;
  const size_t least = BytesOf(plan);
  const size_t most = least - plan.row_bytes + plan.stride;
  if (bytes != least && bytes != most) {
    const std::string wanted = least == most ? absl::StrCat(most) : absl::StrCat(least, " or ", most);
    return ContradictionError("image.data", absl::StrCat(bytes, " bytes, but ", layout.width, "x", layout.height,
                                                         " with a stride of ", plan.stride, " is ", wanted));
  }
  return inspected;
}

void RowToGray(PixelFormat format, const uint8_t* pixels, int width, uint8_t* gray) {
  switch (format) {
    case PixelFormat::kGray8:
    case PixelFormat::kNv12:
      std::memcpy(gray, pixels, static_cast<size_t>(width));
      break;
    case PixelFormat::kBgr8:
    case PixelFormat::kBgra8:
      GrayRow(pixels, BytesPerPixel(format), /*blue_first=*/true, width, gray);
      break;
    case PixelFormat::kRgb8:
    case PixelFormat::kRgba8:
      GrayRow(pixels, BytesPerPixel(format), /*blue_first=*/false, width, gray);
      break;
    case PixelFormat::kYuyv:
      ByteOfPairs(pixels, 0, width, gray);
      break;
    case PixelFormat::kGray16:
      ByteOfPairs(pixels, 1, width, gray);
      break;
    case PixelFormat::kBayerRggb8:
      break;
  }
}

namespace {

// Rows of the mosaic one after the other, of which the last three stay at hand.
class BayerRows {
 public:
  // `y`: the first one that will be asked for.
  BayerRows(const RawPlan& plan, Pieces data, int y, std::vector<uint8_t>* scratch)
      : plan_(plan), reader_(data), next_(y), scratch_(scratch) {
    if (scratch->size() < 3 * plan.row_bytes) scratch->resize(3 * plan.row_bytes);
    reader_.Skip(static_cast<size_t>(y) * plan.stride);
  }

  // No more than two rows before the last one that was asked for.
  const uint8_t* row(int y) {
    for (; next_ <= y; ++next_) {
      const auto slot = static_cast<size_t>(next_ % 3);
      rows_[slot] = reader_.Next(plan_.row_bytes, scratch_->data() + slot * plan_.row_bytes);
      if (next_ + 1 < plan_.shape.height) reader_.Skip(plan_.stride - plan_.row_bytes);
    }
    return rows_[y % 3];
  }

 private:
  const RawPlan& plan_;
  PieceReader reader_;
  int next_;
  std::vector<uint8_t>* const scratch_;
  const uint8_t* rows_[3] = {};
};

void BayerToGray(const RawPlan& plan, Pieces data, int x, int y, const Destination& to, std::vector<uint8_t>* scratch) {
  const int width = plan.shape.width, height = plan.shape.height;
  if (width < 3 || height < 3) {  // nothing inside to repeat at the border: black, as in OpenCV
    for (int row = 0; row < to.shape.height; ++row) std::memset(to.row(row), 0, static_cast<size_t>(to.shape.width));
    return;
  }
  const auto inner = [height](int row) { return Clamp(row, 1, height - 2); };
  BayerRows rows(plan, data, inner(y) - 1, scratch);
  for (int row = 0; row < to.shape.height; ++row) {
    const int at = inner(y + row);
    const uint8_t* below = rows.row(at + 1);  // first: it may take the place of an older row
    BayerRow(rows.row(at - 1), rows.row(at), below, at, width, x, to.shape.width, to.row(row));
  }
}

}  // namespace

void CopyRaw16(const RawPlan& plan, Pieces data, const Destination& to) {
  PieceReader reader(data);
  for (int row = 0; row < to.shape.height; ++row) {
    if (row > 0) reader.Skip(plan.stride - plan.row_bytes);
    reader.Read(plan.row_bytes, to.row(row));
  }
}

void RawToGray(const RawPlan& plan, Pieces data, int x, int y, const Destination& to, std::vector<uint8_t>* scratch,
               const GrayTable* range) {
  if (plan.format == PixelFormat::kBayerRggb8) return BayerToGray(plan, data, x, y, to, scratch);
  const size_t pixel_bytes = static_cast<size_t>(BytesPerPixel(plan.format));
  const size_t bytes = static_cast<size_t>(to.shape.width) * pixel_bytes;
  PieceReader reader(data);
  reader.Skip(static_cast<size_t>(y) * plan.stride + static_cast<size_t>(x) * pixel_bytes);
  for (int row = 0; row < to.shape.height; ++row) {
    if (row > 0) reader.Skip(plan.stride - bytes);
    if (IsGrayInPlace(plan.format)) {
      reader.Read(bytes, to.row(row));
      continue;
    }
    if (scratch->size() < bytes) scratch->resize(bytes);
    const uint8_t* const pixels = reader.Next(bytes, scratch->data());
    if (range != nullptr) {
      range->Convert(pixels, to.shape.width, to.row(row));
    } else {
      RowToGray(plan.format, pixels, to.shape.width, to.row(row));
    }
  }
}

void CountSamples(const RawPlan& plan, Pieces data, std::vector<uint8_t>* scratch, SampleCounts* counts) {
  if (scratch->size() < plan.row_bytes) scratch->resize(plan.row_bytes);
  PieceReader reader(data);
  for (int row = 0; row < plan.shape.height; ++row) {
    if (row > 0) reader.Skip(plan.stride - plan.row_bytes);
    counts->Add(reader.Next(plan.row_bytes, scratch->data()), plan.shape.width);
  }
}

}  // namespace glint::decode
