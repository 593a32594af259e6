#include "slam/loops/place_fit.h"

#include <cstddef>

namespace glint::slam {
namespace {

constexpr float kRatio = 0.9f;
constexpr float kRadius = 8;           // pixels of the level
constexpr double kLeastDisparity = 1;  // pixels: farther points do not constrain the position
constexpr int kFewest = 15;            // inliers of a pose that is worth refining

}  // namespace

void PlaceFitter::Match(const KeyframeFeatures& query, float ratio) {
  MatchOptions options;
  options.cross_check = true;
  options.max_distance = kMaxPointBits;
  options.ratio = ratio;
  const DescriptorView train{query.descriptors.data(), static_cast<int>(query.keypoints.size()),
                             query.descriptor_bytes};
  matcher_.Match(query_.InputFor(train, {x_.data(), y_.data(), octave_.data(), nullptr}), options, &matches_);
  correspondences_.clear();
  for (size_t q = 0; q < query_.count(); ++q) {
    if (matches_.index[q] == kNoMatch) continue;
    correspondences_.push_back(
        {points_[query_.name(q)], query.ObservationOf(static_cast<size_t>(matches_.index[q]), noise_)});
  }
}

bool PlaceFitter::Fit(const StereoCamera& camera, const LevelScales& scales, const KeyframeFeatures& match,
                      const KeyframeFeatures& query, int min_inliers, PlaceFit* fit) {
  *fit = {};
  if (match.keypoints.empty() || query.keypoints.empty() || match.descriptor_bytes != query.descriptor_bytes) {
    return false;
  }
  std::vector<size_t> usable;
  points_.assign(match.keypoints.size(), Eigen::Vector3d::Zero());
  for (size_t i = 0; i < match.keypoints.size(); ++i) {
    const KeyframeKeypoint& k = match.keypoints[i];
    if (k.is_stereo == 0 || k.disparity < kLeastDisparity || !Triangulate(camera, k.x, k.y, k.disparity, &points_[i])) {
      continue;
    }
    usable.push_back(i);
  }
  x_.clear();
  y_.clear();
  octave_.clear();
  for (const KeyframeKeypoint& k : query.keypoints) {
    x_.push_back(k.x);
    y_.push_back(k.y);
    octave_.push_back(k.octave);
  }
  const auto appearance_of = [&](size_t i) {
    return PointQuery::Point{points_[i], match.descriptor(i), match.keypoints[i].octave, points_[i].norm()};
  };
  query_.Clear(match.descriptor_bytes);
  for (const size_t i : usable) query_.Add(i, appearance_of(i));
  if (query_.count() == 0) return false;
  Match(query, kRatio);
  Pose pose;
  if (!solver_.Find(camera, correspondences_, kFewest, &pose)) return false;
  solver_.RefineFound(camera, correspondences_, &pose, &refined_);

  query_.Clear(match.descriptor_bytes);
  for (const size_t i : usable) query_.AddProjected(i, appearance_of(i), camera, pose, scales, kRadius);
  if (query_.count() == 0) return false;
  Match(query, 0);
  solver_.Refine(camera, correspondences_, &pose, &refined_);
  fit->query_from_match = pose;
  fit->matches = static_cast<int>(correspondences_.size());
  fit->inliers = refined_.inliers;
  fit->covariance = refined_.covariance;
  return refined_.inliers >= min_inliers;
}

}  // namespace glint::slam
