// CPU affinity of threads, and the sleep states of idle processors.
#ifndef GLINT_SERVER_BASE_PLACEMENT_H_
#define GLINT_SERVER_BASE_PLACEMENT_H_

#include <sched.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace glint {

inline constexpr int kMaxCpu = CPU_SETSIZE - 1;

// Parses "0-3,8" as {0, 1, 2, 3, 8}: sorted, without duplicates; "" as none. INVALID_ARGUMENT names `field`.
absl::StatusOr<std::vector<int>> ParseCpus(absl::string_view field, absl::string_view text);
// Inverse of ParseCpus().
std::string CpusText(const std::vector<int>& cpus);
// OK if the calling thread may use all of `cpus`; otherwise INVALID_ARGUMENT with the permitted ones.
absl::Status CheckCpus(absl::string_view field, const std::vector<int>& cpus);

// Restricts the calling thread to `cpus` during its lifetime; empty: no change. Threads that it starts meanwhile
// inherit the restriction and keep it.
class ScopedCpus {
 public:
  ScopedCpus(absl::string_view field, const std::vector<int>& cpus);
  ~ScopedCpus();
  ScopedCpus(const ScopedCpus&) = delete;
  ScopedCpus& operator=(const ScopedCpus&) = delete;
  // Errors of CheckCpus(), in which case the affinity is unchanged.
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
  bool set_ = false;
  cpu_set_t before_;
};

// Keeps idle processors of the machine out of sleep states with a longer exit latency, during its lifetime (kernel:
// power/pm_qos_interface.rst).
class CpuDmaLatency {
 public:
  static constexpr char kDevice[] = "/dev/cpu_dma_latency";

  CpuDmaLatency() = default;
  // `us` >= 0, microseconds. FAILED_PRECONDITION if the device cannot be opened or written.
  absl::Status Hold(int us, const std::string& device = kDevice);
  ~CpuDmaLatency();
  CpuDmaLatency(const CpuDmaLatency&) = delete;
  CpuDmaLatency& operator=(const CpuDmaLatency&) = delete;

 private:
  int file_ = -1;
};

}  // namespace glint

#endif  // GLINT_SERVER_BASE_PLACEMENT_H_
