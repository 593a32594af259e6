// Threads whose making can fail: a container or a user may have a limit of them.
#ifndef GLINT_FEATURES_THREAD_H_
#define GLINT_FEATURES_THREAD_H_

#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace glint {

// RESOURCE_EXHAUSTED: the system refused the thread that `what` wanted. The text names the limit (FindThreadLimit()).
absl::Status ThreadError(absl::string_view what);

// What make() returns, or ThreadError(`what`) if one of its threads cannot be made (std::system_error).
template <typename Make>
auto WithThreads(absl::string_view what, Make make) -> absl::StatusOr<decltype(make())> {
  try {
    return make();
  } catch (const std::system_error&) {
    return ThreadError(what);
  }
}

// A thread that runs `body`, or ThreadError(`what`).
template <typename Body>
absl::StatusOr<std::thread> StartThread(absl::string_view what, Body body) {
  return WithThreads(what, [&body] { return std::thread(std::move(body)); });
}

}  // namespace glint

#endif  // GLINT_FEATURES_THREAD_H_
