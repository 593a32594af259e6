// The CPU backend: one detector pipeline with all of its scratch memory. Equal, byte for byte, to features/reference.
//
// Thread-compatible. Scratch grows to the largest frame seen and is then reused: no allocation after that.
#ifndef GLINT_CPU_PIPELINE_H_
#define GLINT_CPU_PIPELINE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "cpu/common/worker_pool.h"
#include "features/options.h"
#include "features/types.h"

namespace glint::cpu {

class Pipeline {
 public:
  // `threads` >= 1 share one frame, the caller's included. The SIMD target is chosen here, once.
  explicit Pipeline(int threads = 1);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Arguments must be valid (ValidateOptions, ValidateImages); `mask` may be empty. `times` may be null.
  absl::Status Detect(const DetectorOptions& options, const ImageView& image, const ImageView& mask, Features* features,
                      StageTimes* times);

  // The threads that share a frame, for other work between two calls of Detect(). As long as this lives.
  WorkerPool* pool();

  // Level `l` of the last image's pyramid, before any blur; empty if it has none. Until the next Detect(), and as long
  // as that image lives.
  ImageView LevelImage(int l) const;

  // Exchanges the memory of the pyramid with another, so that the last image's LevelImage() outlive the next Detect().
  // A second call, after it, brings back the first memory.
  void SwapPyramid();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The SIMD target that a Pipeline made now would use ("AVX2", "NEON", ...): the best that this processor has, or the
// one that the environment variable GLINT_SIMD names.
std::string SimdTarget();

// INVALID_ARGUMENT if GLINT_SIMD names a target that this build or this processor lacks; the text lists what there is.
absl::Status ValidateSimdTarget();

}  // namespace glint::cpu

#endif  // GLINT_CPU_PIPELINE_H_
