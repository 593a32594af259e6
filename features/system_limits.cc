#include "features/system_limits.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace glint {
namespace {

// The group `path` ("/a/b") below `mount`, and those above it.
void AddGroups(const std::string& mount, std::string path, bool v1, std::vector<ControlGroup>* groups) {
  for (;;) {
    groups->push_back({absl::StrCat(mount, path == "/" ? "" : path), v1});
    if (path.empty() || path == "/") return;
    path.resize(path.rfind('/'));
  }
}

// False if there is no such file, or if it begins with a word, as "max" does.
template <typename Number>
bool ReadNumber(const std::string& file, Number* number) {
  std::ifstream in(file);
  return static_cast<bool>(in >> *number);
}

// The quota of a group in processors; 0: it has none.
double QuotaOf(const ControlGroup& group, std::string* file) {
  double quota = 0, period = 0;  // microseconds
  *file = absl::StrCat(group.folder, group.v1 ? "/cpu.cfs_quota_us" : "/cpu.max");
  std::ifstream in(*file);
  if (!(in >> quota)) return 0;
  if (group.v1) {
    if (!ReadNumber(group.folder + "/cpu.cfs_period_us", &period)) return 0;
  } else if (!(in >> period)) {
    return 0;
  }
  return quota > 0 && period > 0 ? quota / period : 0;  // v1 says -1 for none
}

int ProcessorsInMask() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace

std::vector<ControlGroup> ControlGroupsOf(absl::string_view controller, const std::string& root) {
  std::vector<ControlGroup> groups;
  const std::string mount = root + "/sys/fs/cgroup";
  std::ifstream in(root + "/proc/self/cgroup");
  // "0::/a/b" is v2's; "9:cpu,cpuacct:/a/b" v1's.
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3 || parts[2].empty() || parts[2][0] != '/') continue;
    if (parts[1].empty()) AddGroups(mount, parts[2], false, &groups);
    for (const absl::string_view name : absl::StrSplit(parts[1], ',')) {
      if (name != controller) continue;
      AddGroups(absl::StrCat(mount, "/", name), parts[2], true, &groups);
      // Some systems have no link of that name to the controllers' common folder.
      if (parts[1] != name) AddGroups(absl::StrCat(mount, "/", parts[1]), parts[2], true, &groups);
    }
  }
  return groups;
}

UsableProcessors FindUsableProcessors(const std::string& root, int affinity) {
  if (affinity == 0) affinity = ProcessorsInMask();
  UsableProcessors found = {affinity, static_cast<double>(affinity), "affinity"};
  for (const ControlGroup& group : ControlGroupsOf("cpu", root)) {
    std::string file;
    const double quota = QuotaOf(group, &file);
    if (quota > 0 && quota < found.share) found = {1, quota, file};
  }
  found.count = std::max(1, static_cast<int>(std::ceil(found.share)));
  return found;
}

ThreadLimit FindThreadLimit(const std::string& root) {
  ThreadLimit smallest = {std::numeric_limits<int64_t>::max(), -1, root + "/proc/sys/kernel/threads-max"};
  if (!ReadNumber(smallest.source, &smallest.most)) smallest.most = std::numeric_limits<int64_t>::max();
  rlimit of_user = {};
  if (geteuid() != 0 && getrlimit(RLIMIT_NPROC, &of_user) == 0 && of_user.rlim_cur != RLIM_INFINITY &&
      static_cast<int64_t>(of_user.rlim_cur) < smallest.most) {
    smallest = {static_cast<int64_t>(of_user.rlim_cur), -1, "RLIMIT_NPROC"};
  }
  for (const ControlGroup& group : ControlGroupsOf("pids", root)) {
    ThreadLimit limit = {0, -1, group.folder + "/pids.max"};
    if (!ReadNumber(limit.source, &limit.most)) continue;
    if (!ReadNumber(group.folder + "/pids.current", &limit.in_use)) limit.in_use = -1;
    if (limit.in_use >= limit.most) return limit;
    if (limit.most < smallest.most) smallest = limit;
  }
  return smallest;
}

}  // namespace glint
