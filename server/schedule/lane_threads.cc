#include "server/schedule/lane_threads.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "decode/jpeg_writer.h"
#include "server/base/allocations.h"
#include "server/operations/detect/jpeg_work.h"
#include "server/operations/detect/stream_mask.h"
#include "server/operations/localize/localize_work.h"
#include "server/operations/match/match_work.h"
#include "server/operations/track/track_work.h"

namespace glint {
namespace {

constexpr Shape kWarmUpShape = {640, 480};
constexpr int kWarmUpQuality = 95;

// Squares of changing brightness: corners for every stage to work on.
Image WarmUpImage() {
  Image image(kWarmUpShape.width, kWarmUpShape.height);
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) {
      image.row(y)[x] = static_cast<uint8_t>((x / 24 + y / 24) % 2 == 0 ? 40 : 120 + (x + 3 * y) % 97);
    }
  }
  return image;
}

// A frame, and another that comes as a JPEG file if the lane's device decodes, which loads kernels and makes room.
absl::Status WarmUp(Lane* lane, Features* features, StageTimes* times) {
  const Image image = WarmUpImage();
  const DetectorOptions options = *PresetOptions("orb");
  absl::Status status = lane->Run(options, image, {}, features, times);
  if (!status.ok() || !lane->decodes_jpeg()) return status;
  const auto file = decode::WriteJpeg(image.view(), kWarmUpQuality);
  if (!file.ok()) return file.status();
  const auto* const bytes = reinterpret_cast<const uint8_t*>(file->data());
  return lane->RunJpeg(options, absl::MakeConstSpan(bytes, file->size()), image.shape(), {}, features, times).status();
}

// What one lane's thread reuses from frame to frame.
struct Scratch {
  explicit Scratch(Lane* lane) : decoder(lane->parallel()) {}

  decode::Decoder decoder;
  PixelScratch image;
  PixelScratch mask;
  Features features;
  PairScratch pair;
  TrackWorkScratch track;
  LocalizeScratch localize;
};

absl::StatusOr<Pixels> MaskOf(const FrameJob& job, int64_t max_pixels, Scratch* scratch) {
  scratch->mask.rows.Use(job.mask);
  if (job.mask.kind == ImageSource::Kind::kNone && job.stream_mask != nullptr) {
    const auto view = job.stream_mask->View(&scratch->decoder, max_pixels);
    if (!view.ok()) return AboutMask(view.status());
    return Pixels(*view);
  }
  auto pixels = PixelsOf(job.mask, &scratch->decoder, max_pixels, &scratch->mask);
  if (!pixels.ok()) return AboutMask(pixels.status());
  return pixels;
}

// From coordinates in a part of an image to those in the whole.
void Shift(const Part& part, Features* features) {
  for (float& x : features->x) x += static_cast<float>(part.x);
  for (float& y : features->y) y += static_cast<float>(part.y);
}

absl::Status RunJob(Lane* lane, int64_t max_pixels, FrameQueue* queue, Scratch* scratch, FrameJob* job) {
  scratch->features.Clear();
  job->times.stages = StageTimes();
  const int64_t started_at = MonotonicNs();
  job->times.queue_ns = started_at - job->times.queued_at;
  job->times.decode_ns = 0;
  job->times.match_ns = job->times.track_ns = job->times.locate_ns = job->times.adjust_ns = 0;
  job->found = PairFound();
  job->tracked = TracksFound();
  job->located = LocalizeFound();
  job->jpegs = JpegsDecoded();
  if (absl::Status s = CheckWanted(job); !s.ok()) return s;
  if (job->work == Work::kTrack) {
    return RunTrack(lane, max_pixels, queue, &scratch->decoder, &scratch->image, &scratch->track, job);
  }
  if (job->work == Work::kLocalize || job->work == Work::kMap) {
    return RunLocalize(lane, max_pixels, queue, &scratch->decoder, &scratch->image, &scratch->localize, job);
  }
  if (job->work != Work::kDetect) {
    return RunPair(lane, max_pixels, queue, &scratch->decoder, &scratch->image, &scratch->pair, job,
                   &scratch->features);
  }

  if (job->image.kind == ImageSource::Kind::kEncoded) {
    const auto done = RunJpeg(
        lane, max_pixels, queue, &scratch->decoder, [&] { return MaskOf(*job, max_pixels, scratch); }, &scratch->image,
        job, &scratch->features);
    if (!done.ok()) return done.status();
    job->copied_bytes = scratch->mask.rows.copied_bytes();
    if (*done) return absl::OkStatus();
  }
  auto image = PixelsOf(job->image, &scratch->decoder, max_pixels, &scratch->image);
  if (!image.ok()) return image.status();
  // The whole picture, whatever its region: it had to be decoded.
  if (job->image.kind == ImageSource::Kind::kEncoded) queue->CorrectPixels(*job, image->shape().pixels());
  auto mask = MaskOf(*job, max_pixels, scratch);
  if (!mask.ok()) return mask.status();
  if (absl::Status s = ValidatePixels(*image, *mask, max_pixels); !s.ok()) return s;
  Part part = {0, 0, image->shape()};
  if (job->region.wanted) {
    const auto wanted = PartOf(job->region, image->shape());
    if (!wanted.ok()) return wanted.status();
    part = *wanted;
    CropTo(part, &scratch->image, &*image);
    CropTo(part, &scratch->mask, &*mask);
  }
  if (absl::Status s = CheckWanted(job); !s.ok()) return s;
  const int64_t run_at = MonotonicNs();
  job->times.decode_ns = run_at - started_at;
  StageTimes& stages = job->times.stages;
  absl::Status status = lane->Run(job->options, *image, *mask, &scratch->features, &stages);
  Shift(part, &scratch->features);
  // What lies between the stages, the thread's waits for a core among it, counts as the last one's.
  stages.download_ns = std::max(stages.download_ns, MonotonicNs() - run_at - stages.upload_ns - stages.detect_ns);
  job->copied_bytes = scratch->image.rows.copied_bytes() + scratch->mask.rows.copied_bytes();
  return status;
}

