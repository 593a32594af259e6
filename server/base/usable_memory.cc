#include "server/base/usable_memory.h"

#include <unistd.h>

#include <fstream>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace glint {
namespace {

// The limits of the group `path` ("/a/b") and of those above it, below `mount`. Where a container sees its group as the
// root of the mount, while /proc names it as the host does, only the root is there.
void Lower(const std::string& mount, std::string path, const char* name, UsableMemory* memory) {
  for (;;) {
    const std::string file = absl::StrCat(mount, path == "/" ? "" : path, "/", name);
    std::ifstream in(file);
    int64_t bytes = 0;
    std::string text;
    // "max" is no number; v1 says so with one that is larger than any machine.
    if (in >> text && absl::SimpleAtoi(text, &bytes) && bytes < memory->bytes) *memory = {bytes, file};
    if (path.empty() || path == "/") return;
    path.resize(path.rfind('/'));
  }
}

}  // namespace

UsableMemory FindUsableMemory(const std::string& root, int64_t machine_bytes) {
  if (machine_bytes == 0) machine_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  UsableMemory memory = {machine_bytes / 4 * 3, "three quarters of the machine"};
  std::ifstream groups(root + "/proc/self/cgroup");
  // "0::/a/b" is v2's; "9:memory:/a/b" v1's.
  for (std::string line; std::getline(groups, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3 || parts[2].empty() || parts[2][0] != '/') continue;
    if (parts[1].empty()) {
      Lower(root + "/sys/fs/cgroup", parts[2], "memory.max", &memory);
    } else {
      for (const absl::string_view controller : absl::StrSplit(parts[1], ',')) {
        if (controller == "memory") {
          Lower(root + "/sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes", &memory);
        }
      }
    }
  }
  return memory;
}

}  // namespace glint
