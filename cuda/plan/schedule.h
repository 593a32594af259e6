// Every choice between variants of a frame's work, and the list of its launches. Launchers (cuda/stages.h) decide
// nothing; what follows from a choice is in Frame, SelectionParams and Launch, and `glint-microbench plan` prints it.
//
// Choices depend on options, shape and the number of multiprocessors alone, never on an image.
#ifndef GLINT_CUDA_PLAN_SCHEDULE_H_
#define GLINT_CUDA_PLAN_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "cuda/plan/frame.h"
#include "cuda/plan/launch.h"
#include "cuda/plan/quadtree_params.h"
#include "cuda/plan/selection_params.h"
#include "features/options.h"
#include "features/types.h"

namespace glint::cuda {

// --- Whether the image comes in parts, each worked on while the next is on its way

inline constexpr int kParts = 2;
// Unless the device has other frames to work on meanwhile: parts take less time, but more work. `integrated`: the
// device reads the host's memory.
bool CanComeInParts(const DetectorOptions& options, Shape shape, bool masked, bool integrated);

// --- Before memory is planned

// Whether the levels' images are made by INTER_LINEAR, else by INTER_LINEAR_EXACT, as their masks are in any case.
bool HasLinearLevels(const DetectorOptions& options);
// Whether a detector that SelectsTopNPerLevel() is false of needs SelectionParams; else it needs QuadtreeParams.
bool HasSelectionParams(const DetectorOptions& options);
// Whether corners reach the final ranking through the shortlist of their level.
bool HasShortlists(const DetectorOptions& options);
// Whether angles are found for all of the shortlist, beside its scores, instead of for those kept alone.
bool OrientsEarly(const DetectorOptions& options, const Frame& frame, int multiprocessors);
// Whether candidates of Selection::kTopN come with the response that ranks them, and go to the buckets of their level;
// else they are shortlisted first.
bool HasLevelBuckets(const DetectorOptions& options);
// Entries that a bucket of a level has room for, where candidates are in buckets: if `share` are to be shortlisted of
// `most` that there can be.
int BucketRoomFor(int share, size_t most);
// Tiles or strips of fast_tiles.cu, and the height of strips: divides the frame's levels, for an image in `parts`.
void ChooseCornerBlocks(const DetectorOptions& options, int parts, int multiprocessors, Frame* frame);
// Whether the frame's strips or tiles leave most of the device idle, so that each has to be quick.
bool HasFewBlocks(const Frame& frame, int multiprocessors);
// Rows of a strip of dense Harris: SelectionParams::strip_rows.
int ChooseDenseStripRows(const DetectorOptions& options, const Frame& frame, int multiprocessors);

// Tiles of fast_bounded.cu: divides the levels. `params` has the cells.
BoundedTiles ChooseBoundedTiles(const DetectorOptions& options, const Frame& frame, int multiprocessors,
                                SelectionParams* params);
// Whether the corner stage's last block ranks, which saves a launch.
bool RanksInLastBlock(const DetectorOptions& options, const SelectionParams& params, BoundedTiles tiles);

// --- The launches

struct ScheduleInput {
  const DetectorOptions& options;
  const Frame& frame;  // of the part; pointers need not be set
  const SmallLevels& small;
  const SelectionParams* params;   // null unless HasSelectionParams()
  const QuadtreeParams* quadtree;  // null unless Selection::kQuadtree
  BoundedTiles bounded_tiles;      // with `params`
  bool masked;
  bool is_last_part;
  int multiprocessors;
};

struct Schedule {
  std::vector<Launch> launches;  // of a part, in order; stages follow each other
  // The ranking writes Level::ranked alone; the launches after it write the result, angles included, once.
  bool result_follows = false;
};

Schedule MakeSchedule(const ScheduleInput& in);

// Of these, schedule_pyramid.cc, schedule_corners.cc and schedule_ranking.cc have the launches of a stage.
void AddPyramid(const ScheduleInput& in, std::vector<Launch>* launches);
void AddCorners(const ScheduleInput& in, std::vector<Launch>* launches);
void AddRanking(const ScheduleInput& in, std::vector<Launch>* launches);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_PLAN_SCHEDULE_H_
