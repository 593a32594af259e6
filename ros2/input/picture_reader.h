// Pictures of the messages of a topic.
#ifndef GLINT_ROS2_INPUT_PICTURE_READER_H_
#define GLINT_ROS2_INPUT_PICTURE_READER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "features/types.h"
#include "ros/image.h"
#include "ros/messages.h"
#include "ros2/dds/participant.h"
#include "ros2/input/frame.h"
#include "ros2/input/picture_memory.h"

namespace glint::ros2 {

// OK, or INVALID_ARGUMENT: a stamp that is 0 or less, or is none; a frame's name of over 1000 bytes. `type`: of the
// message, for errors.
absl::Status CheckHeader(const ros::Header& header, const char* type);

// Thread-compatible.
class PictureReader {
 public:
  enum class Kind { kRaw, kFile, kDepth };
  // Samples of kDepth have `depth_unit` metres, so that depths in metres (32FC1) are refused where that is not 0.001.
  PictureReader(Kind kind, double depth_unit, std::shared_ptr<PictureMemory> memory)
      : kind_(kind), depth_unit_(depth_unit), memory_(std::move(memory)) {}

  // Copies the pixels of a sensor_msgs/msg/Image once, or those of a CompressedImage as the file that they are; what
  // ros::PixelsOf() has to convert once more. INVALID_ARGUMENT names the field; then *picture is unspecified.
  absl::Status Read(absl::Span<const uint8_t> cdr, const SampleInfo& info, Picture* picture);

 private:
  absl::Status ReadFile(absl::Span<const uint8_t> cdr, Picture* picture);
  absl::Status ReadPixels(absl::Span<const uint8_t> cdr, Picture* picture);

  const Kind kind_;
  const double depth_unit_;
  const std::shared_ptr<PictureMemory> memory_;
  ros::Image image_;  // these keep their memory
  ros::CompressedImage file_;
  ros::ImagePixels pixels_;
};

// Of its images, pixels. INVALID_ARGUMENT: it is a file whose header cannot be read.
absl::StatusOr<Shape> ShapeOf(const Picture& picture);

}  // namespace glint::ros2

#endif  // GLINT_ROS2_INPUT_PICTURE_READER_H_
