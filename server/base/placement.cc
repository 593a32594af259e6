#include "server/base/placement.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "features/error.h"

namespace glint {

absl::StatusOr<std::vector<int>> ParseCpus(absl::string_view field, absl::string_view text) {
  std::vector<int> cpus;
  if (text.empty()) return cpus;
  for (const absl::string_view range : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> ends = absl::StrSplit(range, '-');
    int first = 0, last = 0;
    if (ends.size() > 2 || !absl::SimpleAtoi(ends.front(), &first) || !absl::SimpleAtoi(ends.back(), &last) ||
        first > last) {
      return ContradictionError(field, absl::StrCat("\"", text, "\" is no list of processors like 0-3,8"));
    }
    for (const int cpu : {first, last}) {
      if (cpu < 0 || cpu > kMaxCpu) return OutOfRangeError(field, cpu, 0, kMaxCpu);
    }
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string CpusText(const std::vector<int>& cpus) {
  std::string text;
  for (size_t i = 0; i < cpus.size();) {
    size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    absl::StrAppend(&text, i == 0 ? "" : ",", cpus[i]);
    if (end > i + 1) absl::StrAppend(&text, "-", cpus[end - 1]);
    i = end;
  }
  return text;
}

absl::Status CheckCpus(absl::string_view field, const std::vector<int>& cpus) {
  if (cpus.empty()) return absl::OkStatus();
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(field, ": sched_getaffinity: ", std::strerror(errno)));
  }
  std::vector<int> usable;
  for (int cpu = 0; cpu <= kMaxCpu; ++cpu) {
    if (CPU_ISSET(static_cast<size_t>(cpu), &set)) usable.push_back(cpu);
  }
  for (const int cpu : cpus) {
    if (std::binary_search(usable.begin(), usable.end(), cpu)) continue;
    return ContradictionError(
        field, absl::StrCat("processor ", cpu, " is not one that this process may use (", CpusText(usable), ")"));
  }
  return absl::OkStatus();
}

ScopedCpus::ScopedCpus(absl::string_view field, const std::vector<int>& cpus) : status_(CheckCpus(field, cpus)) {
  if (cpus.empty() || !status_.ok()) return;
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (const int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &wanted);
  set_ = sched_getaffinity(0, sizeof(before_), &before_) == 0 && sched_setaffinity(0, sizeof(wanted), &wanted) == 0;
  if (!set_)
    status_ = absl::FailedPreconditionError(absl::StrCat(field, ": sched_setaffinity: ", std::strerror(errno)));
}

ScopedCpus::~ScopedCpus() {
  if (set_) sched_setaffinity(0, sizeof(before_), &before_);
}

absl::Status CpuDmaLatency::Hold(int us, const std::string& device) {
  const int32_t value = us;
  if (file_ < 0) file_ = open(device.c_str(), O_WRONLY | O_CLOEXEC);
  if (file_ >= 0 && write(file_, &value, sizeof(value)) == sizeof(value)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("cpu-dma-latency: ", device, ": ", std::strerror(errno)));
}

CpuDmaLatency::~CpuDmaLatency() {
  if (file_ >= 0) close(file_);
}

}  // namespace glint
