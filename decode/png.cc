#include "decode/png.h"

#include <spng.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::decode {
namespace {

// Limit of the inflated size of comments, colour profiles and other ancillary chunks, without pixels.
constexpr size_t kMaxSideChunkBytes = 4 << 20;

struct FreeContext {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};
using Context = std::unique_ptr<spng_ctx, FreeContext>;

absl::Status Error(int code) { return ContradictionError("image.data", absl::StrCat("PNG: ", spng_strerror(code))); }

absl::Status ChangedError() { return ContradictionError("image.data", "changed after its inspection"); }

absl::Status CheckDepth(const spng_ihdr& header) {
  if (header.color_type == SPNG_COLOR_TYPE_GRAYSCALE && header.bit_depth == 16) return absl::OkStatus();
  return ContradictionError("image.data", absl::StrCat("PNG: colour type ", header.color_type, " of ", header.bit_depth,
                                                       " bits is not grey (0) of 16 bits"));
}

// A context that has read the header; contexts cannot be used for a second file.
absl::StatusOr<Context> Open(absl::Span<const uint8_t> file, spng_ihdr* header) {
  Context context(spng_ctx_new(0));
  if (context == nullptr) return absl::ResourceExhaustedError("PNG: no memory for the decoder");
  if (int e = spng_set_chunk_limits(context.get(), kMaxSideChunkBytes, kMaxSideChunkBytes); e != 0) return Error(e);
  if (int e = spng_set_png_buffer(context.get(), file.data(), file.size()); e != 0) return Error(e);
  if (int e = spng_get_ihdr(context.get(), header); e != 0) return Error(e);
  return context;
}

// Decodes all rows in file order: row(y) is where the pixels of row y belong, done(y) follows each write to it. An
// interlaced file writes some pixels of a row at a time.
template <typename Row, typename Done>
absl::Status DecodeRows(spng_ctx* context, int format, size_t row_bytes, Row row, Done done) {
  int e = spng_decode_image(context, nullptr, 0, format, SPNG_DECODE_PROGRESSIVE);
  while (e == 0) {
    spng_row_info info;
    e = spng_get_row_info(context, &info);
    if (e != 0) break;
    e = spng_decode_row(context, row(info.row_num), row_bytes);
    if (e == 0 || e == SPNG_EOI) done(info.row_num);
  }
  if (e != SPNG_EOI) return Error(e);
  e = spng_decode_chunks(context);  // reads on to the end chunk
  return e == 0 ? absl::OkStatus() : Error(e);
}

}  // namespace

absl::StatusOr<Shape> PngDecoder::Inspect(absl::Span<const uint8_t> file, int64_t max_pixels) {
  spng_ihdr header;
  if (auto context = Open(file, &header); !context.ok()) return context.status();
  GLINT_RETURN_IF_ERROR(CheckSize(header.width, header.height, max_pixels));
  return Shape{static_cast<int>(header.width), static_cast<int>(header.height)};
}

absl::StatusOr<Shape> PngDecoder::InspectDepth(absl::Span<const uint8_t> file, int64_t max_pixels) {
  spng_ihdr header;
  if (auto context = Open(file, &header); !context.ok()) return context.status();
  GLINT_RETURN_IF_ERROR(CheckDepth(header));
  GLINT_RETURN_IF_ERROR(CheckSize(header.width, header.height, max_pixels));
  return Shape{static_cast<int>(header.width), static_cast<int>(header.height)};
}

absl::Status PngDecoder::DecodeDepthInto(absl::Span<const uint8_t> file, const Destination& to) {
  spng_ihdr header;
  GLINT_ASSIGN_OR_RETURN(auto context, Open(file, &header));
  GLINT_RETURN_IF_ERROR(CheckDepth(header));
  const size_t width = static_cast<size_t>(to.shape.width);
  if (header.width != width || header.height != static_cast<size_t>(to.shape.height)) return ChangedError();
  const auto to_row = [&](uint32_t y) { return to.row(static_cast<int>(y)); };
  GLINT_RETURN_IF_ERROR(DecodeRows(context.get(), SPNG_FMT_RAW, 2 * width, to_row, [](uint32_t) {}));
  // PNG stores samples big-endian.
  for (uint32_t y = 0; y < header.height; ++y) {
    uint8_t* const row = to_row(y);
    for (size_t x = 0; x < width; ++x) std::swap(row[2 * x], row[2 * x + 1]);
  }
  return absl::OkStatus();
}

absl::Status PngDecoder::DecodeInto(absl::Span<const uint8_t> file, const Destination& to) {
  spng_ihdr header;
  GLINT_ASSIGN_OR_RETURN(auto context, Open(file, &header));
  const size_t width = static_cast<size_t>(to.shape.width);
  if (header.width != width || header.height != static_cast<size_t>(to.shape.height)) {
    return ChangedError();
  }

  if (header.color_type == SPNG_COLOR_TYPE_GRAYSCALE && header.bit_depth <= 8) {
    return DecodeRows(
        context.get(), SPNG_FMT_G8, width, [&](uint32_t y) { return to.row(static_cast<int>(y)); }, [](uint32_t) {});
  }

  // Everything else goes through RGB8; grey comes out of it unchanged, because the weights of R, G and B add up to 1.
  const size_t row_bytes = 3 * width;
  const bool interlaced = header.interlace_method != SPNG_INTERLACE_NONE;
  rgb_.resize(interlaced ? row_bytes * header.height : row_bytes);
  const auto rgb_row = [&](uint32_t y) { return rgb_.data() + (interlaced ? y * row_bytes : 0); };
  const auto convert = [&](uint32_t y) {
    RowToGray(PixelFormat::kRgb8, rgb_row(y), to.shape.width, to.row(static_cast<int>(y)));
  };
  if (!interlaced) return DecodeRows(context.get(), SPNG_FMT_RGB8, row_bytes, rgb_row, convert);
  auto status = DecodeRows(context.get(), SPNG_FMT_RGB8, row_bytes, rgb_row, [](uint32_t) {});
  if (!status.ok()) return status;
  for (uint32_t y = 0; y < header.height; ++y) convert(y);
  return absl::OkStatus();
}

}  // namespace glint::decode
