// Matching on the CPU. Equal, entry for entry, to features/reference, at every SIMD target and with any number of
// threads.
//
// Thread-compatible. Scratch grows to the largest sets seen and is then reused: no allocation after that.
#ifndef GLINT_CPU_MATCH_MATCHER_H_
#define GLINT_CPU_MATCH_MATCHER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cpu/common/buffer.h"
#include "cpu/common/worker_pool.h"
#include "cpu/match/kernels.h"
#include "cpu/match/train_grid.h"
#include "features/matcher.h"

namespace glint::cpu {

class Matcher {
 public:
  // `threads` >= 1 share one call, the caller's included. The SIMD target is chosen here, once, as for Pipeline.
  explicit Matcher(int threads = 1);
  // Shares `pool`, which must outlive it and serve one caller at a time.
  explicit Matcher(WorkerPool* pool);

  // Valid arguments (ValidateMatchOptions, ValidateMatchInput).
  void Match(const MatchInput& input, const MatchOptions& options, MatchResult* result);

 private:
  // Each fills keys_ and, for cross check, column_.
  void MatchAll(const MatchInput& input);
  void MatchAllowed(const MatchInput& input, const MatchOptions& options);
  void MatchAllowed(const MatchInput& input, const MatchOptions& options, int q, int part, int32_t* column);
  void MergeColumns();
  void Judge(const MatchInput& input, const MatchOptions& options, MatchResult* result) const;

  // Queries of part i of `parts_`; each part has its own columns.
  int FirstQuery(int part, int queries) const;

  std::unique_ptr<WorkerPool> own_pool_;  // null with a shared one
  WorkerPool* pool_;
  MatchKernels kernels_;
  int parts_ = 1;
  int each_ = 1;            // keys of a query
  size_t padded_ = 0;       // trains
  Buffer<int32_t> keys_;    // each_ for each query
  Buffer<int32_t> column_;  // padded_ for each part
  Buffer<uint8_t> packed_;  // train descriptors
  Buffer<int32_t> train_index_;
  Buffer<uint8_t> scratch_;  // of each part
  TrainGrid grid_;
  Buffer<int32_t> candidates_;  // of each part: numbers, then keys
};

}  // namespace glint::cpu

#endif  // GLINT_CPU_MATCH_MATCHER_H_
