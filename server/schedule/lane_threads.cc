#include "server/schedule/lane_threads.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "decode/jpeg_writer.h"
#include "features/status_macros.h"
#include "features/thread.h"
#include "server/base/allocations.h"
#include "server/schedule/lane_context.h"

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

// Warm-up: a raw frame, and a JPEG file if the lane's device decodes; this loads kernels and allocates memory.
absl::Status WarmUp(Lane* lane) {
  Features features;
  StageTimes times;
  const Image image = WarmUpImage();
  const DetectorOptions options = *PresetOptions("orb");
  absl::Status status = lane->Run(options, image, {}, &features, &times);
  if (!status.ok() || !lane->decodes_jpeg()) return status;
  GLINT_ASSIGN_OR_RETURN(const auto file, decode::WriteJpeg(image.view(), kWarmUpQuality));
  const auto* const bytes = reinterpret_cast<const uint8_t*>(file.data());
  return lane->RunJpeg(options, absl::MakeConstSpan(bytes, file.size()), image.shape(), {}, &features, &times).status();
}

// Memory that one lane's thread reuses from frame to frame.
struct Scratch {
  explicit Scratch(Lane* lane) : decoder(lane->parallel()) {}

  decode::Decoder decoder;
  LaneScratch work;
};

absl::Status RunJob(const LaneContext& context, FrameJob* job) {
  job->times.queue_ns = MonotonicNs() - job->times.queued_at;
  GLINT_RETURN_IF_ERROR(CheckNotCancelled(job));
  absl::Status status = job->work->Run(context, job);
  // Ended at a checkpoint: say why.
  if (absl::IsCancelled(status)) GLINT_RETURN_IF_ERROR(CheckNotCancelled(job));
  return status;
}

// Turns the exceptions of a frame's work into a status: std::bad_alloc, and std::system_error of a thread that a lane
// needs again after it. State that was half updated is rebuilt.
absl::Status RunJobInMemory(Lane* lane, int64_t max_pixels, std::optional<Scratch>* scratch, FrameJob* job) {
  try {
    return RunJob({lane, &(*scratch)->decoder, &(*scratch)->work, max_pixels}, job);
  } catch (const std::bad_alloc&) {
    scratch->emplace(lane);
    return absl::ResourceExhaustedError("frame: the server has no memory left for it");
  } catch (const std::system_error&) {
    scratch->emplace(lane);
    return ThreadError("frame");
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
}

absl::Status LaneThreads::Make() {
  for (size_t i = 0; i < lanes_->lanes.size(); ++i) {
    GLINT_ASSIGN_OR_RETURN(std::thread thread, StartThread("lanes", [this, i] { Main(static_cast<int>(i)); }));
    threads_.push_back(std::move(thread));
  }
  return absl::OkStatus();
}

void LaneThreads::Begin() {
  begun_ = true;
  begin_.set_value(true);
}

LaneThreads::~LaneThreads() {
  if (!begun_) begin_.set_value(false);
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
  if (begins_.get()) Serve(index);
}

void LaneThreads::Serve(int index) {
  Lane* const lane = lanes_->lanes[static_cast<size_t>(index)].get();
  Device* const device = DeviceOf(*lane);
  std::optional<Scratch> scratch(std::in_place, lane);
  LaneWaiter waiter;
  const FrameJob* running = nullptr;
  lane->set_checkpoint([this, index, &running] {
    if (running == nullptr) return true;
    if (events_.moves) events_.moves(index);
    return !running->cancelled.load(std::memory_order_relaxed);  // max_age is for frames that have not begun
  });
  absl::Status lost = WarmUp(lane);
  const bool warm = lost.ok();
  if (warm) {
    events_.warm();
  } else {
    lost = absl::Status(lost.code(), absl::StrCat("lane ", index, " on ", lane->device(),
                                                  ": the warm-up frame failed: ", lost.message()));
  }
  bool stays = !lost.ok() && Lose(device, lost);
  while (FrameJob* job = lost.ok() || stays ? queue_->Pop(&waiter, stays ? nullptr : &device->lost) : nullptr) {
    events_.busy(index, true);
    job->lane = index;
    job->device = &lane->device();
    const int64_t bytes = job->bytes;
    const bool reserved = job->in_queue.reserved;
    const int64_t begun_at = MonotonicNs();
    const int64_t jpegs_before = scratch->decoder.jpegs();
    running = job;
    {
      FramePathScope frame_path;
      job->status = stays ? lost : RunJobInMemory(lane, max_image_pixels_, &scratch, job);
      if (!job->status.ok()) frame_path.Discard();
    }
    running = nullptr;
    if (job->status.ok()) job->jpegs = scratch->decoder.jpegs() - jpegs_before;
    job->times.done_at = MonotonicNs();
    events_.done(*job);
    job->sink->OnFrameRun(job);
    queue_->Finished(*job, MonotonicNs() - begun_at);
    job->sink->OnFrameDone(job);  // and frees its message
    queue_->Release(bytes, MonotonicNs() - begun_at, reserved);
    events_.busy(index, false);
    if (absl::Status fatal = lane->fatal(); !fatal.ok() && lost.ok()) {
      lost = absl::Status(fatal.code(), absl::StrCat("lane ", index, " on ", lane->device(),
                                                     ": the device is lost: ", fatal.message()));
      stays = Lose(device, lost);
    }
  }
  lane->set_checkpoint({});
  queue_->LaneLeaves();
  events_.left(lane->device(), warm);
}

}  // namespace glint
