#include "slam/odometry/moving_region.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "slam/front_end/depth_rules.h"
#include "slam/odometry/moving_things.h"

namespace glint::slam {
namespace {

constexpr double kGain = 1.2;  // times as many keypoints outside the region are worth a frame without it
constexpr float kRatio = 0.9f;
constexpr float kLeastDisparity = 2;  // pixels: what is farther hardly contradicts a motion
constexpr double kLoose = 4;          // times the largest squared residual of an inlier still agree
// Times that one, a keypoint contradicts the motion. Of things in KITTI 06 three quarters are off by 9 to 35 times the
// residual itself; of the world, by depths that one pair tells, with gaps of seconds in EuRoC's V1_01, by 3 to 6.
constexpr double kFarOff = 36;
constexpr int kFewestOfThing = 20;  // keypoints that contradict the camera's motion, and share another one
constexpr int kFewest = 4;          // of them in a cell and its neighbours;
constexpr int kMore = 2;            // in a cell that has none, they are so many times those that agree around

bool IsNear(const StereoFrame& frame, size_t i) {
  return frame.is_stereo[i] != 0 && frame.disparity[i] >= kLeastDisparity;
}

DescriptorView DescriptorsOf(const Features& f) {
  return {f.descriptors.data(), static_cast<int>(f.count()), f.descriptor_bytes};
}

}  // namespace

MovingRegion::MovingRegion(const StereoCamera& camera, const NoiseModel& noise, FrontEnd* front_end)
    : noise_(noise),
      front_end_(front_end),
      shape_(camera.image),
      cell_((std::max(camera.image.width, camera.image.height) + kCells - 1) / kCells) {}

MovingRegion::Cell& MovingRegion::CellAt(const Eigen::Vector2f& at) {
  const auto cell = [this](float pixel) {
    return static_cast<size_t>(std::clamp(static_cast<int>(pixel) / cell_, 0, kCells - 1));
  };
  return seen_[cell(at.y()) * kCells + cell(at.x())];
}

void MovingRegion::Observe(const StereoCamera& camera, const StereoFrame& before, const StereoFrame& now,
                           const Pose& now_from_before, const FrameMatches& matches) {
  seen_.fill({});
  for (size_t i = 0; i < matches.correspondences.size(); ++i) {
    const Eigen::Vector2d& at = matches.correspondences[i].observation.pixel.left;
    if (matches.fit.is_inlier[i] != 0) ++CellAt(at.cast<float>()).agreeing;
  }
  MatchOptions options;
  options.cross_check = true;
  options.ratio = kRatio;
  front_end_->Match({DescriptorsOf(now.left), DescriptorsOf(before.left), {}, {}}, options, &matches_);
  contradictions_.clear();
  moving_.clear();
  for (size_t i = 0; i < now.left.count(); ++i) {
    if (matches_.index[i] == kNoMatch || !IsNear(now, i)) continue;
    const auto from = static_cast<size_t>(matches_.index[i]);
    Eigen::Vector3d point;
    if (!IsNear(before, from) ||
        !Triangulate(camera, before.left.x[from], before.left.y[from], before.disparity[from], &point)) {
      continue;
    }
    const Eigen::Vector2f at(now.left.x[i], now.left.y[i]);
    const Eigen::Vector2f step = at - Eigen::Vector2f(before.left.x[from], before.left.y[from]);
    const Correspondence c{point, ObservationOf(now, i, noise_)};
    if (Agrees(camera, now_from_before, c, kLoose)) {
      ++CellAt(at + step).agreeing;
    } else if (!Agrees(camera, now_from_before, c, kFarOff)) {
      contradictions_.push_back(c);
      moving_.push_back({at, step, now.disparity[i]});
    }
  }
  KeepThing(camera);
  FindCells();
}

void MovingRegion::Advance() {
  seen_.fill({});
  FindCells();
}

void MovingRegion::KeepThing(const StereoCamera& camera) {
  Pose motion;
  const bool is_thing =
      contradictions_.size() >= kFewestOfThing && solver_.Find(camera, contradictions_, kFewestOfThing, &motion);
  size_t kept = 0;
  for (size_t k = 0; is_thing && k < contradictions_.size(); ++k) {
    if (Agrees(camera, motion, contradictions_[k], kLoose)) moving_[kept++] = moving_[k];
  }
  moving_.resize(kept);
}

void MovingRegion::FindCells() {
  for (Keypoint& k : moving_) {
    k.at += k.step;
    Cell& cell = CellAt(k.at);
    ++cell.moving;
    cell.disparity += k.disparity;
  }
  cells_ = 0;
  for (int row = 0; row < kCells; ++row) {
    for (int column = 0; column < kCells; ++column) {
      const Cell& own = seen_[static_cast<size_t>(row * kCells + column)];
      const Cell around = Around(column, row);
      const bool is_moving =
          around.moving >= kFewest &&
          (own.moving > own.agreeing || (own.agreeing == 0 && around.moving > kMore * around.agreeing));
      disparity_[static_cast<size_t>(row * kCells + column)] = is_moving ? around.disparity / around.moving : -1;
      cells_ += is_moving ? 1 : 0;
    }
  }
}

MovingRegion::Cell MovingRegion::Around(int column, int row) const {
  Cell sum;
  for (int r = std::max(0, row - 1); r <= std::min(kCells - 1, row + 1); ++r) {
    for (int c = std::max(0, column - 1); c <= std::min(kCells - 1, column + 1); ++c) {
      const Cell& cell = seen_[static_cast<size_t>(r * kCells + c)];
      sum.agreeing += cell.agreeing;
      sum.moving += cell.moving;
      sum.disparity += cell.disparity;
    }
  }
  return sum;
}

void MovingRegion::MakeMask(const ImageView& mask, double shift, Image* made) const {
  made->Resize(shape_);
  const auto width = static_cast<size_t>(shape_.width);
  for (int y = 0; y < shape_.height; ++y) {
    if (mask.empty()) {
      std::memset(made->row(y), 255, width);
    } else {
      std::memcpy(made->row(y), mask.row(y), width);
    }
    const double* const disparities = disparity_.data() + std::min(y / cell_, kCells - 1) * kCells;
    for (int c = 0; c < kCells; ++c) {
      if (disparities[c] < 0) continue;
      const int left = static_cast<int>(std::lround(c * cell_ - shift * disparities[c]));
      const int begin = std::clamp(left, 0, shape_.width), end = std::clamp(left + cell_, 0, shape_.width);
      if (begin < end) std::memset(made->row(y) + begin, 0, static_cast<size_t>(end - begin));
    }
  }
}

bool MovingRegion::IsMore(const StereoFrame& found, const StereoFrame& all) const {
  size_t outside = 0;
  for (size_t i = 0; i < all.left.count(); ++i) {
    const int column = std::clamp(static_cast<int>(all.left.x[i]), 0, shape_.width - 1);
    const int row = std::clamp(static_cast<int>(all.left.y[i]), 0, shape_.height - 1);
    outside += left_mask_.row(row)[column] != 0 ? 1 : 0;
  }
  return static_cast<double>(found.left.count()) > kGain * static_cast<double>(outside);
}

absl::Status MovingRegion::FindOutside(const CameraView& view, const StereoCamera& camera, StereoFrame* frame) {
  MakeMask(view.left_mask, 0, &left_mask_);
  CameraView outside = view;
  outside.left_mask = left_mask_.view();
  if (view.has_depth()) return FindIn(outside, camera, front_end_, frame);
  MakeMask(view.right_mask, 1, &right_mask_);
  return front_end_->FindAgain({view.left, view.right, left_mask_, right_mask_}, frame);
}

}  // namespace glint::slam
