// Everything about a frame that follows from its options and shape: level sizes, tiles, shares, the tables that the
// kernels read, and where in the pipeline's memory each array lies. Made once per (options, shape, mask present).
#ifndef GLINT_CUDA_PLAN_PLAN_H_
#define GLINT_CUDA_PLAN_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cuda/plan/frame.h"
#include "cuda/plan/quadtree_plan.h"
#include "cuda/plan/resize_plan.h"
#include "cuda/plan/schedule.h"
#include "cuda/plan/selection_plan.h"
#include "cuda/plan/small_levels_plan.h"
#include "features/options.h"
#include "features/types.h"

namespace glint::cuda {

struct PlanKey {
  DetectorOptions options;
  Shape shape;
  bool masked = false;
  int parts = 1;  // in which the image comes, see Plan::part_end

  friend bool operator==(const PlanKey& a, const PlanKey& b) {
    return a.options == b.options && a.shape == b.shape && a.masked == b.masked && a.parts == b.parts;
  }
};

// Where the plan's arrays are to be.
struct PlanMemory {
  uint8_t* scratch = nullptr;  // Plan::scratch_bytes, device
  uint8_t* tables = nullptr;   // Plan::tables.size(), device
  Counters* counters = nullptr;
  uint8_t* result = nullptr;       // Plan::result_bytes
  uint8_t* descriptors = nullptr;  // likewise, for descriptors alone; null: in result
  uint8_t* image = nullptr;        // level 0; null: in scratch
  uint8_t* mask = nullptr;         // level 0's mask; null: in scratch
};

class Plan {
 public:
  // `multiprocessors`: how many the frame runs on.
  Plan(const PlanKey& key, int multiprocessors);

  const PlanKey& key() const { return key_; }
  size_t scratch_bytes() const { return scratch_bytes_; }
  size_t result_bytes() const { return result_bytes_; }
  const std::vector<uint8_t>& tables() const { return tables_; }
  int pitch() const { return frame_.level[0].pitch; }  // of the image and the mask, bytes
  // Bytes from the first row to the end of the last one's slack.
  size_t image_bytes() const;

  // The launches of a part.
  const Schedule& schedule(int part) const { return schedules_[part]; }
  // Of the last part, without pointers.
  const Frame& frame() const { return parts_.back(); }

  // If HasSelectionParams().
  const std::optional<SelectionPlan>& selection() const { return selection_; }
  // Of Selection::kQuadtree.
  const std::optional<QuadtreePlan>& quadtree() const { return quadtree_; }

  // Part p, 0 <= p < key().parts, of a frame, if SelectsTopNPerLevel(), is what can be done of its pyramid and corners
  // when rows 0..part_end(p)-1 of the image are there, and could not before.
  int part_end(int part) const;

  // The frame with all pointers set, as of the last part.
  Frame Place(const PlanMemory& memory) const { return Place(memory, key_.parts - 1); }
  Frame Place(const PlanMemory& memory, int part) const;

  // The levels of a part that BuildSmallLevels() makes, likewise.
  SmallLevels PlaceSmallLevels(const PlanMemory& memory, int part) const;

 private:
  struct PlacedSmallLevels {
    SmallLevels small{};           // without pointers
    size_t columns = 0, rows = 0;  // in tables
  };

  size_t AddScratch(size_t bytes);
  template <typename T>
  size_t AddTable(const std::vector<T>& table);
  size_t MaxCorners(const PyramidPlan& pyramid, int index) const;
  void PlanLevels();
  void PlanResize(int index);
  Frame MakePart(int part) const;
  PlacedSmallLevels MakeSmallLevels(const Frame& part, int multiprocessors);

  struct Offsets {
    size_t image = 0, mask = 0, buckets = 0, overflow = 0, shortlist = 0, shortlist_keys = 0, ranked = 0;  // in scratch
    size_t columns = 0, steps = 0;                                                                         // in tables
    size_t result = 0, descriptors = 0;  // in the result
  };
  PlanKey key_;
  Frame frame_{};  // without pointers
  std::vector<Frame> parts_;
  std::vector<Schedule> schedules_;  // of each part
  Offsets level_offsets_[kMaxLevels];
  size_t candidates_offset_ = 0;
  size_t disc_offset_ = 0;
  size_t pattern_offset_ = 0;
  std::optional<SelectionPlan> selection_;
  std::optional<QuadtreePlan> quadtree_;
  AxisTaps column_taps_[kMaxLevels], row_taps_[kMaxLevels];
  AxisTaps mask_row_taps_[kMaxLevels];           // where masks have taps of their own
  std::vector<PlacedSmallLevels> small_levels_;  // of each part
  std::vector<uint8_t> tables_;
  size_t scratch_bytes_ = 0;
  size_t result_bytes_ = 0;
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_PLAN_PLAN_H_
