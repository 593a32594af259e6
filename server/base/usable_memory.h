// Determines how much memory this process may use.
#ifndef GLINT_SERVER_BASE_USABLE_MEMORY_H_
#define GLINT_SERVER_BASE_USABLE_MEMORY_H_

#include <cstdint>
#include <string>

namespace glint {

struct UsableMemory {
  int64_t bytes = 0;
  std::string source;  // "three quarters of the machine", or the file of the limit
};

// The smallest of: three quarters of the machine's memory (the rest is for other processes), and the limits of the
// process's control groups and their parents, as set by containers or a unit's MemoryMax=. cgroup v2 (memory.max) and
// v1 (memory.limit_in_bytes). `root` is a prefix of /proc and /sys, `machine_bytes` replaces the machine's memory; both
// are for tests.
UsableMemory FindUsableMemory(const std::string& root = "", int64_t machine_bytes = 0);

}  // namespace glint

#endif  // GLINT_SERVER_BASE_USABLE_MEMORY_H_
