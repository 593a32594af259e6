// What an operation of glint-ros2 is: a stream to the server that frames go into, and topics that answers go out to.
#ifndef GLINT_ROS2_OPERATIONS_OPERATION_H_
#define GLINT_ROS2_OPERATIONS_OPERATION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ros/messages.h"
#include "ros2/input/frame.h"

namespace glint::ros2 {

// Thread-safe. Take() and AddImu() do not wait for answers: what the server is too slow for is dropped, oldest first,
// and counted. A stream that breaks is opened again, for as long as the operation lives.
class Operation {
 public:
  virtual ~Operation() = default;  // ends the stream; no message is published after it
  virtual void Take(std::shared_ptr<const Frame> frame) = 0;
  virtual void AddImu(const ros::Imu&) {}
  // How it goes, for /diagnostics: level, a sentence, figures.
  virtual ros::DiagnosticStatus Diagnose() = 0;
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_OPERATIONS_OPERATION_H_
