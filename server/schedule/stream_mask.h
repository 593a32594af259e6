// The mask that all frames of a stream share: kept once, decoded once.
#ifndef GLINT_SERVER_SCHEDULE_STREAM_MASK_H_
#define GLINT_SERVER_SCHEDULE_STREAM_MASK_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "features/types.h"
#include "server/schedule/frame_job.h"

namespace glint {

// Thread-safe.
class StreamMask {
 public:
  // Copies the source's bytes.
  explicit StreamMask(const ImageSource& source);

  // The pixels. The first call decodes, with the caller's decoder; others wait for it.
  absl::StatusOr<ImageView> View(decode::Decoder* decoder, int64_t max_pixels);

 private:
  std::vector<uint8_t> bytes_;
  ImageSource source_;  // of bytes_
  std::once_flag decoded_;
  Image pixels_;
  absl::StatusOr<ImageView> view_;
};

// The grey pixels of `source`: a view of its own bytes if they are GRAY8, otherwise of `*pixels`, filled here.
absl::StatusOr<ImageView> GrayView(const ImageSource& source, decode::Decoder* decoder, int64_t max_pixels,
                                   Image* pixels);

// `status` with the field "image" renamed: decoders speak of "image.width", here it was the mask's.
absl::Status AboutMask(const absl::Status& status);

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_STREAM_MASK_H_
