// What a benchmark needs of the CUDA backend beyond Detect(): GPU time without the host's share, the physical floors of
// the same machine in the same run, and pinned host memory. Declared apart from pipeline.h because no server needs it.
//
// How glint-microbench measures:
//   device-resident   pipeline->TimeOnDevice(options, image, mask, repeats): one upload, then `repeats` replays of the
//                     frame's graph, each between two events; includes writing the results out, excludes the upload.
//   host to host      wall clock around pipeline->Detect() with `image` in PinnedMemory (or in pageable memory).
//   floors            pipeline->MeasureFloors(bytes up, bytes down, repeats).
//   few SMs           PipelineOptions::sm_limit.
#ifndef GLINT_CUDA_RUNTIME_HOOKS_H_
#define GLINT_CUDA_RUNTIME_HOOKS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "features/types.h"

namespace glint::cuda {

// GPU times of one frame that is already on the device.
struct DeviceTiming {
  std::vector<float> replay_us;  // one per replay, in the order they ran
  // Medians of the stages, from a second series of replays with events between the stages; their sum exceeds a plain
  // replay's time, because an event keeps neighbouring stages from overlapping. upload_ns, download_ns and detect_ns
  // are 0 here.
  StageTimes stages;
  int keypoints = 0;
  int launches = 0;  // kernels of the frame's graph
};

// Medians, microseconds of wall clock from the call to the end of the wait.
struct Floors {
  float empty_graph_us = 0;  // a graph of one kernel that does nothing
  float upload_us = 0;       // a pinned copy of that many bytes to the device
  float download_us = 0;     // and back
};

// Page-locked host memory. Move-only.
class PinnedMemory {
 public:
  static absl::StatusOr<PinnedMemory> Allocate(size_t bytes);
  PinnedMemory(PinnedMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~PinnedMemory();
  uint8_t* data() const { return data_; }

 private:
  explicit PinnedMemory(uint8_t* data) : data_(data) {}
  uint8_t* data_ = nullptr;
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RUNTIME_HOOKS_H_
