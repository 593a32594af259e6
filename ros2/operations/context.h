// What all operations of a node share. Everything in it outlives them.
#ifndef GLINT_ROS2_OPERATIONS_CONTEXT_H_
#define GLINT_ROS2_OPERATIONS_CONTEXT_H_

#include "ros2/config/config.h"
#include "ros2/convert/messages.h"
#include "ros2/dds/participant.h"
#include "ros2/input/frame.h"
#include "ros2/input/input.h"
#include "ros2/operations/connection.h"

namespace glint::ros2 {

class Live;

struct Context {
  const Config* config = nullptr;
  Participant* participant = nullptr;
  Input* input = nullptr;
  Connection* connection = nullptr;
  Live* live = nullptr;  // null: not asked for
};

// Names of frames of reference for what `frame` led to: the camera's is its left picture's, unless it is configured.
inline FrameNames FrameNamesOf(const Config& config, const Frame& frame) {
  const FramesConfig& names = config.frames;
  return {names.map, names.odom, names.base, names.camera.empty() ? frame.left.frame_id : names.camera};
}

}  // namespace glint::ros2

#endif  // GLINT_ROS2_OPERATIONS_CONTEXT_H_
