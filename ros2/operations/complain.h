// What people should know, on standard error.
#ifndef GLINT_ROS2_OPERATIONS_COMPLAIN_H_
#define GLINT_ROS2_OPERATIONS_COMPLAIN_H_

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace glint::ros2 {

// "glint-ros2: text". Thread-safe.
inline void Complain(absl::string_view text) {
  const std::string line = absl::StrCat("glint-ros2: ", text, "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace glint::ros2

#endif  // GLINT_ROS2_OPERATIONS_COMPLAIN_H_
