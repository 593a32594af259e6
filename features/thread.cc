#include "features/thread.h"

#include <sys/resource.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/system_limits.h"

namespace glint {
namespace {

// A thread is also refused where there is no room for its stack.
std::string StackLimit() {
  rlimit space = {};
  if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY) return "";
  return absl::StrCat(", and stacks to what is left of the ", space.rlim_cur,
                      " bytes of RLIMIT_AS (ulimit -v, LimitAS=)");
}

}  // namespace

absl::Status ThreadError(absl::string_view what) {
  const ThreadLimit limit = FindThreadLimit();
  return ExhaustedError(
      what,
      absl::StrCat("the system makes no further thread; threads and processes are limited to ", limit.most, " by ",
                   limit.source, limit.in_use < 0 ? "" : absl::StrCat(" (", limit.in_use, " in use)"), StackLimit(),
                   ": raise that limit (--pids-limit, podPidsLimit, TasksMax= or ulimit -u)"),
      absl::StrCat(limit.most), "");
}

}  // namespace glint
