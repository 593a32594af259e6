// The lanes of fuzz targets, in place of lane/create_lanes.cc: the scalar reference.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "features/reference/matcher.h"
#include "features/reference/pyramid.h"
#include "features/reference/reference.h"
#include "features/reference/stereo.h"
#include "features/reference/tracker.h"
#include "lane/lane.h"

namespace glint {
namespace {

class ReferenceTrackFrames final : public TrackFrames {
 public:
  explicit ReferenceTrackFrames(int count) : frames_(static_cast<size_t>(count)) {}

  ImageView Set(int number, const ImageView& image) {
    std::vector<Image>& levels = frames_[static_cast<size_t>(number)];
    levels.clear();
    levels.push_back(Image::CopyOf(image));
    while (levels.size() < kMaxTrackLevels && levels.back().width() >= 2 && levels.back().height() >= 2) {
      levels.push_back(reference::HalveForTracking(levels.back()));
    }
    return levels[0].view();
  }
  std::vector<ImageView> views(int number) const {
    const std::vector<Image>& levels = frames_[static_cast<size_t>(number)];
    return std::vector<ImageView>(levels.begin(), levels.end());
  }

 private:
  std::vector<std::vector<Image>> frames_;
};

class ReferenceLane final : public Lane {
 public:
  absl::Status Run(const DetectorOptions& options, const Pixels& image, const Pixels& mask, Features* features,
                   StageTimes*) override {
    *features = reference::Detect(options, ViewOf(image, &image_), ViewOf(mask, &mask_));
    return absl::OkStatus();
  }
  absl::Status RunStereo(const DetectorOptions& options, const StereoOptions& stereo, const PixelPair& pair,
                         StereoPairResult* found, StageTimes*) override {
    const ImageView images[] = {ViewOf(pair.left, &image_), ViewOf(pair.right, &mask_)};
    Image masks[2];
    const ImageView mask_views[] = {ViewOf(pair.left_mask, &masks[0]), ViewOf(pair.right_mask, &masks[1])};
    Features* const features[] = {&found->left, &found->right};
    StereoInput input;
    input.plan = PlanPyramid(options, pair.left.shape());
    StereoImage* const sides[] = {&input.left, &input.right};
    std::vector<Image> levels[2];
    std::vector<ImageView> views[2];
    for (int i = 0; i < 2; ++i) {
      *features[i] = reference::Detect(options, images[i], mask_views[i]);
      levels[i] = reference::BuildPyramid(options.pyramid, input.plan, images[i], reference::InterpolationOf(options));
      for (const Image& level : levels[i]) views[i].push_back(level.view());
      *sides[i] = {features[i], views[i].data()};
    }
    if (absl::Status s = ValidateStereoInput(input, stereo); !s.ok()) return s;
    found->matches = reference::MatchStereo(input, stereo);
    return absl::OkStatus();
  }
  absl::Status Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) override {
    *result = reference::Match(input, options);
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<TrackFrames>> MakeTrackFrames(Shape, const TrackOptions&, int, int count) override {
    return std::make_unique<ReferenceTrackFrames>(count);
  }
  absl::StatusOr<ImageView> SetTrackFrame(TrackFrames* frames, int number, const Pixels& image) override {
    return static_cast<ReferenceTrackFrames*>(frames)->Set(number, ViewOf(image, &image_));
  }
  absl::Status StartFollow(TrackFrames* frames, int to, const TrackInput& points,
                           absl::Span<const TrackSegment> segments, const TrackOptions& options,
                           TrackResult* result) override {
    const auto* const of = static_cast<const ReferenceTrackFrames*>(frames);
    const std::vector<ImageView> next = of->views(to);
    result->Resize(static_cast<size_t>(points.count));
    int begin = 0;
    for (const TrackSegment& segment : segments) {
      const std::vector<ImageView> from = of->views(segment.frame);
      TrackInput part = points;
      part.from = {from.data(), static_cast<int>(from.size())};
      part.to = {next.data(), static_cast<int>(next.size())};
      part.count = segment.count;
      for (const float** array : {&part.x, &part.y, &part.to_x, &part.to_y}) *array += begin;
      if (absl::Status s = ValidateTrackInput(part, options); !s.ok()) return s;
      result->Put(static_cast<size_t>(begin), reference::Track(part, options));
      begin += segment.count;
    }
    return absl::OkStatus();
  }
  absl::Status FinishFollow(TrackFrames*, TrackResult*) override { return absl::OkStatus(); }
  absl::Status fatal() const override { return absl::OkStatus(); }
  const std::string& device() const override { return device_; }

 private:
  Image image_, mask_;
  const std::string device_ = "reference";
};

}  // namespace

absl::StatusOr<LaneSet> CreateLanes(const LaneOptions& options) {
  LaneSet set;
  for (int i = 0; i < std::max(1, options.lanes); ++i) set.lanes.push_back(std::make_unique<ReferenceLane>());
  set.device = "the scalar reference";
  set.simd = "NONE";
  return set;
}

}  // namespace glint
