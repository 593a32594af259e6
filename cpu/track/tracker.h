// Tracking on the CPU. Equal, element for element, to features/reference, at every SIMD target and with any number of
// threads.
#ifndef GLINT_CPU_TRACK_TRACKER_H_
#define GLINT_CPU_TRACK_TRACKER_H_

#include <array>
#include <vector>

#include "cpu/common/buffer.h"
#include "cpu/common/worker_pool.h"
#include "cpu/track/kernels.h"
#include "features/tracker.h"

namespace glint::cpu {

// The pyramid of an image, as reference::HalveForTracking makes it. Thread-compatible. Memory is kept from image to
// image.
class TrackLevels {
 public:
  // The SIMD target is chosen here, once, as for Pipeline.
  TrackLevels();

  // `levels`: 1..kMaxTrackLevels; those without pixels are left out. Level 0 is `image` itself, which must live on.
  void Build(const ImageView& image, int levels);
  TrackPyramid view() const { return {views_.data(), count_}; }

 private:
  TrackKernels kernels_;
  std::array<Image, kMaxTrackLevels> images_;
  std::array<ImageView, kMaxTrackLevels> views_;
  int count_ = 0;
  Buffer<int16_t> scratch_;
};

struct TrackScratch;  // of one thread

// Thread-compatible. Allocates nothing after construction but for the largest result.
class Tracker {
 public:
  // `threads` >= 1 share one call, the caller's included. The SIMD target is chosen here, once, as for Pipeline.
  explicit Tracker(int threads = 1);
  ~Tracker();
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  // Valid arguments (ValidateTrackOptions, ValidateTrackInput).
  void Track(const TrackInput& input, const TrackOptions& options, TrackResult* result);

 private:
  WorkerPool pool_;
  TrackKernels kernels_;
  std::vector<TrackScratch> scratch_;
};

}  // namespace glint::cpu

#endif  // GLINT_CPU_TRACK_TRACKER_H_
