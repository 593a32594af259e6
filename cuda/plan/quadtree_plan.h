// The part of a Plan that Selection::kQuadtree needs beside it: QuadtreeParams and its memory.
#ifndef GLINT_CUDA_PLAN_QUADTREE_PLAN_H_
#define GLINT_CUDA_PLAN_QUADTREE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "cuda/plan/frame.h"
#include "cuda/plan/quadtree_params.h"
#include "features/options.h"
#include "features/types.h"

namespace glint::cuda {

// The most corners that a level of this shape can keep, if `share` are wanted.
size_t MostQuadtreeNodes(Shape level, int share);

// Cells, roots and bins of a level, without tiles and memory.
QuadtreeLevel DivideQuadtreeLevel(Shape level, int share);

class QuadtreePlan {
 public:
  // Memory is asked for in bytes; the result is an offset.
  using AddScratch = std::function<size_t(size_t bytes)>;

  // `frame`: with its levels' shapes; their shares are Level::first_share.
  QuadtreePlan(const DetectorOptions& options, const Frame& frame, const AddScratch& add_scratch);

  // Without pointers, for choices.
  const QuadtreeParams& params() const { return params_; }

  QuadtreeParams Place(uint8_t* scratch) const;

 private:
  QuadtreeParams params_{};  // without pointers
  size_t found_offset_[kMaxLevels] = {}, sorted_offset_[kMaxLevels] = {}, nodes_offset_[kMaxLevels] = {};
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_PLAN_QUADTREE_PLAN_H_
