// A frame that comes as a JPEG file: its luma is made where the image of others is copied to.
#include <algorithm>

#include "cuda/pipeline_impl.h"
#include "cuda/result.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/range.h"

namespace glint::cuda {

absl::StatusOr<JpegReason> Pipeline::Impl::DetectJpeg(const DetectorOptions& detector, const JpegPlan& file_plan,
                                                      const uint8_t* file, size_t size, const Pixels& mask,
                                                      Features* features, StageTimes* times) {
  const Clock::time_point start = Clock::now();
  GLINT_RETURN_IF_ERROR(ToStatus(api->SetDevice(options.device), "choosing the device"));
  GLINT_ASSIGN_OR_RETURN(Prepared* const prepared, Prepare(PlanKey{detector, file_plan.shape, !mask.empty()}));
  GLINT_RETURN_IF_ERROR(ClearCounters());
  begun_alone = false;  // a mask is copied at once
  const bool timed = times != nullptr && prepared->jpeg_samples.Next();
  if (timed) GLINT_RETURN_IF_ERROR(Record(begun));
  {
    const Range range("upload");
    GLINT_RETURN_IF_ERROR(
        jpeg.Enqueue(stream.view(), file_plan, file, size, prepared->frame().level[0].image, prepared->plan.pitch()));
    if (!mask.empty()) GLINT_RETURN_IF_ERROR(UploadMask(*prepared, mask));
  }
  if (timed) GLINT_RETURN_IF_ERROR(Record(uploaded));
  GLINT_RETURN_IF_ERROR(Launch(*prepared, 0));
  GLINT_RETURN_IF_ERROR(Record(EndOf(timed)));
  FillByLevel(prepared->host, detector, prepared->counts, features);
  {
    const Range range("wait");
    GLINT_RETURN_IF_ERROR(WaitFor(EndOf(timed), &jpeg_wait));
  }
  const Clock::time_point waited = Clock::now();
  // The counts of a picture that is none help the next one no less.
  Read(prepared, features);
  const JpegReason reason = jpeg.Result();
  if (times == nullptr || reason != JpegReason::kNone) return reason;
  GLINT_ASSIGN_OR_RETURN(*times, TimesOf(&prepared->jpeg_samples, Nanoseconds(waited - start), timed));
  times->download_ns = std::max<int64_t>(0, Nanoseconds(Clock::now() - start) - times->upload_ns - times->detect_ns);
  return reason;
}

}  // namespace glint::cuda
