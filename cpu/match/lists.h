// Matches each query with a list of trains: for conditions that few pairs meet, where tiles would look at too many.
// Thread-compatible; allocates only beyond the largest match so far.
#ifndef GLINT_CPU_MATCH_LISTS_H_
#define GLINT_CPU_MATCH_LISTS_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "cpu/common/buffer.h"
#include "cpu/common/worker_pool.h"
#include "cpu/match/kernels.h"
#include "cpu/match/tiles.h"
#include "features/checkpoint.h"
#include "features/matcher.h"

namespace glint::cpu {

// Lists are the faster way where conditions leave at most one of so many pairs: one there takes 6 to 16 times as long.
inline constexpr int kPairsForTiles = 16;

class Lists {
 public:
  // As of Tiles.
  explicit Lists(WorkerPool* pool);

  // The numbers of the allowed trains of query q, written to an array that has room for all trains; returns how many.
  // Called by several threads at a time.
  using Collect = absl::FunctionRef<size_t(int q, int32_t* numbers)>;
  // Neither set is empty. False as of Tiles::Match(); `checkpoint` is asked after some dozens of queries.
  bool Match(const DescriptorView& query, const DescriptorView& train, int each, Collect collect,
             const Checkpoint& checkpoint, MatchKeys* keys);

 private:
  WorkerPool* const pool_;
  const MatchKernels kernels_;
  Buffer<int32_t> column_;  // of each part: of each train
  Buffer<int32_t> list_;    // of each part: numbers, then keys
};

}  // namespace glint::cpu

#endif  // GLINT_CPU_MATCH_LISTS_H_
