// The part of a Plan that detectors need that select otherwise than SelectsTopNPerLevel(), beside it: SelectionParams
// and its memory.
#ifndef GLINT_CUDA_PLAN_SELECTION_PLAN_H_
#define GLINT_CUDA_PLAN_SELECTION_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "cuda/plan/frame.h"
#include "cuda/plan/selection_params.h"
#include "features/options.h"
#include "features/types.h"

namespace glint::cuda {

// The most corners of level `index` that can reach its shortlist; `plan` is PlanPyramid()'s for the image.
size_t MaxCornersOfLevel(const DetectorOptions& options, const PyramidPlan& plan, int index);

class SelectionPlan {
 public:
  // Memory is asked for in bytes; the result is an offset.
  using AddScratch = std::function<size_t(size_t bytes)>;
  using AddTable = std::function<size_t(const std::vector<uint8_t>& table)>;

  // `frame`: with its levels' shapes and scales. `multiprocessors`: how many it runs on.
  SelectionPlan(const DetectorOptions& options, const Frame& frame, int multiprocessors, const AddScratch& add_scratch,
                const AddTable& add_table);

  // Device memory of the plan's own that is zero before its first frame.
  size_t state_bytes() const { return state_bytes_; }

  // Without pointers, for choices.
  const SelectionParams& params() const { return params_; }
  BoundedTiles bounded_tiles() const { return bounded_tiles_; }

  // A response is its key, as a float, times this.
  float response_scale() const { return response_scale_; }

  // `frame`: placed.
  SelectionParams Place(const Frame& frame, uint8_t* scratch, uint8_t* tables, uint8_t* state) const;

 private:
  void PlanCells(const DetectorOptions& options, const Frame& frame);
  void PlanRanking(const DetectorOptions& options, const Frame& frame);
  void PlanDense(const DetectorOptions& options, const Frame& frame, int multiprocessors,
                 const AddScratch& add_scratch);
  void PlanIntegrals(const DetectorOptions& options, const Frame& frame, const AddScratch& add_scratch,
                     const AddTable& add_table);
  size_t AddState(size_t bytes);

  SelectionParams params_{};  // without pointers
  BoundedTiles bounded_tiles_ = BoundedTiles::kUsual;
  float response_scale_ = 1;
  bool smooth_ = false;
  bool integrals_ = false;
  size_t state_bytes_ = 0;
  // In the state.
  size_t counters_offset_ = 0, cells_offset_ = 0;
  // In scratch.
  size_t buckets_offset_ = 0, smooth_offset_ = 0, sums_offset_[kMaxLevels] = {}, bands_offset_[kMaxLevels] = {};
  size_t bfrost_offset_ = 0;  // in tables
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_PLAN_SELECTION_PLAN_H_
