#include "server/schedule/localize_work.h"

#include "server/metrics/allocations.h"
#include "server/schedule/pair_work.h"

namespace glint {
namespace {

using Wanted = LocalizeRequest::Wanted;

absl::Status UseMap(LocalizeScratch* scratch, FrameJob* job) {
  Localization& stream = *job->localize.stream;
  const int64_t start = MonotonicNs();
  absl::Status status;
  if (job->localize.wanted == Wanted::kRead) {
    stream.Read(job->localize.from, &scratch->part);
    job->located.part = &scratch->part;
  } else {
    const std::string& file = job->localize.file;
    status = job->localize.wanted == Wanted::kSave ? stream.Save(file) : stream.Load(file);
  }
  job->times.adjust_ns = MonotonicNs() - start;
  return status;
}

absl::Status LocatePair(int64_t max_pixels, decode::Decoder* decoder, PixelScratch* first, LocalizeScratch* scratch,
                        FrameJob* job) {
  Localization& stream = *job->localize.stream;
  FrameTimes& times = job->times;
  const int64_t start = MonotonicNs();
  const auto eyes = EyesOf(*job, job->localize.side_by_side, max_pixels, decoder, first, &scratch->second);
  if (!eyes.ok()) return eyes.status();
  const int64_t copy_at = MonotonicNs();
  times.decode_ns = copy_at - start;
  const ImageView left = ViewOf(eyes->left, &scratch->left);
  const ImageView right = ViewOf(eyes->right, &scratch->right);
  times.stages.upload_ns = MonotonicNs() - copy_at;
  job->copied_bytes = first->rows.copied_bytes() + scratch->second.rows.copied_bytes();
  if (absl::Status s = CheckWanted(job); !s.ok()) return s;
  Location& location = scratch->location;
  if (absl::Status s = job->localize.wanted == Wanted::kRelocalize
                           ? stream.Relocalize(left, right, &location)
                           : stream.Track(left, right, job->localize.time_ns, &location);
      !s.ok()) {
    return s;
  }
  times.stages.detect_ns = location.find_ns;
  times.locate_ns = location.locate_ns;
  times.adjust_ns = location.adjust_ns;
  // What lies between the stages counts as the last one's.
  times.stages.download_ns =
      MonotonicNs() - copy_at - times.stages.upload_ns - times.stages.detect_ns - times.locate_ns - times.adjust_ns;
  job->located.location = &location;
  return absl::OkStatus();
}

}  // namespace

absl::Status RunLocalize(int64_t max_pixels, FrameQueue* queue, decode::Decoder* decoder, PixelScratch* first,
                         LocalizeScratch* scratch, FrameJob* job) {
  const FramePathPause pause;
  const int64_t start = MonotonicNs();
  absl::Status status =
      job->work == Work::kMap ? UseMap(scratch, job) : LocatePair(max_pixels, decoder, first, scratch, job);
  queue->CorrectPixels(*job, MonotonicNs() - start);
  job->located.size = job->localize.stream->size();
  return status;
}

}  // namespace glint
