// Runs a kernel of kernels.h on all queries of a match: packs the trains, shares the queries between threads, and
// merges what they found. Thread-compatible; allocates only beyond the largest match so far.
#ifndef GLINT_CPU_MATCH_TILES_H_
#define GLINT_CPU_MATCH_TILES_H_

#include <cstddef>
#include <cstdint>

#include "cpu/common/buffer.h"
#include "cpu/common/worker_pool.h"
#include "cpu/match/kernels.h"
#include "features/checkpoint.h"

namespace glint::cpu {

// What a match finds.
struct MatchKeys {
  int each = 1;
  Buffer<int32_t> of_query;  // `each` of each query, the least first; kNoKey where there are no more
  Buffer<int32_t> of_train;  // with each == 2: of each train the least key, with the query's number

  void Reserve(const DescriptorView& query, const DescriptorView& train, int keys_each) {
    each = keys_each;
    of_query.Reserve(static_cast<size_t>(query.count) * static_cast<size_t>(each));
    of_train.Reserve(static_cast<size_t>(train.count));
  }
  const int32_t* of(size_t query) const { return of_query.data() + query * static_cast<size_t>(each); }
};

// How many threads of `pool` share so many queries.
int PartsOf(int queries, const WorkerPool& pool);

class Tiles {
 public:
  // `pool` must outlive it and serve one caller at a time. The SIMD target is chosen here, once.
  explicit Tiles(WorkerPool* pool);

  // `job` without what is set for each call of a kernel; neither set is empty. False: `checkpoint` ended it, and the
  // keys are not those of a match. It is asked after each MatchChunk() of queries.
  bool Match(const MatchJob& job, const Checkpoint& checkpoint, MatchKeys* keys);

 private:
  WorkerPool* const pool_;
  const MatchKernels kernels_;
  Buffer<int32_t> column_;   // of each part: PaddedTrains(), in their order
  Buffer<uint8_t> packed_;   // train descriptors
  Buffer<uint8_t> scratch_;  // of each part
};

}  // namespace glint::cpu

#endif  // GLINT_CPU_MATCH_TILES_H_
