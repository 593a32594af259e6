// Decodes the pixels or the file that a client sent to rows of grey bytes, straight into the caller's memory (a pinned
// buffer, a mapped segment, an Image).
//
// Two steps: an Inspect function checks everything that can be checked without touching pixels and returns the shape;
// the caller then provides a destination of that shape, and a second function fills it. Every error is INVALID_ARGUMENT
// with field, value and range, but for images over `max_pixels`, which are RESOURCE_EXHAUSTED. All input is untrusted:
// no size, offset or palette index in it is used before it was checked.
#ifndef GLINT_DECODE_DECODE_H_
#define GLINT_DECODE_DECODE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "decode/gray_samples.h"
#include "decode/pieces.h"
#include "features/limits.h"
#include "features/parallel.h"
#include "features/types.h"
#include "proto/terms.h"

namespace glint::decode {

// Destination of grey rows: row y is the `shape.width` bytes at data + y * stride; bytes between rows are not written.
struct Destination {
  uint8_t* data = nullptr;
  Shape shape;
  ptrdiff_t stride = 0;  // bytes, >= shape.width

  uint8_t* row(int y) const { return data + y * stride; }
};

inline Destination DestinationIn(Image* image) { return {image->row(0), image->shape(), image->stride()}; }

// OK if both sides are in 1..kMaxImageSide and the area is at most max_pixels. Fields: image.width, image.height,
// image.pixels.
absl::Status CheckSize(uint64_t width, uint64_t height, int64_t max_pixels);

// ---- Raw pixels. Pure functions; thread-safe.

using glint::PixelFormat;

// Bytes per pixel; for NV12, those of luma rows.
int BytesPerPixel(PixelFormat format);
// True if grey rows exist in memory: row y at y * stride.
inline bool IsGrayInPlace(PixelFormat format) { return format == PixelFormat::kGray8 || format == PixelFormat::kNv12; }

// Header of a raw image from the wire: untrusted.
struct RawLayout {
  int format = 0;  // a PixelFormat, or an error
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t stride = 0;  // bytes; 0 = width * bytes per pixel
};

// A checked layout.
struct RawPlan {
  PixelFormat format = PixelFormat::kGray8;
  Shape shape;
  size_t row_bytes = 0;  // width * bytes per pixel
  size_t stride = 0;     // bytes, >= row_bytes
};

// Checks format, sides and stride. Fields: image.format, image.width, image.height, image.stride, image.pixels.
absl::StatusOr<RawPlan> InspectLayout(const RawLayout& layout, int64_t max_pixels);

// Size in bytes: stride * (rows - 1) + row_bytes, where NV12 has height / 2 rows of chroma after those of its luma.
size_t BytesOf(const RawPlan& plan);

// Copies the rows of a 16-bit image unchanged; `data` as for RawToGray(). A row in `to` is twice its width in bytes.
void CopyRaw16(const RawPlan& plan, Pieces data, const Destination& to);

// Checks the layout, and that `bytes` is BytesOf(), or with the last row padded to the stride. Fields: image.format,
// image.width, image.height, image.stride, image.pixels, image.data.
absl::StatusOr<RawPlan> InspectRaw(const RawLayout& layout, size_t bytes, int64_t max_pixels);

// Converts one row of `width` pixels to grey, of every format but Bayer, whose rows need their neighbours.
void RowToGray(PixelFormat format, const uint8_t* pixels, int width, uint8_t* gray);

// Converts the rectangle of to.shape's size at (x, y), within plan.shape, to grey; equals that part of the whole
// converted image. `data` must have the number of bytes that InspectRaw accepted. Rows that are converted and lie in
// more than one piece are copied to `*scratch`, which keeps its memory from call to call. `range`, for GRAY16 alone,
// gives the samples' grey in place of their upper bytes; may be null.
void RawToGray(const RawPlan& plan, Pieces data, int x, int y, const Destination& to, std::vector<uint8_t>* scratch,
               const GrayTable* range = nullptr);

// Adds the samples of a GRAY16 image; `data` and `scratch` as for RawToGray().
void CountSamples(const RawPlan& plan, Pieces data, std::vector<uint8_t>* scratch, SampleCounts* counts);

// ---- Encoded pictures.

// The numbers are those of glint.v1.ImageEncoding.
enum class Encoding { kDetect = 0, kJpeg = 1, kPng = 2, kMjpeg = 3 };

// True if the file starts as a JPEG file does.
bool IsJpeg(absl::Span<const uint8_t> file);

// True if such a file has no end marker after its last scan: its last bytes were lost. It may be decoded all the same.
bool LacksEndMarker(absl::Span<const uint8_t> jpeg);

// Decodes JPEG and PNG. Grey is what OpenCV makes of the file, orientation tags ignored:
//  * JPEG, grey or colour, baseline or progressive: the luma channel, which is cv::imread(IMREAD_GRAYSCALE |
//    IMREAD_IGNORE_ORIENTATION) of the same libjpeg-turbo. Files of four components (CMYK, YCCK): cv::imread's grey
//    of the inks.
//  * MJPEG, a frame of a motion-JPEG video: a JPEG that may lack its Huffman tables, in place of which those of the
//    standard's annex K are meant, and that may be followed by padding. (So may what is sent as JPEG.)
//  * PNG of every colour type and depth, interlaced or not: 16-bit samples keep their high byte, palettes are looked
//    up, transparency is ignored, then cv::cvtColor's grey of R, G, B. (cv::imread rounds a colour PNG's grey
//    differently; cv::cvtColor of the colour cv::imread is the equal here.) Chunks without pixels (text, colour
//    profiles, EXIF) are not looked into, whatever their size.
// A file that ends early is an error even when its decoder could make up the rest, and so are wrong checksums of pixels
// and trailing scans beyond any encoder's need. A JPEG that lacks its end marker alone is decoded: all of the picture
// is there (but not one with arithmetic coding, where that cannot be seen).
//
// Thread-compatible. Holds the codecs' state from picture to picture; the codecs themselves take and give back some
// memory for each (bounded by the checked shape: at most 8 bytes a pixel, for progressive JPEG).
class Decoder {
 public:
  // `parallel`, which must outlive this, may be null. With it, threads share JPEG files with restart intervals of whole
  // rows, with the same pixels and errors.
  explicit Decoder(Parallel* parallel = nullptr);
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  // Reads the header and no pixels. Fields: image.encoding, image.width, image.height, image.pixels, image.data.
  absl::StatusOr<Shape> Inspect(Encoding encoding, absl::Span<const uint8_t> file, int64_t max_pixels);

  // Fills `to`, whose shape must be the one that Inspect returned for the same file. On error its pixels are
  // unspecified. Fields: image.encoding, image.data.
  absl::Status DecodeInto(Encoding encoding, absl::Span<const uint8_t> file, const Destination& to);

  // Inspect() and DecodeInto() for depth images: only a grey PNG of 16 bits, all of which are kept. A row in `to` is
  // twice its width in bytes, little-endian.
  absl::StatusOr<Shape> InspectDepth(Encoding encoding, absl::Span<const uint8_t> file, int64_t max_pixels);
  absl::Status DecodeDepthInto(Encoding encoding, absl::Span<const uint8_t> file, const Destination& to);

  // Number of JPEG files that were decoded completely.
  int64_t jpegs() const { return jpegs_; }
  // The part of these that several threads shared.
  int64_t shared_jpegs() const;

 private:
  struct Codecs;
  std::unique_ptr<Codecs> codecs_;
  int64_t jpegs_ = 0;
};

}  // namespace glint::decode

#endif  // GLINT_DECODE_DECODE_H_
