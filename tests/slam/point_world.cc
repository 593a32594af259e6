#include "tests/slam/point_world.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace glint::slam {
namespace {

constexpr size_t kBytes = 32;
constexpr double kPointsByMetre = 15;

}  // namespace

PointWorld::PointWorld(const StereoCamera& camera, double length, uint32_t seed) : camera_(camera), random_(seed) {
  std::uniform_real_distribution<double> share(0, 1);
  const auto count = static_cast<size_t>(kPointsByMetre * (length + 70));
  for (size_t i = 0; i < count; ++i) {
    const double side = share(random_) < 0.5 ? -1 : 1;
    points_.emplace_back(side * (3 + 9 * share(random_)), 1.6 - 5 * share(random_),
                         share(random_) * (length + 70) - 10);
  }
  MakeDescriptors();
}

PointWorld::PointWorld(const StereoCamera& camera, std::vector<Eigen::Vector3d> points, uint32_t seed)
    : camera_(camera), random_(seed), points_(std::move(points)) {
  MakeDescriptors();
}

void PointWorld::MakeDescriptors() {
  for (size_t b = descriptors_.size(); b < kBytes * points_.size(); ++b) {
    descriptors_.push_back(static_cast<uint8_t>(random_()));
  }
}

void PointWorld::PutThing(const std::vector<Eigen::Vector3d>& points) {
  points_.resize(points_.size() - of_thing_);
  points_.insert(points_.end(), points.begin(), points.end());
  of_thing_ = points.size();
  MakeDescriptors();
}

Eigen::AlignedBox2d PointWorld::ThingFrom(const Pose& camera_from_world) const {
  Eigen::AlignedBox2d box;
  for (size_t i = points_.size() - of_thing_; i < points_.size(); ++i) {
    const Eigen::Vector3d p = camera_from_world * points_[i];
    if (p.z() >= 1) box.extend(Project(camera_, p).left);
  }
  return box;
}

void PointWorld::Repeat(size_t points) {
  const size_t kinds = points_.size() / points;
  for (size_t i = kinds; i < points_.size(); ++i) MakeAlike(i % kinds, i);
}

void PointWorld::MakeAlike(size_t first, size_t second) {
  std::copy_n(descriptors_.begin() + static_cast<ptrdiff_t>(first * kBytes), kBytes,
              descriptors_.begin() + static_cast<ptrdiff_t>(second * kBytes));
}

std::vector<size_t> PointWorld::Chosen(const Pose& camera_from_world, const ImageView& mask) {
  std::vector<size_t> chosen;
  const Eigen::AlignedBox2d thing = ThingFrom(camera_from_world);
  for (size_t i = 0; i < points_.size(); ++i) {
    const Eigen::Vector3d p = camera_from_world * points_[i];
    if (p.z() < 1 || p.z() > farthest_) continue;
    const Eigen::Vector2d at = Project(camera_, p).left;
    if (at.x() < 20 || at.y() < 20 || at.x() > camera_.image.width - 20 || at.y() > camera_.image.height - 20 ||
        (i < points_.size() - of_thing_ && thing.contains(at)) ||
        (!mask.empty() && mask.row(static_cast<int>(at.y()))[static_cast<int>(at.x())] == 0)) {
      continue;
    }
    chosen.push_back(i);
  }
  if (chosen.size() <= most_) return chosen;
  // The first bytes of a descriptor are as good as any strength.
  const auto strength = [this](size_t i) { return 256 * descriptors_[i * kBytes] + descriptors_[i * kBytes + 1]; };
  std::sort(chosen.begin(), chosen.end(),
            [&](size_t a, size_t b) { return std::pair(strength(a), a) < std::pair(strength(b), b); });
  chosen.resize(most_);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

void PointWorld::See(const Pose& camera_from_world, bool closed, const ImageView& mask, StereoFrame* frame) {
  *frame = {};
  frame->levels = 1;
  frame->scale[0] = 1;
  now_.is_there.assign(points_.size(), 0);
  now_.at.assign(points_.size(), Eigen::Vector2d::Zero());
  now_.by_keypoint.clear();
  Features& f = frame->left;
  f.descriptor_bytes = static_cast<int>(kBytes);
  if (closed) return;
  for (const size_t i : Chosen(camera_from_world, mask)) {
    const StereoPixel pixel = Project(camera_, camera_from_world * points_[i]);
    now_.is_there[i] = 1;
    now_.at[i] = pixel.left;
    // Corners are whole pixels.
    f.x.push_back(static_cast<float>(std::lround(pixel.left.x() + Noise())));
    f.y.push_back(static_cast<float>(std::lround(pixel.left.y() + Noise())));
    now_.by_keypoint.emplace(std::pair(f.x.back(), f.y.back()), i);
    f.size.push_back(31);
    f.angle.push_back(0);
    f.response.push_back(1);
    f.octave.push_back(0);
    f.descriptors.insert(f.descriptors.end(), descriptors_.begin() + static_cast<ptrdiff_t>(i * kBytes),
                         descriptors_.begin() + static_cast<ptrdiff_t>((i + 1) * kBytes));
    for (int flip = 0; flip < flips_; ++flip) {
      const auto bit = static_cast<size_t>(random_() % (8 * kBytes));
      f.descriptors[f.descriptors.size() - kBytes + bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
    }
    const bool is_stereo = pixel.disparity > 0.5;
    frame->is_stereo.push_back(is_stereo ? 1 : 0);
    frame->disparity.push_back(is_stereo ? static_cast<float>(pixel.disparity + Noise()) : 0);
    frame->vertical_disparity.push_back(is_stereo ? static_cast<float>(pixel.vertical_disparity + Noise()) : 0);
  }
}

absl::Status PointWorld::Find(const PixelPair& pair, StereoFrame* frame) {
  See(world_from_camera_.Inverse(), closed_ || left_closed_, pair.left_mask.view, frame);
  return absl::OkStatus();
}

absl::Status PointWorld::FindOne(const Pixels&, const ImageView& mask, StereoFrame* frame) {
  const Pose left_from_world = world_from_camera_.Inverse();
  See(left_closed_ ? RightFromLeft(camera_) * left_from_world : left_from_world, closed_, mask, frame);
  ClearStereo(frame);
  return absl::OkStatus();
}

void PointWorld::Follow(const std::vector<float>& x, const std::vector<float>& y, std::vector<float>* to_x,
                        std::vector<float>* to_y, std::vector<uint8_t>* is_followed) {
  is_followed->assign(x.size(), 0);
  for (size_t k = 0; k < x.size(); ++k) {
    // The point whose kept place, and whose keypoint now, are these.
    const auto [first, last] = now_.by_keypoint.equal_range({(*to_x)[k], (*to_y)[k]});
    for (auto near = first; near != last; ++near) {
      const size_t i = near->second;
      if (reference_.is_there[i] == 0 || std::abs(reference_.at[i].x() - x[k]) > 2 ||
          std::abs(reference_.at[i].y() - y[k]) > 2) {
        continue;
      }
      (*is_followed)[k] = 1;
      (*to_x)[k] = static_cast<float>(x[k] + now_.at[i].x() - reference_.at[i].x() + Noise() / 2);
      (*to_y)[k] = static_cast<float>(y[k] + now_.at[i].y() - reference_.at[i].y() + Noise() / 2);
      break;
    }
  }
}

void PointWorld::Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) {
  matcher_.Match(input, options, result);
}

}  // namespace glint::slam
