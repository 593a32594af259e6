#include "lane/cpu_lane.h"

#include <algorithm>
#include <new>
#include <string>

#include "cpu/match/matcher.h"
#include "cpu/pipeline.h"
#include "cpu/stereo/stereo_pipeline.h"
#include "lane/cpu_track.h"
#include "lane/elapsed.h"

namespace glint {
namespace {

// Stage times of an image pair that took `wall_ns`, possibly in parallel: each image's stages, scaled to that time.
StageTimes TimesOfPair(int64_t wall_ns, const StageTimes& left, const StageTimes& right) {
  StageTimes times = left;
  AddTimes(right, &times);
  const int64_t both_ns = std::max<int64_t>(1, times.detect_ns + times.download_ns);
  const double share = static_cast<double>(wall_ns) / static_cast<double>(both_ns);
  for (const auto field : kStageTimes) times.*field = static_cast<int64_t>(share * static_cast<double>(times.*field));
  return times;
}

class CpuLane final : public Lane, public Parallel {
 public:
  explicit CpuLane(int threads) : threads_(threads), parts_(std::make_unique<Parts>(threads)) {}

  Parallel* parallel() override { return threads_ > 1 ? this : nullptr; }
  int threads() const override { return threads_; }
  void Share(int count, absl::FunctionRef<void(int i)> task) override {
    if (parts_ == nullptr) parts_ = std::make_unique<Parts>(threads_);
    parts_->pipeline.pool()->Share(count, task);
  }

  absl::Status Run(const DetectorOptions& options, const Pixels& image, const Pixels& mask, Features* features,
                   StageTimes* times) override {
    return InMemory([&](Parts* parts) {
      const LaneClock::time_point start = LaneClock::now();
      const ImageView image_view = ViewOf(image, &parts->image);
      const ImageView mask_view = ViewOf(mask, &parts->other);
      const int64_t copied_ns = NanosecondsSince(start);
      absl::Status status = parts->pipeline.Detect(options, image_view, mask_view, features, times);
      times->upload_ns += copied_ns;
      if (!status.ok()) features->Clear();
      return status;
    });
  }
  absl::Status RunStereo(const DetectorOptions& options, const StereoOptions& stereo, const PixelPair& pair,
                         StereoPairResult* found, StageTimes* times) override {
    return InMemory([&](Parts* parts) {
      const LaneClock::time_point start = LaneClock::now();
      const ImagePair views{ViewOf(pair.left, &parts->image), ViewOf(pair.right, &parts->other),
                            ViewOf(pair.left_mask, &parts->left_mask), ViewOf(pair.right_mask, &parts->right_mask)};
      const int64_t copied_ns = NanosecondsSince(start);
      cpu::StereoTimes took;
      absl::Status status = parts->stereo.Detect(options, views, stereo, &found->left, &found->right, &found->matches,
                                                 &took, checkpoint());
      if (!status.ok()) return status;
      *times = TimesOfPair(took.detect_ns, took.left, took.right);
      times->upload_ns += copied_ns;
      found->match_ns = took.match_ns;
      return status;
    });
  }
  absl::Status Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) override {
    return InMemory([&](Parts* parts) {
      return parts->matcher.Match(input, options, result, checkpoint())
                 ? absl::OkStatus()
                 : absl::CancelledError("matching: ended at a checkpoint");
    });
  }
  absl::StatusOr<std::unique_ptr<TrackFrames>> MakeTrackFrames(Shape shape, const TrackOptions& options, int,
                                                               int count) override {
    return CpuTrack::MakeFrames(shape, options.levels, count);
  }
  absl::StatusOr<ImageView> SetTrackFrame(TrackFrames* frames, int number, const Pixels& image) override {
    return CpuTrack::SetFrame(frames, number, image);
  }
  absl::Status StartFollow(TrackFrames* frames, int to, const TrackInput& points,
                           absl::Span<const TrackSegment> segments, const TrackOptions& options,
                           TrackResult* result) override {
    return InMemory([&](Parts* parts) {
      parts->track.Follow(frames, to, points, segments, options, result);
      return absl::OkStatus();
    });
  }
  absl::Status FinishFollow(TrackFrames*, TrackResult*) override { return absl::OkStatus(); }
  absl::Status fatal() const override { return absl::OkStatus(); }
  const std::string& device() const override { return device_; }

 private:
  // Buffers that grow with frames.
  struct Parts {
    explicit Parts(int threads) : pipeline(threads), matcher(threads), stereo(threads, &pipeline), track(threads) {}

    cpu::Pipeline pipeline;
    cpu::Matcher matcher;
    cpu::StereoPipeline stereo;
    CpuTrack track;
    Image image, other;  // for pixels without a view; `other` is a mask or the right image
    Image left_mask, right_mask;
  };

  // After std::bad_alloc the buffers may be inconsistent: the next frame creates new ones.
  template <typename Work>
  absl::Status InMemory(Work work) {
    if (parts_ == nullptr) parts_ = std::make_unique<Parts>(threads_);
    try {
      return work(parts_.get());
    } catch (const std::bad_alloc&) {
      parts_ = nullptr;
      throw;
    }
  }

  const int threads_;
  std::unique_ptr<Parts> parts_;
  const std::string device_ = "cpu";
};

}  // namespace

std::unique_ptr<Lane> MakeCpuLane(int threads) { return std::make_unique<CpuLane>(threads); }

}  // namespace glint
