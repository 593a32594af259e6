// Which processors threads run on, and how deep idle processors may sleep.
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

// "0-3,8" to 0, 1, 2, 3, 8: sorted, each once; "" to none. INVALID_ARGUMENT names `field`.
absl::StatusOr<std::vector<int>> ParseCpus(absl::string_view field, absl::string_view text);
// The other way.
std::string CpusText(const std::vector<int>& cpus);
// OK if the calling thread may use all of them; otherwise INVALID_ARGUMENT with those that it may.
absl::Status CheckCpus(absl::string_view field, const std::vector<int>& cpus);

// While it lives, the calling thread runs on `cpus` only; none: as before. The threads that it starts meanwhile inherit
// that, and keep it.
class ScopedCpus {
 public:
  ScopedCpus(absl::string_view field, const std::vector<int>& cpus);
  ~ScopedCpus();
  ScopedCpus(const ScopedCpus&) = delete;
  ScopedCpus& operator=(const ScopedCpus&) = delete;
  // Errors of CheckCpus(); then the thread runs where it did.
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
  bool set_ = false;
  cpu_set_t before_;
};

// Idle processors of the machine use no sleep state that takes longer than this to leave, while the object lives
// (kernel: power/pm_qos_interface.rst).
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
