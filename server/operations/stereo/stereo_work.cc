#include "server/operations/stereo/stereo_work.h"

#include <algorithm>

#include "features/status_macros.h"
#include "server/pixels/image_pair.h"

namespace glint {

absl::Status RunStereo(const LaneContext& context, StereoTask* task, FrameJob* job) {
  const int64_t start = MonotonicNs();
  GLINT_ASSIGN_OR_RETURN(ImagePairPixels pair, DecodeImagePair(context, task->pair.left, task->pair.right, job));
  const RemapTable *left_table = nullptr, *right_table = nullptr;
  if (task->rectification != nullptr) {
    GLINT_RETURN_IF_ERROR(RectifyImagePair(context, *task->rectification, &pair));
    left_table = &task->rectification->tables().left;
    right_table = &task->rectification->tables().right;
  }
  GLINT_RETURN_IF_ERROR(
      task->masks->Use(context, task->detector, task->pair.masks, left_table, right_table, &pair, job));
  GLINT_RETURN_IF_ERROR(CheckNotCancelled(job));
  const int64_t run_at = MonotonicNs();
  job->times.decode_ns = run_at - start;
  StageTimes& stages = job->times.stages;
  StereoPairResult& found = *context.scratch->Of<StereoPairResult>();
  GLINT_RETURN_IF_ERROR(context.lane->RunStereo(task->detector, task->criteria.options, pair, &found, &stages));
  job->times.match_ns = found.match_ns;
  stages.download_ns =
      std::max(stages.download_ns, MonotonicNs() - run_at - stages.upload_ns - stages.detect_ns - found.match_ns);
  const ImageScratch& images = *context.scratch->Of<ImageScratch>();
  job->copied_bytes = images.first.rows.copied_bytes() + images.second.rows.copied_bytes();
  task->left = &found.left;
  task->rights = static_cast<int>(found.right.count());
  task->matches = &found.matches;
  job->keypoints = found.left.count() + found.right.count();
  return absl::OkStatus();
}

}  // namespace glint
