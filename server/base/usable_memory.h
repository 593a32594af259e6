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

// The smallest of three quarters of the machine's memory, where others live, too, and the limits of the control groups
// that the process is in, those above included: what a container or a unit's MemoryMax= sets. cgroup v2 (memory.max)
// and v1 (memory.limit_in_bytes). `root` goes before /proc and /sys, `machine_bytes` is the machine's memory; both are
// for tests.
UsableMemory FindUsableMemory(const std::string& root = "", int64_t machine_bytes = 0);

}  // namespace glint

#endif  // GLINT_SERVER_BASE_USABLE_MEMORY_H_
