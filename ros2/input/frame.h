// What cameras have sent, ready for streams of the client.
#ifndef GLINT_ROS2_INPUT_FRAME_H_
#define GLINT_ROS2_INPUT_FRAME_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "client/image.h"

namespace glint::ros2 {

// One picture: pixels in a slot of shared memory or in `bytes`, or a JPEG or PNG file in `bytes`.
struct Picture {
  int64_t stamp_ns = 0;      // of its header
  int64_t received_ns = 0;   // by our clock, since the epoch
  std::string frame_id;      // of its header
  client::ImageInput image;  // points into `bytes`, or holds the slot
  std::vector<uint8_t> bytes;

  bool empty() const { return image.kind == client::ImageInput::Kind::kNone; }
};

// A picture, a pair, or a picture with depths: `right` and `depth` are empty where there is none.
struct Frame {
  Picture left, right, depth;
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_INPUT_FRAME_H_
