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
#include "cpu/match/lists.h"
#include "cpu/match/tiles.h"
#include "cpu/match/train_grid.h"
#include "features/checkpoint.h"
#include "features/matcher.h"

namespace glint::cpu {

class Matcher {
 public:
  // `threads` >= 1 share one call, the caller's included. The SIMD target is chosen here, once, as for Pipeline.
  explicit Matcher(int threads = 1);
  // Shares `pool`, which must outlive it and serve one caller at a time.
  explicit Matcher(WorkerPool* pool);

  // Valid arguments (ValidateMatchOptions, ValidateMatchInput). False: `checkpoint` ended it, and there are no matches.
  bool Match(const MatchInput& input, const MatchOptions& options, MatchResult* result,
             const Checkpoint& checkpoint = {});

 private:
  // Whether the windows, if there are any, leave so few pairs that lists are faster. Fills grid_.
  bool FewAreNear(const MatchInput& input);
  bool MatchNear(const MatchInput& input, const MatchOptions& options, int each, const Checkpoint& checkpoint);
  // Every query with every train, in tiles.
  bool MatchAll(const MatchInput& input, const MatchOptions& options, int each, const Checkpoint& checkpoint);
  void Judge(const MatchInput& input, const MatchOptions& options, MatchResult* result) const;

  std::unique_ptr<WorkerPool> own_pool_;  // null with a shared one
  Tiles tiles_;
  Lists lists_;
  TrainGrid grid_;
  MatchKeys keys_;
  Buffer<int32_t> query_, from_, to_, train_;  // as in MatchJob
  Buffer<float> values_;                       // x, y, angle of the trains, padded
  Buffer<int32_t> octave_;                     // likewise
};

}  // namespace glint::cpu

#endif  // GLINT_CPU_MATCH_MATCHER_H_
