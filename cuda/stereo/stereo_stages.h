// Table of contents of stereo matching: the launchers, in the order of a call. They enqueue on the stream and return;
// they neither allocate nor wait. Errors are those of a kernel launch, by ToStatus(). Rules: features/stereo.h.
#ifndef GLINT_CUDA_STEREO_STEREO_STAGES_H_
#define GLINT_CUDA_STEREO_STEREO_STAGES_H_

#include "absl/status/status.h"
#include "cuda/runtime/owners.h"
#include "cuda/stereo/stereo_params.h"

namespace glint::cuda {

// rows.cu: both eyes' keypoints from where pipelines left them; counts the right ones by rows, if row_counts is there.
absl::Status GatherKeypoints(StreamView stream, const StereoParams& params, const StereoSources& sources);
// Or, for keypoints that are there already: counts alone.
absl::Status CountRows(StreamView stream, const StereoParams& params);
// The list of right keypoints by rows.
absl::Status SortByRows(StreamView stream, const StereoParams& params);

// nearest.cu: rules 1 and 2, each left keypoint's nearest right one and, for the cross check, the reverse.
absl::Status FindNearest(StreamView stream, const StereoParams& params);

// refine.cu: the rest of rule 2, and rule 3.
absl::Status RefineMatches(StreamView stream, const StereoParams& params);

// finish.cu: rule 4 and the result; and StereoChecks, if checked_index is there.
absl::Status FinishStereo(StreamView stream, const StereoParams& params);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_STEREO_STEREO_STAGES_H_
