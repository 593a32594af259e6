#include "features/thread.h"

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/system_limits.h"

namespace glint {

absl::Status ThreadError(absl::string_view what) {
  const ThreadLimit limit = FindThreadLimit();
  return ExhaustedError(
      what,
      absl::StrCat("the system makes no further thread; threads and processes are limited to ", limit.most, " by ",
                   limit.source, limit.in_use < 0 ? "" : absl::StrCat(" (", limit.in_use, " in use)"),
                   ": raise that limit (--pids-limit, podPidsLimit, TasksMax= or ulimit -u)"),
      absl::StrCat(limit.most), "");
}

}  // namespace glint
