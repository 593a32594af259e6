// What Fast DDS has to say of errors, which it would print.
#ifndef GLINT_ROS2_DDS_LOG_H_
#define GLINT_ROS2_DDS_LOG_H_

#include <string>
#include <vector>

namespace glint::ros2 {

// From the first call on nothing is printed. Each text once, those of all participants of the process. Thread-safe.
// `flush`: waits for what its thread has not passed on, some 0.1 s.
std::vector<std::string> TakeFastDdsErrors(bool flush = false);

}  // namespace glint::ros2

#endif  // GLINT_ROS2_DDS_LOG_H_
