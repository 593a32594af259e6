// tf_echo TOPIC [latched]: writes the bytes of each tf2_msgs/msg/TFMessage in hexadecimal, a line each, until it is
// killed. rclpy from PyPI has no package of that type.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "features/status_macros.h"
#include "ros/messages.h"
#include "ros2/dds/participant.h"

namespace glint::ros2 {
namespace {

absl::Status Echo(const std::string& topic, bool latched) {
  GLINT_ASSIGN_OR_RETURN(const auto node, Participant::Create({"/", "tf_echo"}));
  GLINT_ASSIGN_OR_RETURN(const auto subscription,
                         node->Subscribe(topic, TypeOf<ros::TFMessage>(), latched ? kLatched : Qos{},
                                         [](absl::Span<const uint8_t> cdr, const SampleInfo&) {
                                           const absl::string_view bytes(reinterpret_cast<const char*>(cdr.data()),
                                                                         cdr.size());
                                           std::puts(absl::BytesToHexString(bytes).c_str());
                                           std::fflush(stdout);
                                         }));
  for (;;) pause();
}

}  // namespace
}  // namespace glint::ros2

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const absl::Status status = glint::ros2::Echo(argv[1], argc > 2);
  std::fprintf(stderr, "tf_echo: %s\n", std::string(status.message()).c_str());
  return 1;
}
