#include "decode/png.h"

#include <spng.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::decode {
namespace {

constexpr size_t kHeaderEnd = 33;     // of the signature and the header chunk
constexpr size_t kColourTypeAt = 25;  // in the header
constexpr size_t kChunkBytes = 12;    // of a chunk without data: length, name, checksum

// What a file is to libspng: its header, and of the chunks after it those that pixels depend on. Text, colour profiles
// and other ancillary chunks may be of any size and damaged, which libpng, too, lets pass; a palette belongs to pixels
// of a palette alone. What is malformed is left to libspng.
class PixelChunks {
 public:
  // The file must outlive this.
  explicit PixelChunks(absl::Span<const uint8_t> file) : file_(file), end_(std::min(kHeaderEnd, file.size())) {}

  // Copies the next bytes; false: there are fewer.
  bool Read(uint8_t* to, size_t bytes) {
    while (bytes > 0) {
      if (at_ == end_ && !FindNext()) return false;
      const size_t now = std::min(bytes, end_ - at_);
      std::memcpy(to, file_.data() + at_, now);
      at_ += now;
      to += now;
      bytes -= now;
    }
    return true;
  }

 private:
  // Sets at_ and end_ to those of the next chunk that is read; false: the file ends.
  bool FindNext() {
    for (; at_ < file_.size(); at_ = end_) {
      const size_t left = file_.size() - at_;
      if (left < kChunkBytes) {
        end_ = file_.size();
        return true;
      }
      const uint8_t* const chunk = file_.data() + at_;
      const size_t data = size_t{chunk[0]} << 24 | size_t{chunk[1]} << 16 | size_t{chunk[2]} << 8 | size_t{chunk[3]};
      end_ = data > left - kChunkBytes ? file_.size() : at_ + kChunkBytes + data;
      if (HasPixels(chunk + 4)) return true;
    }
    return false;
  }

  bool HasPixels(const uint8_t* name) const {
    const auto is_letter = [](uint8_t c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
    if (!std::all_of(name, name + 4, is_letter)) return true;
    if (std::memcmp(name, "PLTE", 4) == 0) return file_[kColourTypeAt] == SPNG_COLOR_TYPE_INDEXED;
    return name[0] <= 'Z';  // a capital: a chunk that no decoder may leave out
  }

  const absl::Span<const uint8_t> file_;
  size_t at_ = 0, end_;  // of what is read
};

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

// A context that has read the header; contexts cannot be used for a second file. `chunks` must outlive it.
absl::StatusOr<Context> Open(PixelChunks* chunks, spng_ihdr* header) {
  Context context(spng_ctx_new(0));
  if (context == nullptr) return absl::ResourceExhaustedError("PNG: no memory for the decoder");
  const auto read = [](spng_ctx*, void* from, void* to, size_t bytes) -> int {
    return static_cast<PixelChunks*>(from)->Read(static_cast<uint8_t*>(to), bytes) ? 0 : SPNG_IO_EOF;
  };
  if (int e = spng_set_png_stream(context.get(), read, chunks); e != 0) return Error(e);
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
  PixelChunks chunks(file);
  if (auto context = Open(&chunks, &header); !context.ok()) return context.status();
  GLINT_RETURN_IF_ERROR(CheckSize(header.width, header.height, max_pixels));
  return Shape{static_cast<int>(header.width), static_cast<int>(header.height)};
}

absl::StatusOr<Shape> PngDecoder::InspectDepth(absl::Span<const uint8_t> file, int64_t max_pixels) {
  spng_ihdr header;
  PixelChunks chunks(file);
  if (auto context = Open(&chunks, &header); !context.ok()) return context.status();
  GLINT_RETURN_IF_ERROR(CheckDepth(header));
  GLINT_RETURN_IF_ERROR(CheckSize(header.width, header.height, max_pixels));
  return Shape{static_cast<int>(header.width), static_cast<int>(header.height)};
}

absl::Status PngDecoder::DecodeDepthInto(absl::Span<const uint8_t> file, const Destination& to) {
  spng_ihdr header;
  PixelChunks chunks(file);
  GLINT_ASSIGN_OR_RETURN(auto context, Open(&chunks, &header));
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
  PixelChunks chunks(file);
  GLINT_ASSIGN_OR_RETURN(auto context, Open(&chunks, &header));
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
