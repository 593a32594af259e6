// How a launch's blocks are shared out among levels.
#ifndef GLINT_CUDA_PLAN_LEVEL_BLOCKS_H_
#define GLINT_CUDA_PLAN_LEVEL_BLOCKS_H_

#include <cstdint>
#include <limits>

#include "cuda/plan/frame.h"

namespace glint::cuda {

// The blocks of level l are first[l]..first[l + 1]-1, one at least.
struct LevelBlocks {
  int first[kMaxLevels + 1];

  LevelBlocks() : first{} {}

  // A block for each `part` corners of the levels' shortlists, or for more where that makes more than `most` blocks: a
  // level's last one is seldom full.
  LevelBlocks(const Frame& frame, int part, int most = std::numeric_limits<int>::max()) : first{} {
    do {
      for (int l = 0; l < frame.levels; ++l) {
        first[l + 1] = first[l] + Max(DivideUp(frame.level[l].first_share, part), 1);
      }
      ++part;
    } while (first[frame.levels] > Max(most, frame.levels));
  }

  GLINT_HD int LevelOf(uint32_t block, int levels) const {
    int l = 0;
    while (l + 1 < levels && static_cast<int>(block) >= first[l + 1]) ++l;
    return l;
  }
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_PLAN_LEVEL_BLOCKS_H_
