#include "bench/track_frame_bench.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cuda/runtime/hooks.h"
#include "features/options.h"
#include "features/status_macros.h"
#include "lane/lane.h"
#include "server/operations/track/track_lane.h"
#include "server/operations/track/track_session.h"

namespace glint::bench {
namespace {

// As many cells as points twice over, so that the target can be reached where corners are.
DetectorOptions DetectorFor(Shape shape, int points) {
  constexpr int kLargest = 32, kSmallest = 8, kStep = 4;
  DetectorOptions options = *PresetOptions("fast_grid");
  options.descriptor = Descriptor::kNone;
  int cell = kLargest;
  while (cell > kSmallest && (shape.width / cell) * (shape.height / cell) < 2 * points) cell -= kStep;
  options.cell_width = options.cell_height = cell;
  return options;
}

// A camera's pixels, as from a sensor.
class Picture {
 public:
  static absl::StatusOr<Picture> CopyOf(const ImageView& image, bool pinned) {
    Picture picture;
    if (!pinned) {
      picture.image_ = Image::CopyOf(image);
      picture.view_ = picture.image_;
      return picture;
    }
    GLINT_ASSIGN_OR_RETURN(auto made, cuda::PinnedMemory::Allocate(static_cast<size_t>(image.shape().pixels())));
    for (int y = 0; y < image.height; ++y) {
      std::copy_n(image.row(y), image.width, made.data() + static_cast<ptrdiff_t>(y) * image.width);
    }
    picture.view_ = {made.data(), image.width, image.height, image.width};
    picture.pinned_.emplace(std::move(made));
    return picture;
  }
  ImageView view() const { return view_; }

 private:
  Image image_;
  std::optional<cuda::PinnedMemory> pinned_;
  ImageView view_;
};

// One stream.
class Subject {
 public:
  Subject(const TrackingOptions& options, bool detects, Lane* lane, std::vector<std::array<Picture, 2>> pictures)
      : lane_(lane), detects_(detects), session_(options), pictures_(std::move(pictures)) {}

  absl::Status Run(std::vector<double>* us) {
    const TrackingOptions& options = session_.options();
    const Stopwatch watch;
    GLINT_RETURN_IF_ERROR(Frame(options));
    us->push_back(watch.us());
    tracks_ = session_.live();
    at_ = 1 - at_;
    return detects_ ? ForgetSome() : absl::OkStatus();
  }
  size_t tracks() const { return tracks_; }

 private:
  absl::Status Frame(const TrackingOptions& options) {
    int64_t track_ns = 0;
    StageTimes stages;
    TrackLane backend(lane_, &options, &cameras_, &track_ns, &stages);
    GLINT_RETURN_IF_ERROR(session_.Begin(0, detects_, {}, &scratch_));
    for (int c = 0; c < options.cameras; ++c) {
      const auto of = static_cast<size_t>(c);
      const ImageView picture = pictures_[of][at_].view();
      GLINT_RETURN_IF_ERROR(session_.Start(c, picture, &backend, &scratch_, &found_[of]));
    }
    for (int c = 0; c < options.cameras; ++c) {
      CameraTracks* const found = &found_[static_cast<size_t>(c)];
      GLINT_RETURN_IF_ERROR(session_.Finish(c, &backend, &scratch_, found));
    }
    session_.Commit(found_.data());
    backend.Keep();
    return absl::OkStatus();
  }
  absl::Status ForgetSome() {
    std::vector<uint64_t> ids;
    for (int c = 0; c < session_.options().cameras; ++c) {
      const CameraTracks& found = found_[static_cast<size_t>(c)];
      for (size_t i = 0; i < found.count(); i += 10) {
        if (found.lives(i)) ids.push_back(found.id[i]);
      }
    }
    return session_.Forget(ids, forgotten_.data());
  }

  Lane* const lane_;
  const bool detects_;
  TrackSession session_;
  TrackedCameras cameras_;
  TrackScratch scratch_;
  std::array<CameraTracks, kMaxTrackCameras> found_, forgotten_;
  std::vector<std::array<Picture, 2>> pictures_;  // of each camera
  size_t at_ = 0;
  size_t tracks_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<TrackFrameReport>> BenchTrackFrames(const TrackBenchOptions& options, const Image& from,
                                                               const Image& to, int points) {
  LaneOptions lane_options;
  lane_options.backend = options.cuda ? Backend::kCuda : Backend::kCpu;
  lane_options.lanes = 1;
  lane_options.threads_per_lane = options.threads;
  lane_options.gpu_wait = GpuWait::kSpin;
  lane_options.sm_limit = options.sm_limit;
  if (options.cuda) lane_options.devices = {options.device};
  GLINT_ASSIGN_OR_RETURN(const auto lanes, CreateLanes(lane_options));
  std::vector<TrackFrameReport> reports;
  std::vector<std::unique_ptr<Subject>> subjects;
  std::vector<Contestant> contestants;
  for (const int cameras : options.cameras) {
    TrackingOptions tracking;
    tracking.detector = DetectorFor(from.shape(), points);
    tracking.track = options.track;
    tracking.cameras = cameras;
    tracking.target = points;
    tracking.max_tracks = cameras * points;
    GLINT_RETURN_IF_ERROR(ValidateTrackingOptions(tracking));
    for (const bool detects : {false, true}) {
      tracking.min_share = detects ? 1.0f : 0.0f;
      std::vector<std::array<Picture, 2>> pictures;
      for (int c = 0; c < cameras; ++c) {
        GLINT_ASSIGN_OR_RETURN(auto first, Picture::CopyOf(from, options.cuda && !options.pageable));
        GLINT_ASSIGN_OR_RETURN(auto second, Picture::CopyOf(to, options.cuda && !options.pageable));
        pictures.push_back({std::move(first), std::move(second)});
      }
      auto subject = std::make_unique<Subject>(tracking, detects, lanes.lanes[0].get(), std::move(pictures));
      contestants.push_back(
          {absl::StrCat(cameras, " cameras"), [run = subject.get()](std::vector<double>* us) { return run->Run(us); }});
      subjects.push_back(std::move(subject));
      reports.push_back({cameras, detects, 0, {}});
    }
  }
  GLINT_RETURN_IF_ERROR(RunRounds(options.repeat, &contestants));
  for (size_t i = 0; i < reports.size(); ++i) {
    reports[i].tracks = static_cast<int>(subjects[i]->tracks());
    reports[i].us = Summarize(contestants[i].us);
  }
  return reports;
}

}  // namespace glint::bench
