#include "server/base/usable_memory.h"

#include <unistd.h>

#include <fstream>

#include "features/system_limits.h"

namespace glint {

UsableMemory FindUsableMemory(const std::string& root, int64_t machine_bytes) {
  if (machine_bytes == 0) machine_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  UsableMemory memory = {machine_bytes / 4 * 3, "three quarters of the machine"};
  for (const ControlGroup& group : ControlGroupsOf("memory", root)) {
    const std::string file = group.folder + (group.v1 ? "/memory.limit_in_bytes" : "/memory.max");
    std::ifstream in(file);
    int64_t bytes = 0;
    // "max" is no number; v1 says so with one that is larger than any machine.
    if (in >> bytes && bytes < memory.bytes) memory = {bytes, file};
  }
  return memory;
}

}  // namespace glint
