#include "slam/front_end/pair_rules.h"

#include <cmath>

namespace glint::slam {
namespace {

constexpr int kPatch = 15;  // pixels
// How far a patch may lie from where the descriptors say, pixels of the keypoint's level.
constexpr float kMaxPatchOffsetPx = 1.5f;

}  // namespace

StereoOptions PairMatching() {
  StereoOptions options;
  options.max_distance = 64;
  options.check_pair = false;
  return options;
}

TrackOptions PatchFollowing() {
  TrackOptions options;
  options.levels = 1;
  options.patch_size = kPatch;
  options.fine_levels = 1;
  options.intensity = IntensityModel::kGainAndOffset;
  return options;
}

void SetLevels(const DetectorOptions& detector, Shape shape, StereoFrame* frame) {
  const PyramidPlan plan = PlanPyramid(detector, shape);
  frame->levels = plan.levels;
  for (size_t o = 0; o < static_cast<size_t>(plan.levels); ++o) frame->scale[o] = plan.level[o].scale;
}

TrackInput DisparityPatches::MakeInput(const Features& left, const StereoResult& matches) {
  keypoint_.clear();
  for (auto* v : {&x_, &y_, &to_x_, &to_y_}) v->clear();
  for (size_t i = 0; i < left.count(); ++i) {
    if (matches.right_index[i] == kNoMatch) continue;
    keypoint_.push_back(i);
    x_.push_back(left.x[i]);
    y_.push_back(left.y[i]);
    to_x_.push_back(left.x[i] - matches.disparity[i]);
    to_y_.push_back(left.y[i]);
  }
  return {{}, {}, static_cast<int>(keypoint_.size()), x_.data(), y_.data(), to_x_.data(), to_y_.data()};
}

void DisparityPatches::Apply(const TrackResult& followed, StereoFrame* frame) const {
  const Features& f = frame->left;
  ClearStereo(frame);
  for (size_t k = 0; k < keypoint_.size(); ++k) {
    const size_t i = keypoint_[k];
    const float max_offset = kMaxPatchOffsetPx * frame->scale[static_cast<size_t>(f.octave[i])];
    if (followed.status[k] != TrackStatus::kTracked || std::abs(followed.x[k] - to_x_[k]) > max_offset ||
        std::abs(followed.y[k] - to_y_[k]) > max_offset) {
      continue;
    }
    frame->is_stereo[i] = 1;
    frame->disparity[i] = f.x[i] - followed.x[k];
    frame->vertical_disparity[i] = f.y[i] - followed.y[k];
  }
}

}  // namespace glint::slam
