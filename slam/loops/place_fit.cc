#include "slam/loops/place_fit.h"

#include <cstddef>

namespace glint::slam {
namespace {

constexpr float kRatio = 0.9f;
constexpr float kRadius = 8;           // pixels of the level
constexpr double kLeastDisparity = 1;  // pixels: farther points do not tell where the camera is
constexpr int kFewest = 15;            // inliers that are worth a second look

}  // namespace

void PlaceFitter::Match(const View& view, float ratio) {
  MatchOptions options;
  options.cross_check = true;
  options.max_distance = kMaxPointBits;
  options.ratio = ratio;
  const DescriptorView train{view.descriptors.data(), static_cast<int>(view.keypoints.size()), view.descriptor_bytes};
  matcher_.Match(query_.InputFor(train, {x_.data(), y_.data(), octave_.data(), nullptr}), options, &matches_);
  sights_.clear();
  for (size_t q = 0; q < query_.count(); ++q) {
    if (matches_.index[q] == kNoMatch) continue;
    sights_.push_back({points_[query_.name(q)], view.SightOf(static_cast<size_t>(matches_.index[q]), errors_)});
  }
}

bool PlaceFitter::Fit(const StereoCamera& camera, const LevelScales& scales, const View& known, const View& view,
                      int min_inliers, PlaceFit* fit) {
  *fit = {};
  if (known.keypoints.empty() || view.keypoints.empty() || known.descriptor_bytes != view.descriptor_bytes) {
    return false;
  }
  std::vector<size_t> usable;
  points_.assign(known.keypoints.size(), Eigen::Vector3d::Zero());
  for (size_t i = 0; i < known.keypoints.size(); ++i) {
    const ViewKeypoint& k = known.keypoints[i];
    if (k.is_stereo == 0 || k.disparity < kLeastDisparity || !Triangulate(camera, k.x, k.y, k.disparity, &points_[i])) {
      continue;
    }
    usable.push_back(i);
  }
  x_.clear();
  y_.clear();
  octave_.clear();
  for (const ViewKeypoint& k : view.keypoints) {
    x_.push_back(k.x);
    y_.push_back(k.y);
    octave_.push_back(k.octave);
  }
  const auto look_of = [&](size_t i) {
    return PointQuery::Point{points_[i], known.descriptor(i), known.keypoints[i].octave, points_[i].norm()};
  };
  query_.Clear(known.descriptor_bytes);
  for (const size_t i : usable) query_.Ask(i, look_of(i));
  if (query_.count() == 0) return false;
  Match(view, kRatio);
  Pose pose;
  if (!solver_.Find(camera, sights_, kFewest, &pose)) return false;
  solver_.Refine(camera, sights_, &pose, &refined_);

  query_.Clear(known.descriptor_bytes);
  for (const size_t i : usable) query_.AskNear(i, look_of(i), camera, pose, scales, kRadius);
  if (query_.count() == 0) return false;
  Match(view, 0);
  solver_.Refine(camera, sights_, &pose, &refined_);
  fit->view_from_known = pose;
  fit->matches = static_cast<int>(sights_.size());
  fit->inliers = refined_.inliers;
  fit->covariance = refined_.covariance;
  for (size_t i = 0; i < sights_.size(); ++i) {
    if (refined_.is_inlier[i] == 0) continue;
    fit->mean_error += (Project(camera, pose * sights_[i].point).left - sights_[i].sight.pixel.left).norm();
  }
  if (refined_.inliers > 0) fit->mean_error /= refined_.inliers;
  return refined_.inliers >= min_inliers;
}

}  // namespace glint::slam
