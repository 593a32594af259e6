// What the system lets this process have of processors and threads: by affinity, resource limits, and control groups
// (v1 and v2), which containers and service managers set. `root` is a prefix of /proc and /sys, for tests.
#ifndef GLINT_FEATURES_SYSTEM_LIMITS_H_
#define GLINT_FEATURES_SYSTEM_LIMITS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace glint {

// A control group that limits this process, as a folder: its own or one above it.
struct ControlGroup {
  std::string folder;
  bool v1 = false;
};
// The groups of `controller` ("cpu", "memory", "pids"), the process's own first. The folders need not exist: a
// container sees its group as the root of the mount, while /proc may name it as the host does.
std::vector<ControlGroup> ControlGroupsOf(absl::string_view controller, const std::string& root = "");

struct UsableProcessors {
  int count = 1;       // threads that can run at the same time: `share`, rounded up
  double share = 1;    // seconds of processors per second
  std::string source;  // "affinity", or the file of the quota
};
// The smallest of: processors in the calling thread's affinity mask, and the quotas of control groups (cpu.max;
// cpu.cfs_quota_us). `affinity` replaces the number in the mask, for tests.
UsableProcessors FindUsableProcessors(const std::string& root = "", int affinity = 0);

struct ThreadLimit {
  int64_t most = 0;     // threads and processes together
  int64_t in_use = -1;  // of these; -1: not known
  std::string source;   // "RLIMIT_NPROC", or the file of the limit
};
// The limit that is reached, or the smallest one: pids.max of control groups; RLIMIT_NPROC, which counts all threads of
// the user and does not hold for root; kernel.threads-max.
ThreadLimit FindThreadLimit(const std::string& root = "");

}  // namespace glint

#endif  // GLINT_FEATURES_SYSTEM_LIMITS_H_
