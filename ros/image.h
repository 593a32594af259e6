// What the pixels of ROS's images are, as the service takes them (proto/terms.h). Pure functions.
#ifndef GLINT_ROS_IMAGE_H_
#define GLINT_ROS_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "features/types.h"
#include "proto/terms.h"
#include "ros/sensor_messages.h"

namespace glint::ros {

enum class ImageUse { kPicture, kDepth };

// Row y of shape.height begins at data + y * stride and has `row_bytes` bytes.
struct ImagePixels {
  PixelFormat format = PixelFormat::kGray8;  // not kNv12
  Shape shape;
  const uint8_t* data = nullptr;  // in the message, or in `converted`
  size_t stride = 0;              // bytes, >= row_bytes
  size_t row_bytes = 0;

  std::vector<uint8_t> converted;  // of what the service does not take as it is; keeps its memory
};

// As pictures:
//   mono8, 8UC1                     kGray8
//   mono16, 16UC1                   kGray16; of big-endian ones the bytes are swapped
//   bgr8, rgb8, bgra8, rgba8        as they are
//   bayer_rggb8                     kBayerRggb8
//   yuv422_yuy2, yuyv               kYuyv
//   yuv422, uyvy, nv12, nv21, nv24  their luma, kGray8
// As depths, mono16 and 16UC1 with samples in whatever unit, and 32FC1, whose metres become millimetres of kGray16,
// halves up; what is then not in 1..65535 becomes 0, which is no depth. https://www.ros.org/reps/rep-0118.html
// INVALID_ARGUMENT names the field: another encoding, sides not in 1..kMaxImageSide, rows longer than `step`, and less
// data than height * step.
absl::Status PixelsOf(const Image& image, ImageUse use, ImagePixels* pixels);

// The JPEG or PNG file in `image`, known by its first bytes. INVALID_ARGUMENT: it is another, or one with something in
// front of it (compressedDepth).
absl::StatusOr<absl::Span<const uint8_t>> FileOf(const CompressedImage& image);

}  // namespace glint::ros

#endif  // GLINT_ROS_IMAGE_H_
