// The CUDA backend of matching: one matcher with its stream and its memory. Equal to reference::Match, entry for entry.
// A build without CUDA has the same functions; Create() then returns an error that says so.
//
// Thread-compatible: one call at a time per Matcher; Matchers share nothing. Create() takes all memory that Match()
// needs, so that no call allocates.
#ifndef GLINT_CUDA_MATCH_MATCHER_H_
#define GLINT_CUDA_MATCH_MATCHER_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "features/matcher.h"

namespace glint::cuda {

// Bytes of device memory: about 600 for each query, and the two sets with their conditions; pinned: the latter.
struct MatcherOptions {
  int device = 0;                 // CUDA ordinal
  int max_queries = 10000;        // 1..kMaxMatchDescriptors
  int max_trains = 10000;         // likewise
  int max_descriptor_bytes = 32;  // kDescriptorUnit..kMaxDescriptorBytes
  int sm_limit = 0;               // run on this many multiprocessors (a green context; CUDA 12.5+); 0 = all
};

class Matcher {
 public:
  // INVALID_ARGUMENT: a maximum out of its range. FAILED_PRECONDITION: built without CUDA, no driver, no such device.
  // RESOURCE_EXHAUSTED: out of device or pinned memory.
  static absl::StatusOr<std::unique_ptr<Matcher>> Create(const MatcherOptions& options);
  ~Matcher();
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  // Arguments must be valid (ValidateMatchOptions, ValidateMatchInput) and in host memory. INVALID_ARGUMENT: a set over
  // its maximum. After INTERNAL from a lost device this process can use the device no more; after other errors the
  // matcher can be used on.
  absl::Status Match(const MatchInput& input, const MatchOptions& options, MatchResult* result);

  // The same of descriptors that are on the device already, both sides' (StereoPipeline::DetectImages): their `data`
  // are its addresses, 8-byte aligned, and no work on them may be under way. Conditions and keypoints are in host
  // memory.
  absl::Status MatchOnDevice(const MatchInput& input, const MatchOptions& options, MatchResult* result);

  // For benchmarks: the same call with the input on the device already, as GPU time. `us`: for each of `repeats`
  // replays of a graph of kCallsPerReplay calls, microseconds of one of them. Fills `result`, too. No set may be empty.
  static constexpr int kCallsPerReplay = 20;
  absl::Status TimeOnDevice(const MatchInput& input, const MatchOptions& options, int repeats, MatchResult* result,
                            std::vector<float>* us);

 private:
  struct Impl;
  explicit Matcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_MATCH_MATCHER_H_
