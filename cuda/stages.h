// Table of contents of the CUDA backend: the launchers of all stages, in the order in which a frame runs them.
//
// A launcher enqueues on the stream and returns; it neither allocates nor waits. Errors are those of a kernel launch,
// by ToStatus(). All read the one Frame, which must outlive nothing: it travels by value.
#ifndef GLINT_CUDA_STAGES_H_
#define GLINT_CUDA_STAGES_H_

#include "absl/status/status.h"
#include "cuda/plan/frame.h"
#include "cuda/runtime/owners.h"

namespace glint::cuda {

// pyramid.cu: the frame's rows of level[index].image, and of .mask if there is one, from the level before.
// 1 <= index < levels.
absl::Status BuildLevel(StreamView stream, const Frame& frame, int index, int multiprocessors);

// pyramid_pairs.cu: the same, for BuildLevel() to call where Level::one_window is not set; all levels of
// Pyramid::kDirect, images alone.
absl::Status BuildLevelByPairs(StreamView stream, const Frame& frame, int index, int multiprocessors);
absl::Status BuildDirectLevels(StreamView stream, const Frame& frame, int multiprocessors);

// tail.cu: the frame's rows of the tail's levels, likewise, in one launch.
absl::Status BuildTail(StreamView stream, const Frame& frame, const Tail& tail);

// pyramid.cu: those of all levels but the first; `tail`: the smallest ones, if any.
absl::Status BuildCascade(StreamView stream, const Frame& frame, const Tail& tail, int multiprocessors);

// corners.cu: candidates of the frame's strips of all levels and the histogram of their keys. FAST, its score (or
// Harris at every corner: then the candidates are in buckets, see buckets.cuh), suppression, border, mask.
struct CornerTiling {
  int strips_per_block;
  int width;      // pixels of the level that a strip answers for
  int margin_x;   // columns tested beyond those, at each side; of rows, one
  int step_rows;  // a strip tests a whole number of these
  int tile_rows;  // that a tile tests
  int quick_tile_rows;
  int reach;  // rows read beyond those tested, at each side
};
CornerTiling GetCornerTiling();
absl::Status PrepareCorners(Api* api);  // once per device, before the first FindCorners
absl::Status FindCorners(StreamView stream, const Frame& frame, int arc_length, bool harris, int multiprocessors);
// Whether the frame's strips or tiles leave most of the device idle, so that each has to be quick.
bool HasFewStrips(const Frame& frame, int multiprocessors);

// shortlist.cu: the best of the candidates by the first ranking, exactly, ties included. With `rescore`, their keys
// become the Harris response; otherwise they keep their keys, FAST scores.
absl::Status Shortlist(StreamView stream, const Frame& frame, bool rescore, int multiprocessors);

// orient.cu: each shortlisted corner's place among its level's by the final ranking; the angle of those kept; both into
// the result. `harris_keys`: the shortlist's keys are Harris responses.
absl::Status Orient(StreamView stream, const Frame& frame, bool harris_keys, int multiprocessors);

// orient_buckets.cu: in place of these two where candidates already have their Harris response and are in buckets.
absl::Status OrientBuckets(StreamView stream, const Frame& frame, int multiprocessors);

// describe.cu: rBRIEF descriptors into the result.
absl::Status PrepareDescribe(Api* api);  // once per device, before the first Describe
absl::Status Describe(StreamView stream, const Frame& frame, int multiprocessors);

// orient.cu: a kernel that does nothing, the floor of a launch.
absl::Status LaunchNothing(StreamView stream);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_STAGES_H_
