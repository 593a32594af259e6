#include "server/operations/localize/localize_work.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "features/error.h"
#include "server/base/allocations.h"
#include "server/operations/match/match_work.h"

namespace glint {
namespace {

using Wanted = LocalizeRequest::Wanted;

// Clients know names of maps, not files.
absl::Status WithoutPath(const std::string& file, const absl::Status& status) {
  absl::string_view text = status.message();
  if (!absl::ConsumePrefix(&text, Echo(file))) return status;
  return absl::Status(status.code(), absl::StrCat("map ", std::filesystem::path(file).stem().string(), text));
}

absl::Status UseMap(LocalizeScratch* scratch, FrameJob* job) {
  Localization& stream = *job->localize.stream;
  const int64_t start = MonotonicNs();
  absl::Status status;
  if (job->localize.wanted == Wanted::kRead) {
    stream.Read(job->localize.from, &scratch->part);
    job->located.part = &scratch->part;
  } else {
    const std::string& file = job->localize.file;
    status = WithoutPath(file, job->localize.wanted == Wanted::kSave ? stream.Save(file) : stream.Load(file));
  }
  job->times.adjust_ns = MonotonicNs() - start;
  return status;
}

// The pixels of the job, in memory. An image with depths counts as the two images that it comes in.
absl::StatusOr<CameraView> ViewOfPair(int64_t max_pixels, decode::Decoder* decoder, PixelScratch* first,
                                      LocalizeScratch* scratch, FrameJob* job, int64_t* copy_ns) {
  CameraView view;
  EyePixels eyes;
  const LocalizeRequest& request = job->localize;
  int64_t copied_depth = 0;
  if (request.depth.has_value()) {
    const auto left = EyeOf("left", job->image, max_pixels, decoder, first);
    if (!left.ok()) return left.status();
    if (absl::Status s = CheckPixels(left->shape().pixels() + request.camera.pixels(), max_pixels); !s.ok()) return s;
    eyes.left = *left;
    const auto depth = DepthOf(job->second, *request.depth, request.camera, decoder, &scratch->second, &copied_depth);
    if (!depth.ok()) return AboutImage("depth", depth.status());
    view.depth = *depth;
  } else {
    const auto both = EyesOf(*job, request.side_by_side, max_pixels, decoder, first, &scratch->second);
    if (!both.ok()) return both.status();
    eyes = *both;
  }
  const int64_t copy_at = MonotonicNs();
  view.left = ViewOf(eyes.left, &scratch->left);
  view.right = ViewOf(eyes.right, &scratch->right);
  *copy_ns = MonotonicNs() - copy_at;
  job->copied_bytes = first->rows.copied_bytes() + copied_depth;
  if (!view.has_depth()) job->copied_bytes += scratch->second.rows.copied_bytes();
  return view;
}

absl::Status LocatePair(Lane* lane, int64_t max_pixels, decode::Decoder* decoder, PixelScratch* first,
                        LocalizeScratch* scratch, FrameJob* job) {
  Localization& stream = *job->localize.stream;
  FrameTimes& times = job->times;
  const int64_t start = MonotonicNs();
  int64_t copy_ns = 0;
  const auto view = ViewOfPair(max_pixels, decoder, first, scratch, job, &copy_ns);
  if (!view.ok()) return view.status();
  const int64_t copy_at = MonotonicNs() - copy_ns;
  times.decode_ns = copy_at - start;
  if (absl::Status s = CheckWanted(job); !s.ok()) return s;
  Location& location = scratch->location;
  LocationTimes took;
  if (absl::Status s = job->localize.wanted == Wanted::kRelocalize
                           ? stream.Relocalize(lane, *view, &location, &took)
                           : stream.Track(lane, *view, job->localize.time_ns, &location, &took);
      !s.ok()) {
    return s;
  }
  StageTimes& stages = times.stages = took.stages;
  stages.upload_ns += copy_ns;
  times.match_ns = took.match_ns;
  times.locate_ns = took.locate_ns;
  times.adjust_ns = took.adjust_ns;
  // What lies between the stages counts as the last one's.
  stages.download_ns = std::max(stages.download_ns, MonotonicNs() - copy_at - stages.upload_ns - stages.detect_ns -
                                                        took.match_ns - took.locate_ns - took.adjust_ns);
  job->located.location = &location;
  return absl::OkStatus();
}

}  // namespace

absl::Status RunLocalize(Lane* lane, int64_t max_pixels, FrameQueue* queue, decode::Decoder* decoder,
                         PixelScratch* first, LocalizeScratch* scratch, FrameJob* job) {
  const FramePathPause pause;
  const int64_t start = MonotonicNs();
  absl::Status status =
      job->work == Work::kMap ? UseMap(scratch, job) : LocatePair(lane, max_pixels, decoder, first, scratch, job);
  queue->CorrectPixels(*job, MonotonicNs() - start);
  job->located.size = job->localize.stream->size();
  return status;
}

}  // namespace glint
