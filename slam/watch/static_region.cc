#include "slam/watch/static_region.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "features/status_macros.h"
#include "features/types.h"

namespace glint::slam {
namespace {

constexpr float kStillPx = 0.75f;  // of the keypoint's level
constexpr int kSameBits = 40;
constexpr float kLeastDisparity = 2;  // pixels: farther points hardly move
constexpr double kContradictionPx = 4;
constexpr int kFewestStill = 20, kFewestMoving = 20;
constexpr int kSure = 3;     // times that a cell was static
constexpr int kForget = 50;  // pairs without still keypoints, after which nothing is left out any more
constexpr float kRatio = 0.9f;

int BitsThatDiffer(const uint8_t* a, const uint8_t* b, int bytes) {
  int bits = 0;
  for (int i = 0; i < bytes; ++i) bits += __builtin_popcount(static_cast<unsigned>(a[i] ^ b[i]));
  return bits;
}

const uint8_t* DescriptorOf(const Features& f, size_t i) {
  return f.descriptors.data() + i * static_cast<size_t>(f.descriptor_bytes);
}

bool IsNear(const StereoFrame& frame, size_t i) {
  return frame.is_stereo[i] != 0 && frame.disparity[i] >= kLeastDisparity;
}

// The value that this part of the others are below; not empty.
float Quantile(double part, std::vector<float>* values) {
  const auto at = values->begin() + static_cast<ptrdiff_t>(part * static_cast<double>(values->size() - 1));
  std::nth_element(values->begin(), at, values->end());
  return *at;
}

// Keeps the keypoints that are not marked.
void LeaveOut(const std::vector<uint8_t>& is_marked, StereoFrame* frame) {
  Features& f = frame->left;
  const auto bytes = static_cast<size_t>(f.descriptor_bytes);
  size_t kept = 0;
  for (size_t i = 0; i < is_marked.size(); ++i) {
    if (is_marked[i] != 0) continue;
    const auto keep = [&](auto* values) { (*values)[kept] = (*values)[i]; };
    for (auto* v : {&f.x, &f.y, &f.response, &f.angle, &f.size}) keep(v);
    keep(&f.octave);
    std::copy_n(DescriptorOf(f, i), bytes, f.descriptors.data() + kept * bytes);
    keep(&frame->is_stereo);
    keep(&frame->disparity);
    keep(&frame->vertical_disparity);
    ++kept;
  }
  f.Resize(kept, f.descriptor_bytes);
  frame->is_stereo.resize(kept);
  frame->disparity.resize(kept);
  frame->vertical_disparity.resize(kept);
}

}  // namespace

StaticRegionWatch::StaticRegionWatch(const StereoCamera& camera, const NoiseModel& noise, FrontEnd* front_end)
    : camera_(camera),
      noise_(noise),
      front_end_(front_end),
      cell_((std::max(camera.image.width, camera.image.height) + kCells - 1) / kCells) {}

absl::Status StaticRegionWatch::Find(const PixelPair& pair, StereoFrame* frame) {
  GLINT_RETURN_IF_ERROR(front_end_->Find(pair, frame));
  const size_t count = frame->left.count();
  is_static_.assign(count, 0);
  const int still = FindStill(*frame);
  unseen_ = still < kFewestStill ? unseen_ + 1 : 0;
  if (unseen_ >= kForget) seen_.fill(0);
  if (Pose motion; still >= kFewestStill && FindMotion(*frame, &motion) && FindStatic(*frame, motion)) {
    CountCells(*frame);
  }
  last_ = *frame;
  const size_t left_out = LeaveOutStatic(frame);
  left_out_share_ = count == 0 ? 0 : static_cast<double>(left_out) / static_cast<double>(count);
  return absl::OkStatus();
}

absl::Status StaticRegionWatch::FindAgain(const PixelPair& pair, StereoFrame* frame) {
  GLINT_RETURN_IF_ERROR(front_end_->FindAgain(pair, frame));
  is_static_.assign(frame->left.count(), 0);
  LeaveOutStatic(frame);
  return absl::OkStatus();
}

size_t StaticRegionWatch::LeaveOutStatic(StereoFrame* frame) {
  size_t left_out = 0;
  for (size_t i = 0; i < is_static_.size(); ++i) {
    if (seen_[CellOf(*frame, i)] >= kSure) is_static_[i] = 1;
    left_out += is_static_[i];
  }
  if (left_out > 0) LeaveOut(is_static_, frame);
  return left_out;
}

size_t StaticRegionWatch::CellOf(const StereoFrame& frame, size_t keypoint) const {
  const auto cell = [this](float at) {
    return static_cast<size_t>(std::clamp(static_cast<int>(at) / cell_, 0, kCells - 1));
  };
  return cell(frame.left.y[keypoint]) * kCells + cell(frame.left.x[keypoint]);
}

int StaticRegionWatch::FindStill(const StereoFrame& frame) {
  const Features& now = frame.left;
  const Features& before = last_.left;
  by_row_.resize(before.count());
  for (size_t i = 0; i < by_row_.size(); ++i) by_row_[i] = i;
  std::sort(by_row_.begin(), by_row_.end(),
            [&](size_t a, size_t b) { return before.y[a] != before.y[b] ? before.y[a] < before.y[b] : a < b; });
  still_.assign(now.count(), -1);
  int count = 0;
  for (size_t i = 0; i < now.count(); ++i) {
    if (!IsNear(frame, i)) continue;
    const float radius = kStillPx * frame.scale[static_cast<size_t>(now.octave[i])];
    int best = kSameBits + 1;
    auto at = std::lower_bound(by_row_.begin(), by_row_.end(), now.y[i] - radius,
                               [&](size_t k, float y) { return before.y[k] < y; });
    for (; at != by_row_.end() && before.y[*at] <= now.y[i] + radius; ++at) {
      if (std::abs(before.x[*at] - now.x[i]) > radius || before.octave[*at] != now.octave[i] || !IsNear(last_, *at)) {
        continue;
      }
      const int bits = BitsThatDiffer(DescriptorOf(now, i), DescriptorOf(before, *at), now.descriptor_bytes);
      if (bits >= best) continue;
      best = bits;
      still_[i] = static_cast<int32_t>(*at);
    }
    count += still_[i] >= 0 ? 1 : 0;
  }
  return count;
}

bool StaticRegionWatch::FindMotion(const StereoFrame& frame, Pose* motion) {
  moves_.clear();
  moving_.clear();
  const Features& now = frame.left;
  const Features& before = last_.left;
  MatchOptions options;
  options.cross_check = true;
  options.ratio = kRatio;
  const DescriptorView query{now.descriptors.data(), static_cast<int>(now.count()), now.descriptor_bytes};
  const DescriptorView train{before.descriptors.data(), static_cast<int>(before.count()), before.descriptor_bytes};
  front_end_->Match({query, train, {}, {}}, options, &matches_);
  for (size_t i = 0; i < now.count(); ++i) {
    if (matches_.index[i] == kNoMatch || still_[i] >= 0 || !IsNear(frame, i)) continue;
    const auto from = static_cast<size_t>(matches_.index[i]);
    const float radius = kStillPx * frame.scale[static_cast<size_t>(now.octave[i])];
    const bool is_still =
        std::abs(before.x[from] - now.x[i]) <= radius && std::abs(before.y[from] - now.y[i]) <= radius;
    Eigen::Vector3d point;
    if (is_still || !IsNear(last_, from) ||
        !Triangulate(camera_, before.x[from], before.y[from], last_.disparity[from], &point)) {
      continue;
    }
    moves_.push_back({point, ObservationOf(frame, i, noise_)});
    moving_.push_back(i);
  }
  if (moves_.size() < kFewestMoving || !solver_.Find(camera_, moves_, kFewestMoving, motion)) return false;
  solver_.Refine(camera_, moves_, motion, &fit_);
  return fit_.inliers >= kFewestMoving;
}

bool StaticRegionWatch::FindStatic(const StereoFrame& frame, const Pose& motion) {
  still_disparities_.clear();
  moving_disparities_.clear();
  for (size_t k = 0; k < moving_.size(); ++k) {
    if (fit_.is_inlier[k] != 0) moving_disparities_.push_back(frame.disparity[moving_[k]]);
  }
  for (size_t i = 0; i < still_.size(); ++i) {
    if (still_[i] < 0) continue;
    const auto from = static_cast<size_t>(still_[i]);
    Eigen::Vector3d point;
    if (!Triangulate(camera_, last_.left.x[from], last_.left.y[from], last_.disparity[from], &point)) continue;
    const Eigen::Vector3d moved = motion * point;
    const Eigen::Vector2d at(frame.left.x[i], frame.left.y[i]);
    // What would have passed the camera contradicts it, too.
    if (moved.z() > 0.01 && (Project(camera_, moved).left - at).norm() <
                                kContradictionPx * frame.scale[static_cast<size_t>(frame.left.octave[i])]) {
      continue;
    }
    is_static_[i] = 1;
    still_disparities_.push_back(frame.disparity[i]);
  }
  if (still_disparities_.size() >= kFewestStill &&
      Quantile(0.25, &still_disparities_) > Quantile(0.75, &moving_disparities_)) {
    return true;
  }
  std::fill(is_static_.begin(), is_static_.end(), 0);
  return false;
}

void StaticRegionWatch::CountCells(const StereoFrame& frame) {
  static_here_.fill(0);
  moving_here_.fill(0);
  for (size_t i = 0; i < is_static_.size(); ++i) static_here_[CellOf(frame, i)] += is_static_[i];
  for (size_t k = 0; k < moving_.size(); ++k) moving_here_[CellOf(frame, moving_[k])] += fit_.is_inlier[k];
  for (size_t c = 0; c < seen_.size(); ++c) {
    if (moving_here_[c] > static_here_[c]) seen_[c] = 0;
    if (static_here_[c] > 3 * moving_here_[c] && seen_[c] < kSure) ++seen_[c];
  }
}

std::vector<Warning> StaticRegionWatch::Warnings() const {
  int low[2] = {kCells, kCells}, high[2] = {-1, -1};  // column, row
  for (int c = 0; c < kCells * kCells; ++c) {
    if (seen_[static_cast<size_t>(c)] < kSure) continue;
    const int at[2] = {c % kCells, c / kCells};
    for (int i = 0; i < 2; ++i) {
      low[i] = std::min(low[i], at[i]);
      high[i] = std::max(high[i], at[i]);
    }
  }
  if (high[0] < 0) return {};
  const int last[2] = {std::min((high[0] + 1) * cell_, camera_.image.width) - 1,
                       std::min((high[1] + 1) * cell_, camera_.image.height) - 1};
  return {
      {WarningKind::kStaticRegion, left_out_share_, "1",
       absl::StrFormat("a region within rows %d to %d, columns %d to %d does not move while the rest does, as a part "
                       "of the vehicle: its %.0f %% of the keypoints are left out",
                       low[1] * cell_, last[1], low[0] * cell_, last[0], 100 * left_out_share_)}};
}

}  // namespace glint::slam
