#include "slam/odometry/pose_finder.h"

#include <algorithm>

namespace glint::slam {
namespace {

constexpr float kFirstRadius = 15;     // pixels of the level, around the prediction
constexpr float kMaxRadiusFactor = 3;  // times kFirstRadius: after a gap, and before the prediction is given up
constexpr int64_t kFirstQueried = 2;   // keyframes: points that none of these sees are not matched at first
constexpr int64_t kTrial = 6;          // keyframes in which a new point must be seen again to be matched further on
constexpr float kSecondRadius = 5;     // around the projection by the fitted pose
constexpr double kMaxPatchSigma = 3;   // standard deviations of a corner, from it to where its patch is
constexpr float kRatio = 0.9f;

PointQuery::Point AppearanceOf(const Landmark& point) {
  return {point.position, point.descriptor.data(), point.octave, point.distance};
}

}  // namespace

bool PoseFinder::Find(const FrameContext& context, const PosePrediction& prediction, Pose* camera_from_world,
                      FrameMatches* matches) {
  matches->Clear();
  // A map that was made by another front end fits nothing.
  const std::vector<Landmark>& points = context.map.points;
  const size_t bytes = points.empty() ? 0 : points.front().descriptor.size();
  if (bytes != static_cast<size_t>(context.frame.left.descriptor_bytes)) return false;
  Pose pose = prediction.camera_from_world;
  if (!FindCoarsely(context, prediction, &pose, matches)) {
    matches->Clear();
    return false;
  }
  const Pose near = pose;
  MatchNear(context, pose, kSecondRadius, /*all=*/true, matches);
  FollowPatches(context, matches);
  Refine(context, &pose, matches);
  if (matches->fit.inliers < min_inliers_) {
    // After a gap near points are seen from elsewhere, where the errors of their depths show: they disagree by more
    // than a patch's error, but not by more than a corner's.
    pose = near;
    MatchNear(context, pose, kSecondRadius, /*all=*/true, matches);
    Refine(context, &pose, matches);
  }
  if (matches->fit.inliers < min_inliers_) return false;
  *camera_from_world = pose;
  return true;
}

bool PoseFinder::FindCoarsely(const FrameContext& context, const PosePrediction& prediction, Pose* pose,
                              FrameMatches* matches) {
  const auto find = [&] { return solver_.Find(context.camera, matches->correspondences, min_inliers_ / 2, pose); };
  if (prediction.is_known) {
    const double factor = std::clamp(prediction.uncertainty, 1.0, static_cast<double>(kMaxRadiusFactor));
    MatchNear(context, *pose, kFirstRadius * static_cast<float>(factor), /*all=*/false, matches);
    Refine(context, pose, matches);
    if (matches->fit.inliers >= min_inliers_) return true;
    *pose = prediction.camera_from_world;
    MatchNear(context, *pose, kFirstRadius * kMaxRadiusFactor, /*all=*/true, matches);
    if (find()) Refine(context, pose, matches);
    if (matches->fit.inliers >= min_inliers_) return true;
  }
  MatchEverywhere(context, matches);
  if (!find()) return false;
  Refine(context, pose, matches);
  return true;
}

void PoseFinder::Refine(const FrameContext& context, Pose* pose, FrameMatches* matches) {
  solver_.Refine(context.camera, matches->correspondences, pose, &matches->fit);
}

void PoseFinder::MatchNear(const FrameContext& context, const Pose& pose, float radius, bool all,
                           FrameMatches* matches) {
  query_.Clear(context.frame.left.descriptor_bytes);
  const LevelScales scales{context.frame.levels, context.frame.scale};
  const std::vector<Landmark>& points = context.map.points;
  const int64_t newest = context.map.keyframes.back().id;
  for (size_t i = 0; i < points.size(); ++i) {
    const std::vector<Landmark::KeyframeObservation>& observations = points[i].observations;
    const int64_t age = newest - observations.back().keyframe;
    if (all ? age >= kTrial && observations.size() == 1 : age >= kFirstQueried) continue;
    query_.AddProjected(i, AppearanceOf(points[i]), context.camera, pose, scales, radius);
  }
  MatchQueries(context, /*ratio=*/0, matches);
}

void PoseFinder::MatchEverywhere(const FrameContext& context, FrameMatches* matches) {
  query_.Clear(context.frame.left.descriptor_bytes);
  const std::vector<Landmark>& points = context.map.points;
  for (size_t i = 0; i < points.size(); ++i) query_.Add(i, AppearanceOf(points[i]));
  MatchQueries(context, kRatio, matches);
}

void PoseFinder::MatchQueries(const FrameContext& context, float ratio, FrameMatches* matches) {
  matches->correspondences.clear();
  matches->keypoint.clear();
  matches->landmark.clear();
  const Features& f = context.frame.left;
  if (f.count() == 0 || query_.count() == 0) return;
  MatchOptions options;
  options.cross_check = true;
  options.max_distance = kMaxPointBits;
  options.ratio = ratio;
  const DescriptorView train{f.descriptors.data(), static_cast<int>(f.count()), f.descriptor_bytes};
  front_end_->Match(query_.InputFor(train, {f.x.data(), f.y.data(), f.octave.data(), nullptr}), options, &result_);
  for (size_t q = 0; q < query_.count(); ++q) {
    if (result_.index[q] == kNoMatch) continue;
    const auto keypoint = static_cast<size_t>(result_.index[q]);
    const Eigen::Vector3d& position = context.map.points[query_.name(q)].position;
    matches->correspondences.push_back({position, ObservationOf(context.frame, keypoint, noise_)});
    matches->keypoint.push_back(keypoint);
    matches->landmark.push_back(query_.name(q));
  }
}

void PoseFinder::FollowPatches(const FrameContext& context, FrameMatches* matches) {
  auto& [correspondence, x, y, to_x, to_y, is_followed] = following_;
  following_.Clear();
  for (size_t i = 0; i < matches->correspondences.size(); ++i) {
    const Landmark::KeyframeObservation& before = context.map.points[matches->landmark[i]].observations.back();
    if (before.keyframe != context.reference_keyframe) continue;
    const Eigen::Vector2d& from = before.observation.pixel.left;
    const Eigen::Vector2d& to = matches->correspondences[i].observation.pixel.left;
    correspondence.push_back(i);
    x.push_back(static_cast<float>(from.x()));
    y.push_back(static_cast<float>(from.y()));
    to_x.push_back(static_cast<float>(to.x()));
    to_y.push_back(static_cast<float>(to.y()));
  }
  if (correspondence.empty()) return;
  front_end_->Follow(x, y, &to_x, &to_y, &is_followed);
  for (size_t k = 0; k < correspondence.size(); ++k) {
    if (is_followed[k] == 0) continue;
    Observation& observation = matches->correspondences[correspondence[k]].observation;
    const Eigen::Vector2d found(to_x[k], to_y[k]);
    if ((found - observation.pixel.left).norm() > kMaxPatchSigma * observation.position_sigma) continue;
    observation.pixel.left = found;
    observation.position_sigma = noise_.followed;
  }
}

}  // namespace glint::slam
