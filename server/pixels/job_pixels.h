// Converts pixels from the client's format to the form that a lane takes.
#ifndef GLINT_SERVER_PIXELS_JOB_PIXELS_H_
#define GLINT_SERVER_PIXELS_JOB_PIXELS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "decode/decode.h"
#include "features/depth.h"
#include "features/pixels.h"
#include "server/pixels/image_source.h"

namespace glint {

// A rectangle within an image.
struct Part {
  int x = 0;
  int y = 0;
  Shape shape;
};

// INVALID_ARGUMENT names the field of `region` that leads out of an image of shape `whole`.
absl::StatusOr<Part> PartOf(const Region& region, Shape whole);

// Raw pixels in a message, to be written as grey rows. Keeps its memory from picture to picture.
class RawRows final : public PixelRows {
 public:
  // `source` outlives the use of this; its rows are there if it is of kind kRaw.
  void Use(const ImageSource& source) {
    source_ = &source;
    part_ = {0, 0, source.raw.shape};
    copied_bytes_ = 0;
  }

  // Writes, and has, only a part of the picture from here on.
  void CropTo(const Part& part) { part_ = part; }

  Shape shape() const override { return part_.shape; }
  void CopyRows(int first, int count, uint8_t* to, ptrdiff_t stride) const override;

  // Bytes of the source's pixels that were read.
  int64_t copied_bytes() const { return copied_bytes_; }

 private:
  const ImageSource* source_ = nullptr;
  Part part_;
  mutable std::vector<uint8_t> row_;  // of colours, when it is in several pieces
  mutable int64_t copied_bytes_ = 0;
};

// Memory for one picture at a time; grows to the largest seen.
struct PixelScratch {
  RawRows rows;
  Image decoded;
  std::vector<uint8_t> file;  // that came in pieces
};

// The pixels of `source`, for as long as `source` and the scratch are left alone. Raw ones are not touched: rows write
// them, and if they are GRAY8 in one piece there is a view, too. Encoded ones are decoded here. INVALID_ARGUMENT names
// image.encoding, image.data, or image, if there is none.
absl::StatusOr<Pixels> PixelsOf(const ImageSource& source, decode::Decoder* decoder, int64_t max_pixels,
                                PixelScratch* scratch);

// Leaves of `pixels`, which are a view or came with `scratch` from PixelsOf(), the part that lies within them.
void CropTo(const Part& part, PixelScratch* scratch, Pixels* pixels);

// A depth image, which must have the shape of its camera; as PixelsOf(), but raw ones must be GRAY16, encoded ones a
// grey PNG of 16 bits. Raw samples in one piece stay where they are, others are copied: `*copied_bytes`.
// INVALID_ARGUMENT names image.format, image.data or image.
absl::StatusOr<DepthView> DepthOf(const ImageSource& source, const DepthSensor& sensor, Shape camera,
                                  decode::Decoder* decoder, PixelScratch* scratch, int64_t* copied_bytes);

}  // namespace glint

#endif  // GLINT_SERVER_PIXELS_JOB_PIXELS_H_