// The one exception that a frame's work can throw is memory that cannot be had. What it leaves half done is made anew.
absl::Status RunJobInMemory(Lane* lane, int64_t max_pixels, FrameQueue* queue, std::optional<Scratch>* scratch,
                            FrameJob* job) {
  try {
    return RunJob(lane, max_pixels, queue, &**scratch, job);
  } catch (const std::bad_alloc&) {
    scratch->emplace(lane);
    return absl::ResourceExhaustedError("frame: the server has no memory left for it");
  }
}

}  // namespace

LaneThreads::LaneThreads(FrameQueue* queue, LaneSet* lanes, int64_t max_image_pixels, Events events)
    : queue_(queue), lanes_(lanes), max_image_pixels_(max_image_pixels), events_(std::move(events)) {
  for (const auto& lane : lanes_->lanes) {
    if (DeviceOf(*lane) != nullptr) continue;
    devices_.push_back(std::make_unique<Device>());
    devices_.back()->name = lane->device();
  }
  threads_.reserve(lanes_->lanes.size());
  for (size_t i = 0; i < lanes_->lanes.size(); ++i) {
    threads_.emplace_back(&LaneThreads::Main, this, static_cast<int>(i));
  }
}

LaneThreads::~LaneThreads() {
  for (std::thread& thread : threads_) thread.join();
}

LaneThreads::Device* LaneThreads::DeviceOf(const Lane& lane) {
  for (const auto& device : devices_) {
    if (device->name == lane.device()) return device.get();
  }
  return nullptr;
}

bool LaneThreads::Lose(Device* device, const absl::Status& why) {
  std::lock_guard<std::mutex> lock(lose_mutex_);
  if (device->lost.exchange(true)) return false;  // another lane of it was first
  bool last = true;
  for (const auto& other : devices_) last = last && other->lost;
  events_.lost(why, last);
  queue_->WakeLanes();
  return last;
}

void LaneThreads::Main(int index) {
  Lane* const lane = lanes_->lanes[static_cast<size_t>(index)].get();
  Device* const device = DeviceOf(*lane);
  std::optional<Scratch> scratch(std::in_place, lane);
  LaneSeat seat;
  StageTimes times;
  absl::Status lost = WarmUp(lane, &scratch->features, &times);
  const bool warm = lost.ok();
  if (warm) {
    events_.warm();
  } else {
    lost = absl::Status(lost.code(), absl::StrCat("lane ", index, " on ", lane->device(),
                                                  ": the warm-up frame failed: ", lost.message()));
  }
  bool stays = !lost.ok() && Lose(device, lost);
  while (FrameJob* job = lost.ok() || stays ? queue_->Pop(&seat, stays ? nullptr : &device->lost) : nullptr) {
    events_.busy(index, true);
    job->lane = index;
    job->device = &lane->device();
    const int64_t bytes = job->bytes;
    const int64_t begun_at = MonotonicNs();
    const int64_t jpegs_before = scratch->decoder.jpegs();
    {
      FramePathScope frame_path;
      job->status = stays ? lost : RunJobInMemory(lane, max_image_pixels_, queue_, &scratch, job);
      if (!job->status.ok()) frame_path.Discard();
    }
    if (!job->status.ok()) {
      scratch->features.Clear();
      job->found = PairFound();
      job->tracked = TracksFound();
      job->located = LocalizeFound();
      if (stays) job->jpegs = JpegsDecoded();
    } else {
      job->jpegs.by_cpu = scratch->decoder.jpegs() - jpegs_before;
    }
    job->times.done_at = MonotonicNs();
    events_.done(*job);
    queue_->Finished(*job);
    job->sink->OnFrameDone(job, scratch->features);  // and frees its message
    queue_->Release(bytes, MonotonicNs() - begun_at);
    events_.busy(index, false);
    if (absl::Status fatal = lane->fatal(); !fatal.ok() && lost.ok()) {
      lost = absl::Status(fatal.code(), absl::StrCat("lane ", index, " on ", lane->device(),
                                                     ": the device is lost: ", fatal.message()));
      stays = Lose(device, lost);
    }
  }
  queue_->LaneLeaves();
  events_.left(lane->device(), warm);
}

}  // namespace glint
