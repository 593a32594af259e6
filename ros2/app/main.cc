// glint-ros2: topics of ROS 2 in, poses and features of a Glint server out.
#include <csignal>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "ros2/app/node.h"
#include "ros2/config/config.h"
#include "ros2/operations/complain.h"

namespace glint::ros2 {
namespace {

enum ExitStatus { kEnded = 0, kFailed = 1, kUsage = 2 };

int Fail(const absl::Status& status) {
  Complain(status.message());
  return absl::IsInvalidArgument(status) || absl::IsNotFound(status) || absl::IsPermissionDenied(status) ? kUsage
                                                                                                         : kFailed;
}

int Run(const std::vector<std::string>& words, const sigset_t& signals) {
  const auto arguments = ReadArguments(words);
  if (!arguments.ok()) return Fail(arguments.status());
  if (arguments->help || arguments->version) {
    const std::string text = arguments->help ? HelpText() : "glint-ros2 " GLINT_VERSION "\n";
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0 ? kEnded
                                                                                                       : kFailed;
  }
  const auto config = LoadConfig(*arguments);
  if (!config.ok()) return Fail(config.status());
  const auto node = Node::Create(*config);
  if (!node.ok()) return Fail(node.status());
  Complain((*node)->Text());
  constexpr timespec kLook = {0, 100'000'000};
  while (sigtimedwait(&signals, nullptr, &kLook) < 0) {
    if (const absl::Status given_up = (*node)->given_up(); !given_up.ok()) return Fail(given_up);
  }
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);  // another one ends it at once
  return kEnded;
}

}  // namespace
}  // namespace glint::ros2

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // of all threads, which are made later
  return glint::ros2::Run({argv + 1, argv + argc}, signals);
}
