// What a process takes, as its kernel counts it.
#ifndef GLINT_TESTS_SERVER_PROCESS_MEMORY_H_
#define GLINT_TESTS_SERVER_PROCESS_MEMORY_H_

#include <malloc.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace glint::testing {

// A line of /proc/self/status, for example "VmHWM:" (kB) or "Threads:".
inline int64_t ProcessStatus(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    int64_t value = -1;
    if (word == name && file >> value) return value;
  }
  return -1;
}

// How much more resident memory this process had at most than at the beginning.
class PeakMemory {
 public:
  PeakMemory() {
    malloc_trim(0);                                 // what is kept for use would hide what is taken anew
    std::ofstream("/proc/self/clear_refs") << "5";  // VmHWM starts again
    before_ = ProcessStatus("VmRSS:");
  }
  int64_t GrowthBytes() const { return (ProcessStatus("VmHWM:") - before_) * 1024; }

 private:
  int64_t before_;
};

}  // namespace glint::testing

#endif  // GLINT_TESTS_SERVER_PROCESS_MEMORY_H_
