// Converts pixels from the client's format to the form that a lane takes.
#ifndef GLINT_SERVER_PIXELS_JOB_PIXELS_H_
#define GLINT_SERVER_PIXELS_JOB_PIXELS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "decode/clahe.h"
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

// Raw pixels in a message that are converted to grey rows. Keeps its memory from image to image.
class RawRows final : public PixelRows {
 public:
  // Sets the source, which must outlive the use of this. Rows exist only if it is of kind kRaw. If it has a range, the
  // limits are those of when rows are copied.
  void Use(const ImageSource& source) {
    source_ = &source;
    part_ = {0, 0, source.raw.shape};
    copied_bytes_ = 0;
  }

  // Restricts the rows to a part of the image.
  void CropTo(const Part& part) { part_ = part; }

  Shape shape() const override { return part_.shape; }
  void CopyRows(int first, int count, uint8_t* to, ptrdiff_t stride) const override;

  const ImageSource& source() const { return *source_; }

  // Bytes read from the source's pixels since Use(), or since Recount().
  int64_t copied_bytes() const { return copied_bytes_; }
  void Recount() { copied_bytes_ = 0; }

 private:
  const ImageSource* source_ = nullptr;
  Part part_;
  mutable std::vector<uint8_t> row_;  // of colours, when it is in several pieces
  mutable decode::GrayTable table_;   // of the source's range
  mutable int64_t copied_bytes_ = 0;
};

// Memory for one image at a time; grows to the largest seen.
struct PixelScratch {
  RawRows rows;
  Image decoded;              // also samples of 16 bits, which `samples` views
  std::vector<uint8_t> file;  // that came in pieces
  ImageSource samples;        // of a decoded file that has a range, as raw ones
  absl::Span<const uint8_t> samples_piece;
  decode::SampleCounts counts;
  std::vector<uint8_t> sample_row;  // of samples that are counted, when it is in several pieces
  Image checked;                    // a row
  decode::Clahe clahe;
  Image mapped, equalized;  // before and after
};

// Pixels of `source`, valid while `source` and the scratch are unchanged. Raw pixels are not read here: `rows` converts
// them, and GRAY8 in one piece also has a view. Encoded images are decoded here; with a range their samples are, which
// `rows` converts, or which are equalised here. The limits of one of the first images of a range by percentile are
// added to it here. What is returned has 1..max_pixels pixels, with sides of 1..kMaxImageSide. INVALID_ARGUMENT names a
// field of image.encoded, or image, if there is none; RESOURCE_EXHAUSTED: it has more pixels.
absl::StatusOr<Pixels> PixelsOf(const ImageSource& source, decode::Decoder* decoder, int64_t max_pixels,
                                PixelScratch* scratch);

// Crops `pixels`, which are a view or came from PixelsOf() with `scratch`, to a part that lies within them.
void CropTo(const Part& part, PixelScratch* scratch, Pixels* pixels);

// Depth image of `source`, which must have the shape of its camera. As PixelsOf(), but raw samples must be GRAY16, and
// encoded ones a grey PNG of 16 bits. Raw samples in one piece are viewed in place; others are copied and counted in
// `*copied_bytes`. INVALID_ARGUMENT names a field of image.raw, image.shared or image.encoded, or image.
absl::StatusOr<DepthView> DepthOf(const ImageSource& source, const DepthSensor& sensor, Shape camera,
                                  decode::Decoder* decoder, PixelScratch* scratch, int64_t* copied_bytes);

}  // namespace glint

#endif  // GLINT_SERVER_PIXELS_JOB_PIXELS_H_
