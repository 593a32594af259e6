#include "slam/cpu_front_end.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

namespace glint::slam {
namespace {

constexpr int kPatch = 15;  // pixels
// How far a patch may lie from where the descriptors say, pixels of the keypoint's level.
constexpr float kFarthest = 1.5f;

}  // namespace

CpuFrontEnd::CpuFrontEnd(const DetectorOptions& detector, int threads)
    : detector_(detector), pipeline_(threads), matcher_(threads), tracker_(threads) {
  stereo_.max_distance = 64;
  stereo_.check_pair = false;
  track_.levels = 1;
  track_.patch_size = kPatch;
  track_.fine_levels = 1;
  track_.intensity = IntensityModel::kGainAndOffset;
}

void CpuFrontEnd::Eye::Take(const ImageView& from) {
  image.Resize(from.shape());
  for (int y = 0; y < from.height; ++y) std::memcpy(image.row(y), from.row(y), static_cast<size_t>(from.width));
  levels.Build(image, 1);
}

absl::Status CpuFrontEnd::Find(const ImageView& left, const ImageView& right, StereoFrame* frame) {
  for (const ImageView& eye : {left, right}) {
    if (auto status = ValidateImages(eye, {}); !status.ok()) return status;
  }
  if (auto status =
          pipeline_.Detect(detector_, left, right, stereo_, &frame->left, &right_features_, &result_, nullptr);
      !status.ok()) {
    return status;
  }
  const PyramidPlan plan = PlanPyramid(detector_, left.shape());
  frame->levels = plan.levels;
  for (int o = 0; o < plan.levels; ++o) {
    frame->scale[static_cast<size_t>(o)] = plan.level[static_cast<size_t>(o)].scale;
  }
  left_.Take(left);
  right_.Take(right);
  MeasureDisparities(frame);
  return absl::OkStatus();
}

void CpuFrontEnd::MeasureDisparities(StereoFrame* frame) {
  const Features& f = frame->left;
  const size_t count = f.count();
  frame->is_stereo.assign(count, 0);
  frame->disparity.assign(count, 0);
  frame->rise.assign(count, 0);
  asked_.clear();
  for (auto* v : {&x_, &y_, &to_x_, &to_y_}) v->clear();
  for (size_t i = 0; i < count; ++i) {
    if (result_.right_index[i] == kNoMatch) continue;
    asked_.push_back(i);
    x_.push_back(f.x[i]);
    y_.push_back(f.y[i]);
    to_x_.push_back(f.x[i] - result_.disparity[i]);
    to_y_.push_back(f.y[i]);
  }
  const TrackInput input{
      left_.levels.view(), right_.levels.view(), static_cast<int>(asked_.size()), x_.data(), y_.data(),
      to_x_.data(),        to_y_.data()};
  tracker_.Track(input, track_, &tracked_);
  for (size_t k = 0; k < asked_.size(); ++k) {
    const size_t i = asked_[k];
    const float farthest = kFarthest * frame->scale[static_cast<size_t>(f.octave[i])];
    if (tracked_.status[k] != TrackStatus::kTracked || std::abs(tracked_.x[k] - to_x_[k]) > farthest ||
        std::abs(tracked_.y[k] - to_y_[k]) > farthest) {
      continue;
    }
    frame->is_stereo[i] = 1;
    frame->disparity[i] = f.x[i] - tracked_.x[k];
    frame->rise[i] = f.y[i] - tracked_.y[k];
  }
}

void CpuFrontEnd::Keep() {
  std::swap(left_.image, kept_.image);
  std::swap(left_.levels, kept_.levels);
}

void CpuFrontEnd::Follow(const std::vector<float>& x, const std::vector<float>& y, std::vector<float>* to_x,
                         std::vector<float>* to_y, std::vector<uint8_t>* is_followed) {
  const TrackInput input{kept_.levels.view(), left_.levels.view(), static_cast<int>(x.size()), x.data(), y.data(),
                         to_x->data(),        to_y->data()};
  tracker_.Track(input, track_, &tracked_);
  is_followed->assign(x.size(), 0);
  for (size_t i = 0; i < x.size(); ++i) (*is_followed)[i] = tracked_.status[i] == TrackStatus::kTracked ? 1 : 0;
  to_x->assign(tracked_.x.begin(), tracked_.x.begin() + static_cast<ptrdiff_t>(x.size()));
  to_y->assign(tracked_.y.begin(), tracked_.y.begin() + static_cast<ptrdiff_t>(x.size()));
}

void CpuFrontEnd::Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) {
  matcher_.Match(input, options, result);
}

}  // namespace glint::slam
