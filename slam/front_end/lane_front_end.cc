#include "slam/front_end/lane_front_end.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "features/pixels.h"
#include "features/status_macros.h"
#include "lane/cpu_lane.h"

namespace glint::slam {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRight = 1, kFrames = 3;
// Followed at once: what a device's memory for them is made for.
constexpr int kPointsAtOnce = 8192;

absl::Status Validate(const Pixels& image, const Pixels& mask) {
  return image.view.empty() ? ValidatePixels(image, mask) : ValidateImages(image.view, mask.view);
}

}  // namespace

LaneFrontEnd::LaneFrontEnd(const DetectorOptions& detector, std::unique_ptr<Lane> own_lane)
    : detector_(detector),
      kind_(FeatureKindOf(detector)),
      stereo_(PairMatching()),
      track_(PatchFollowing()),
      own_lane_(std::move(own_lane)),
      lane_(own_lane_.get()) {}

LaneFrontEnd::LaneFrontEnd(const DetectorOptions& detector) : LaneFrontEnd(detector, std::unique_ptr<Lane>()) {}

LaneFrontEnd::LaneFrontEnd(const DetectorOptions& detector, int threads)
    : LaneFrontEnd(detector, MakeCpuLane(threads)) {}

void LaneFrontEnd::Begin(Lane* lane) {
  lane_ = lane;
  stages_ = {};
  match_ns_ = 0;
  status_ = absl::OkStatus();
}

template <typename Work>
absl::Status LaneFrontEnd::Timed(Work work) {
  const Clock::time_point start = Clock::now();
  StageTimes times;
  absl::Status status = work(&times);
  AddTimes(times, &stages_);
  const int64_t all_ns = std::chrono::nanoseconds(Clock::now() - start).count();
  match_ns_ += std::max<int64_t>(0, all_ns - times.upload_ns - times.detect_ns - times.download_ns);
  return status;
}

absl::Status LaneFrontEnd::Find(const PixelPair& pair, StereoFrame* frame) {
  GLINT_RETURN_IF_ERROR(Validate(pair.left, pair.left_mask));
  GLINT_RETURN_IF_ERROR(Validate(pair.right, pair.right_mask));
  return Timed([&](StageTimes* times) { return FindOnLane(pair, frame, times); });
}

absl::Status LaneFrontEnd::FindOne(const Pixels& image, const ImageView& mask, StereoFrame* frame) {
  GLINT_RETURN_IF_ERROR(Validate(image, mask));
  return Timed([&](StageTimes* times) { return FindOneOnLane(image, mask, frame, times); });
}

absl::Status LaneFrontEnd::MakeFrames(Shape shape) {
  if (frames_ != nullptr && shape_ == shape) return absl::OkStatus();
  frames_ = nullptr;  // its memory first
  has_reference_ = false;
  GLINT_ASSIGN_OR_RETURN(frames_, lane_->MakeTrackFrames(shape, track_, kPointsAtOnce, kFrames));
  shape_ = shape;
  return absl::OkStatus();
}

absl::Status LaneFrontEnd::FindOnLane(const PixelPair& pair, StereoFrame* frame, StageTimes* times) {
  const Shape shape = pair.left.shape();
  GLINT_RETURN_IF_ERROR(lane_->RunStereo(detector_, stereo_, pair, &found_, times));
  std::swap(frame->left, found_.left);
  SetLevels(detector_, shape, frame);
  GLINT_RETURN_IF_ERROR(MakeFrames(shape));
  absl::Status status = lane_->KeepTrackFrame(frames_.get(), left_, FoundImage::kLeft, pair.left);
  if (status.ok()) status = lane_->KeepTrackFrame(frames_.get(), kRight, FoundImage::kRight, pair.right);
  if (status.ok()) status = FollowOnLane(left_, kRight, patches_.MakeInput(frame->left, found_.matches));
  if (status.ok()) status = lane_->ReleasePixels(frames_.get());
  if (!status.ok()) {
    frames_ = nullptr;
    return status;
  }
  patches_.Apply(followed_, frame);
  return absl::OkStatus();
}

absl::Status LaneFrontEnd::FindOneOnLane(const Pixels& image, const ImageView& mask, StereoFrame* frame,
                                         StageTimes* times) {
  GLINT_RETURN_IF_ERROR(lane_->Run(detector_, image, mask, &frame->left, times));
  SetLevels(detector_, image.shape(), frame);
  ClearStereo(frame);
  GLINT_RETURN_IF_ERROR(MakeFrames(image.shape()));
  absl::Status status = lane_->KeepTrackFrame(frames_.get(), left_, FoundImage::kOnly, image);
  if (status.ok()) status = lane_->ReleasePixels(frames_.get());
  if (!status.ok()) frames_ = nullptr;
  return status;
}

absl::Status LaneFrontEnd::FollowOnLane(int from, int to, const TrackInput& points) {
  followed_.Resize(static_cast<size_t>(points.count));
  for (int begin = 0; begin < points.count; begin += kPointsAtOnce) {
    TrackInput some = points;
    some.count = std::min(kPointsAtOnce, points.count - begin);
    some.x += begin;
    some.y += begin;
    some.to_x += begin;
    some.to_y += begin;
    const TrackSegment segment{from, some.count};
    GLINT_RETURN_IF_ERROR(lane_->StartFollow(frames_.get(), to, some, {&segment, 1}, track_, &part_));
    GLINT_RETURN_IF_ERROR(lane_->FinishFollow(frames_.get(), &part_));
    followed_.Put(static_cast<size_t>(begin), part_);
  }
  return absl::OkStatus();
}

void LaneFrontEnd::SetReferenceFrame() {
  std::swap(left_, reference_);
  has_reference_ = frames_ != nullptr;
}

void LaneFrontEnd::Follow(const std::vector<float>& x, const std::vector<float>& y, std::vector<float>* to_x,
                          std::vector<float>* to_y, std::vector<uint8_t>* is_followed) {
  is_followed->assign(x.size(), 0);
  if (frames_ == nullptr || !has_reference_) return;  // they were lost with an error
  const TrackInput points{{}, {}, static_cast<int>(x.size()), x.data(), y.data(), to_x->data(), to_y->data()};
  if (absl::Status s = FollowOnLane(reference_, left_, points); !s.ok()) {
    frames_ = nullptr;
    status_.Update(s);
    return;
  }
  for (size_t i = 0; i < x.size(); ++i) (*is_followed)[i] = followed_.status[i] == TrackStatus::kTracked ? 1 : 0;
  to_x->assign(followed_.x.begin(), followed_.x.end());
  to_y->assign(followed_.y.begin(), followed_.y.end());
}

void LaneFrontEnd::Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) {
  absl::Status s = lane_->Match(input, options, result);
  if (s.ok()) return;
  result->Reset(input.query.count, options.k);
  status_.Update(s);
}

}  // namespace glint::slam
