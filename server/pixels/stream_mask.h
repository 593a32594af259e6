// A mask shared by all frames of a stream: stored once, decoded once.
#ifndef GLINT_SERVER_PIXELS_STREAM_MASK_H_
#define GLINT_SERVER_PIXELS_STREAM_MASK_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "features/types.h"
#include "server/pixels/job_pixels.h"

namespace glint {

// Thread-safe.
class StreamMask {
 public:
  // Copies the source's bytes.
  explicit StreamMask(const ImageSource& source);

  // Pixels of the mask. The first call decodes, with the caller's decoder; concurrent calls wait for it.
  absl::StatusOr<ImageView> View(decode::Decoder* decoder, int64_t max_pixels);
  // The share of its pixels that are neither 0 nor 255. After View().
  double other_values() const { return other_values_; }
  // The copy, for who decodes it elsewhere.
  const ImageSource& source() const { return source_; }

 private:
  std::vector<uint8_t> bytes_;
  absl::Span<const uint8_t> piece_;  // views bytes_
  ImageSource source_;               // views piece_
  std::once_flag decoded_;
  PixelScratch scratch_;
  absl::StatusOr<ImageView> view_;
  double other_values_ = 0;
};

}  // namespace glint

#endif  // GLINT_SERVER_PIXELS_STREAM_MASK_H_
