// How long the device will take, by how long it lately took for the same kind of work.
#ifndef GLINT_CUDA_RUNTIME_EXPECTED_WAIT_H_
#define GLINT_CUDA_RUNTIME_EXPECTED_WAIT_H_

#include <cstdint>

namespace glint::cuda {

// For whom to spin is cheaper than to be woken, which takes 30 to 50 us. Thread-compatible.
class ExpectedWait {
 public:
  // Waits that are longer are not worth a processor.
  static constexpr int64_t kMostNs = 1'000'000;
  static constexpr int64_t kMarginNs = 50'000;

  // How long to spin before the thread blocks: half as much again as the mean, and a margin. 0: not at all.
  int64_t SpinNs() const { return mean_ns_ > kMostNs ? 0 : mean_ns_ + mean_ns_ / 2 + kMarginNs; }

  void Took(int64_t ns) { mean_ns_ += mean_ns_ == 0 ? ns : (ns - mean_ns_) / 4; }

 private:
  int64_t mean_ns_ = 0;  // weighted towards the latest
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RUNTIME_EXPECTED_WAIT_H_
