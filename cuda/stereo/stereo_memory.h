// The memory of stereo matching on one device, and one call's launches in it. Internal to Glint.
//
// Thread-compatible. Grows to the largest call seen; a call no larger allocates nothing.
#ifndef GLINT_CUDA_STEREO_STEREO_MEMORY_H_
#define GLINT_CUDA_STEREO_STEREO_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "cuda/match/match_plan.h"
#include "cuda/runtime/owners.h"
#include "cuda/stereo/stereo_params.h"
#include "features/stereo.h"

namespace glint::cuda {

class StereoMemory {
 public:
  // What a call needs: keypoints of each eye, at least 1, bytes of a descriptor, rows of the image.
  struct Room {
    int lefts = 0;
    int rights = 0;
    int bytes = 0;
    int rows = 0;
  };

  // What calls will run on.
  void Initialize(const MatchDevice& device) { device_ = device; }

  // Makes room for all calls up to `room`. None of them may be under way.
  absl::Status Reserve(StreamView stream, const Room& room);

  // For a call of so many keypoints, with room for it: sets all pointers but those of levels, and the counts.
  void Place(int lefts, int rights, StereoParams* params) const;

  // Where GatherKeypoints() puts descriptors for the host: as the device and as the host see it.
  uint8_t* gathered(bool right) const { return result_.device_data() + gathered_[right]; }
  const uint8_t* gathered_on_host(bool right) const { return result_.data() + gathered_[right]; }

  // Enqueues a call: `sources` says where keypoints are gathered from first, or is null. With no keypoints in one of
  // the eyes it gathers alone.
  absl::Status Enqueue(StreamView stream, const StereoParams& params, const StereoSources* sources);
  // Enqueues the gathering alone, of keypoints that are not to be matched here.
  absl::Status EnqueueGather(StreamView stream, const StereoParams& params, const StereoSources& sources) const;
  // After a wait for the stream: a call ran to its end.
  void Finished() { dirty_ = false; }
  // Into a result of params.left.count elements; both eyes have keypoints.
  void Read(const StereoParams& params, StereoResult* result) const;

 private:
  absl::Status ClearState(StreamView stream);
  absl::Status EnqueueChecks(StreamView stream, const StereoParams& params);
  uint8_t* at(size_t offset) const { return memory_.data() + offset; }

  struct Offsets {
    size_t x, y, octave, descriptors;
  };

  MatchDevice device_;
  Room room_;
  DeviceBuffer memory_;
  MappedBuffer result_;
  Offsets keypoints_[2] = {};  // of the left and the right eye, in memory_
  size_t row_counts_ = 0, row_first_ = 0, row_slot_ = 0, candidates_ = 0;
  size_t nearest_right_ = 0, nearest_left_ = 0, found_ = 0;
  size_t partials_ = 0, best_queries_ = 0, match_state_ = 0, matches_ = 0;  // of the match for StereoChecks
  size_t gathered_[2] = {};                                                 // in result_
  bool dirty_ = false;  // a call did not run to its end: what is zero between calls may not be
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_STEREO_STEREO_MEMORY_H_
