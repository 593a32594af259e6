#include "slam/odometry/pose_finder.h"

#include <algorithm>
#include <cmath>

#include "features/trigonometry.h"

namespace glint::slam {
namespace {

constexpr int kRungs = 6, kWithoutPrediction = 2;  // of the ladder; the first of those that need no prediction
constexpr float kFirstRadius = 15;                 // pixels of the level, around the prediction
constexpr float kMaxRadiusFactor = 3;              // times kFirstRadius: after a gap
constexpr double kMaxForeseen = 1.5;               // steps ahead: what is expected farther may be anything
constexpr float kWideRadius = 45;                  // before the prediction, or the last pose, is given up
constexpr float kWidestRadius = 180;
constexpr int64_t kFirstQueried = 2;  // keyframes: points that none of these sees are not matched at first
constexpr int64_t kTrial = 6;         // keyframes in which a new point must be seen again to be matched further on
constexpr size_t kPointsAhead = 12;   // points are fetched from memory so long before they are looked at
constexpr float kSecondRadius = 5;    // around the projection by the fitted pose
constexpr float kThirdRadius = 8;     // likewise, where the errors of depths show
constexpr double kMaxPatchSigma = 3;  // standard deviations of a corner, from it to where its patch is
constexpr float kRatio = 0.8f;
// Of the matches near a pose that is found without a prediction, the least share that agree with it. Of 340 single
// pairs, those of a wrong pose were 0.33 to 0.48, of right ones 0.53 to 0.83.
constexpr double kLeastShare = 0.5;
// With fewer the search goes on for a pose that more agree with: nothing tells a window's matches from a second place
// that looks alike. Of EuRoC V1_01, wrong poses by windows had shares of 0.18 to 0.63, right ones that were found
// further on 0.52 to 0.75.
constexpr double kClearShare = 0.6;

// Shares of the points of several keyframes that agree with a pose below which it may be that of a thing that moves. Of
// 230 pairs without one, at the prediction 0.62 or more did, and of patches that were followed from 0.36 to 0.97.
constexpr double kLeastProvenNear = 0.6, kLeastProvenFine = 0.5;
constexpr double kSameNear = 1, kSameFine = 0.5;  // pixels
constexpr double kLoose = 9;                      // times the largest squared residual, near a pose that is not final

// Of a map with fewer keyframes the rig's rotation is not known yet, and a tenth of a degree leaves a quarter of the
// matches in agreement: such a pose is taken if there is no better one.
constexpr size_t kCalibrated = 6;

bool IsShare(double share, const FrameMatches& matches) {
  return matches.fit.inliers >= share * static_cast<double>(matches.correspondences.size());
}

// Of the search radius.
float FactorOf(const PosePrediction& prediction) {
  return static_cast<float>(std::clamp(prediction.uncertainty, 1.0, static_cast<double>(kMaxRadiusFactor)));
}

// What is read of a point lies in three places of a map that is larger than a processor's own caches.
void Prefetch(const Landmark& point) {
  __builtin_prefetch(&point.observations.back());
  __builtin_prefetch(point.descriptor.data());
}

PointQuery::Point AppearanceOf(const Landmark& point) {
  return {point.position, point.descriptor.data(), point.octave, point.distance};
}

}  // namespace

int ProvenInliers(const LocalMap& map, const FrameMatches& matches) {
  int count = 0;
  for (size_t i = 0; i < matches.landmark.size(); ++i) {
    count += matches.fit.is_inlier[i] != 0 && map.points[matches.landmark[i]].observations.size() > 1 ? 1 : 0;
  }
  return count;
}

double MeanError(const StereoCamera& camera, const Pose& pose, const FrameMatches& matches) {
  double sum = 0;
  for (size_t i = 0; i < matches.correspondences.size(); ++i) {
    const Correspondence& c = matches.correspondences[i];
    if (matches.fit.is_inlier[i] != 0) sum += (Project(camera, pose * c.point).left - c.observation.pixel.left).norm();
  }
  return sum / matches.fit.inliers;
}

bool PoseFinder::Find(const FrameContext& context, const PosePrediction& prediction, Pose* camera_from_world,
                      FrameMatches* matches) {
  matches->Clear();
  // A map that was made by another front end fits nothing.
  const std::vector<Landmark>& points = context.map.points;
  const size_t bytes = points.empty() ? 0 : points.front().descriptor.size();
  if (bytes != static_cast<size_t>(context.frame.left.descriptor_bytes)) return false;
  const Pose last = *camera_from_world;
  const auto near_prediction = [&](Pose* pose) {
    MatchNear(context, *pose, kFirstRadius * FactorOf(prediction), /*all=*/things_.is_alert(), matches);
    Refine(context, pose, matches);
    LeaveOutMoving(context, prediction.camera_from_world, /*is_fine=*/false, pose, matches);
    return matches->fit.inliers >= LeastNearPrediction();
  };
  const auto within = [&](float radius, Pose* pose) {
    MatchNear(context, *pose, radius, /*all=*/true, matches);
    return FindCoarsely(context, pose, matches);
  };
  const auto anywhere = [&](bool all, Pose* pose) {
    MatchEverywhere(context, all, matches);
    return FindCoarsely(context, pose, matches);
  };
  const auto search = [&](int rung, Pose* pose) {
    if (rung == 0) return near_prediction(pose);
    if (rung < 3) return within(kWideRadius, pose);
    return rung == 4 ? within(kWidestRadius, pose) : anywhere(/*all=*/rung > 4, pose);
  };
  Pose found;
  best_.Clear();
  for (int rung = prediction.is_known ? 0 : kWithoutPrediction; rung < kRungs; ++rung) {
    Pose pose = rung < kWithoutPrediction ? prediction.camera_from_world : last;
    matches->moving.clear();
    matches->is_unclear = false;
    if (!search(rung, &pose)) continue;
    const bool is_coarsely_most = IsShare(kLeastShare, *matches);
    if ((rung > 0 || things_.is_alert()) && IsOfNewPoints(context, *matches, rung == 0)) continue;
    if (!FindFinely(context, rung == 0 ? &prediction.camera_from_world : nullptr, &pose, matches) ||
        matches->fit.inliers <= best_.fit.inliers ||
        (best_.fit.inliers > 0 && ProvenInliers(context.map, *matches) < ProvenInliers(context.map, best_)) ||
        ((rung > 0 || things_.is_alert()) && IsOfNewPoints(context, *matches, rung == 0)))
      continue;
    if (things_.is_alert() && IsSurprising(context, prediction, pose, *matches)) continue;
    if ((rung > 0 || things_.is_alert()) && LeavesOutProven(context, *matches)) {
      things_.Suspect();
      continue;
    }
    // A wrong pose has few, and is not where the camera was expected.
    const bool has_many = matches->fit.inliers >= 2 * min_inliers_, is_most = IsShare(kLeastShare, *matches);
    const bool is_near = rung == kWithoutPrediction && context.map.keyframes.size() < kCalibrated;
    if (rung >= kWithoutPrediction && !is_most && !(is_near && has_many)) continue;
    found = pose;
    std::swap(best_, *matches);
    // Errors of depths may leave few of the patches in agreement with a pose that was expected.
    const bool is_clear =
        rung == 0 ? is_most || (has_many && is_coarsely_most) : has_many && IsShare(kClearShare, best_);
    // Where something moves, the search may go on to find that.
    if (best_.moving.empty() ? is_clear : has_many) break;
  }
  std::swap(best_, *matches);
  if (matches->fit.inliers == 0) return false;
  things_.Located();
  *camera_from_world = found;
  return true;
}

bool PoseFinder::FindCoarsely(const FrameContext& context, Pose* pose, FrameMatches* matches) {
  if (!solver_.Find(context.camera, matches->correspondences, min_inliers_ / 2, pose)) return false;
  WidenByDepths(context, *pose, matches);
  solver_.RefineFound(context.camera, matches->correspondences, pose, &matches->fit, context.prior);
  RestoreObservations(matches);
  return matches->fit.inliers >= min_inliers_ / 2;
}

bool PoseFinder::FindFinely(const FrameContext& context, const Pose* prediction, Pose* pose, FrameMatches* matches) {
  const Pose near = *pose;
  MatchNear(context, *pose, kSecondRadius, /*all=*/true, matches);
  FollowPatches(context, matches);
  if (!matches->moving.empty()) KeepAgreeing(context, *pose, matches);
  if (prediction == nullptr) {
    RefineFromAfar(context, kSecondRadius, pose, matches);
  } else {
    Refine(context, pose, matches);
    // At the sides of the picture the errors of depths show, which the fit leaves out else: with them always, rendered
    // paths of KITTI end up to twice as far off.
    if (matches->fit.inliers < 2 * min_inliers_ && !IsShare(kLeastShare, *matches)) {
      *pose = near;
      WidenByDepths(context, *pose, matches);
      Refine(context, pose, matches);
    }
    LeaveOutMoving(context, *prediction, /*is_fine=*/true, pose, matches);
    FindUncertainty(context, *pose, matches);
    RestoreObservations(matches);
  }
  const auto has_enough = [&] {
    return prediction == nullptr ? matches->telling >= min_inliers_ : matches->fit.inliers >= LeastNearPrediction();
  };
  if (has_enough()) return true;
  // After a gap patches look different.
  *pose = near;
  MatchNear(context, *pose, kThirdRadius, /*all=*/true, matches);
  RefineFromAfar(context, kThirdRadius, pose, matches);
  return has_enough();
}

void PoseFinder::LeaveOutMoving(const FrameContext& context, const Pose& prediction, bool is_fine, Pose* pose,
                                FrameMatches* matches) {
  FindProven(context, *matches);
  is_kept_ = matches->fit.is_inlier;
  const Eigen::Matrix<double, 6, 6> covariance = matches->fit.covariance;
  const MovingThings::Frame frame{context.camera,
                                  matches->correspondences,
                                  is_proven_,
                                  prediction,
                                  context.prior,
                                  is_fine ? kSameFine : kSameNear,
                                  is_fine ? kLeastProvenFine : kLeastProvenNear};
  const MovingThings::Verdict verdict = things_.Judge(frame, pose, &matches->fit);
  if (verdict == MovingThings::Verdict::kUnclear) {
    // Before the rig is known, depths that are wrong look like another motion.
    if (context.map.keyframes.size() < kCalibrated) matches->fit.covariance = covariance;
    matches->is_unclear = matches->is_unclear || context.map.keyframes.size() >= kCalibrated;
  }
  if (verdict != MovingThings::Verdict::kReplaced) return;
  for (size_t i = 0; i < is_kept_.size(); ++i) {
    if (is_kept_[i] != 0 && matches->fit.is_inlier[i] == 0) matches->moving.push_back(matches->keypoint[i]);
  }
  KeepAgreeing(context, *pose, matches);
}

void PoseFinder::KeepAgreeing(const FrameContext& context, const Pose& pose, FrameMatches* matches) {
  size_t kept = 0;
  matches->fit.is_inlier.resize(matches->correspondences.size());
  for (size_t i = 0; i < matches->correspondences.size(); ++i) {
    if (!Agrees(context.camera, pose, matches->correspondences[i], kLoose)) continue;
    if (!exact_.empty()) exact_[kept] = exact_[i];
    matches->correspondences[kept] = matches->correspondences[i];
    matches->fit.is_inlier[kept] = matches->fit.is_inlier[i];
    matches->keypoint[kept] = matches->keypoint[i];
    matches->landmark[kept++] = matches->landmark[i];
  }
  if (!exact_.empty()) exact_.resize(kept);
  matches->correspondences.resize(kept);
  matches->keypoint.resize(kept);
  matches->landmark.resize(kept);
  matches->fit.is_inlier.resize(kept);
}

bool PoseFinder::IsOfNewPoints(const FrameContext& context, const FrameMatches& matches, bool is_expected) {
  FindProven(context, matches);
  return things_.IsOfNewPoints(is_proven_, matches.fit.is_inlier, is_expected && context.knows_moving);
}

bool PoseFinder::IsSurprising(const FrameContext& context, const PosePrediction& prediction, const Pose& pose,
                              const FrameMatches& matches) {
  if (!prediction.is_known || prediction.uncertainty > kMaxForeseen) return false;
  const double most = kWideRadius * FactorOf(prediction);
  int far = 0;
  for (size_t i = 0; i < matches.correspondences.size(); ++i) {
    if (matches.fit.is_inlier[i] == 0) continue;
    const Eigen::Vector3d& point = matches.correspondences[i].point;
    const Eigen::Vector3d found = pose * point, expected = prediction.camera_from_world * point;
    const bool is_near =
        expected.z() > 0 && (ProjectLeft(context.camera, found) - ProjectLeft(context.camera, expected)).norm() <= most;
    far += is_near ? 0 : 1;
  }
  return 2 * far > matches.fit.inliers;
}

bool PoseFinder::LeavesOutProven(const FrameContext& context, const FrameMatches& matches) const {
  const std::vector<Landmark>& points = context.map.points;
  const int64_t newest = context.map.keyframes.back().id;
  MovingThings::Shares shares;
  const auto count = [&](size_t point, int* proven, int* fresh) {
    const std::vector<Landmark::KeyframeObservation>& observations = points[point].observations;
    if (newest - observations.back().keyframe < kFirstQueried) ++(observations.size() > 1 ? *proven : *fresh);
  };
  for (size_t q = 0; q < query_.count(); ++q) count(query_.name(q), &shares.proven, &shares.fresh);
  for (size_t i = 0; i < matches.landmark.size(); ++i) {
    if (matches.fit.is_inlier[i] != 0) count(matches.landmark[i], &shares.proven_inliers, &shares.fresh_inliers);
  }
  return MovingThings::LeavesOutProven(shares);
}

void PoseFinder::FindProven(const FrameContext& context, const FrameMatches& matches) {
  is_proven_.clear();
  for (const size_t p : matches.landmark) {
    is_proven_.push_back(context.map.points[p].observations.size() > 1 ? 1 : 0);
  }
}

bool PoseFinder::Confirm(const FrameContext& context, int min_inliers, Pose* camera_from_world, FrameMatches* matches) {
  Pose pose = *camera_from_world;
  MatchNear(context, pose, kThirdRadius, /*all=*/true, matches);
  RefineFromAfar(context, kThirdRadius, &pose, matches);
  if (matches->fit.inliers < min_inliers || matches->telling < min_inliers_ || !IsShare(kLeastShare, *matches) ||
      IsOfNewPoints(context, *matches, /*is_expected=*/false))
    return false;
  *camera_from_world = pose;
  return true;
}

void PoseFinder::Refine(const FrameContext& context, Pose* pose, FrameMatches* matches) {
  solver_.Refine(context.camera, matches->correspondences, pose, &matches->fit, context.prior);
}

void PoseFinder::FindUncertainty(const FrameContext& context, const Pose& pose, FrameMatches* matches) {
  FitErrors errors(context.camera, pose);
  for (size_t i = 0; i < matches->correspondences.size(); ++i) {
    if (matches->fit.is_inlier[i] == 0) continue;
    const Landmark& point = context.map.points[matches->landmark[i]];
    const Pose& keyframe_from_world =
        context.map.keyframes[context.map.IndexOf(point.observations.back().keyframe)].camera_from_world;
    const double depth = (keyframe_from_world * point.position).z();
    errors.Add(matches->correspondences[i], keyframe_from_world,
               DepthSigma(context.camera, noise_.disparity, depth, point.observations.size()));
  }
  const PoseFit& fit = matches->fit;
  const size_t of = matches->correspondences.size();
  // Where two motions fit, the covariance of the fit covers both.
  matches->uncertainty = errors.Of(matches->is_unclear ? fit.measured_covariance : fit.covariance, of);
  if (matches->is_unclear) matches->uncertainty.covariance += fit.covariance;
}

void PoseFinder::WidenByDepths(const FrameContext& context, const Pose& pose, FrameMatches* matches) {
  exact_.clear();
  const StereoCamera& camera = context.camera;
  for (size_t i = 0; i < matches->correspondences.size(); ++i) {
    auto& [point, observation] = matches->correspondences[i];
    exact_.push_back(observation);
    const Landmark::KeyframeObservation& last = context.map.points[matches->landmark[i]].observations.back();
    const Pose& keyframe_from_world = context.map.keyframes[context.map.IndexOf(last.keyframe)].camera_from_world;
    // A standard deviation of the depth as that keyframe measured it, along its ray.
    const Eigen::Vector3d seen = keyframe_from_world * point;
    const size_t times = context.map.points[matches->landmark[i]].observations.size();
    const double share = DepthSigma(camera, noise_.disparity, seen.z(), times);
    const Eigen::Vector3d here = pose * point;
    const Eigen::Vector3d there = pose * (keyframe_from_world.Inverse() * (seen * (1 + share)));
    if (seen.z() <= 0 || here.z() <= 0 || there.z() <= 0) continue;
    const StereoPixel a = Project(camera, here), b = Project(camera, there);
    observation.position_sigma = RootOfSquares(observation.position_sigma, (a.left - b.left).norm());
    observation.disparity_sigma = RootOfSquares(observation.disparity_sigma, a.disparity - b.disparity);
  }
}

void PoseFinder::RefineFromAfar(const FrameContext& context, double radius, Pose* pose, FrameMatches* matches) {
  WidenByDepths(context, *pose, matches);
  Refine(context, pose, matches);
  FindUncertainty(context, *pose, matches);
  matches->telling = 0;
  for (size_t i = 0; i < exact_.size(); ++i) {
    const Observation& observation = matches->correspondences[i].observation;
    if (matches->fit.is_inlier[i] == 0) continue;
    const double of_level = context.frame.scale[static_cast<size_t>(context.frame.left.octave[matches->keypoint[i]])];
    const double agrees_within = std::sqrt(MaxSquaredResidual(observation)) * observation.position_sigma;
    const double share = agrees_within / (radius * of_level);
    matches->telling += std::max(0.0, 1 - share * share);
  }
  RestoreObservations(matches);
}

void PoseFinder::RestoreObservations(FrameMatches* matches) {
  for (size_t i = 0; i < exact_.size(); ++i) matches->correspondences[i].observation = exact_[i];
  exact_.clear();
}

void PoseFinder::MatchNear(const FrameContext& context, const Pose& pose, float radius, bool all,
                           FrameMatches* matches) {
  query_.Clear(context.frame.left.descriptor_bytes);
  const LevelScales scales{context.frame.levels, context.frame.scale};
  const std::vector<Landmark>& points = context.map.points;
  const int64_t newest = context.map.keyframes.back().id;
  for (size_t i = 0; i < points.size(); ++i) {
    if (i + kPointsAhead < points.size()) Prefetch(points[i + kPointsAhead]);
    const std::vector<Landmark::KeyframeObservation>& observations = points[i].observations;
    const int64_t age = newest - observations.back().keyframe;
    if (all ? age >= kTrial && observations.size() == 1 : age >= kFirstQueried) continue;
    query_.AddProjected(i, AppearanceOf(points[i]), context.camera, pose, scales, radius);
  }
  MatchQueries(context, /*ratio=*/0, matches);
}

void PoseFinder::MatchEverywhere(const FrameContext& context, bool all, FrameMatches* matches) {
  query_.Clear(context.frame.left.descriptor_bytes);
  const std::vector<Landmark>& points = context.map.points;
  const int64_t newest = context.map.keyframes.back().id;
  for (size_t i = 0; i < points.size(); ++i) {
    if (all || points[i].observations.back().keyframe == newest) query_.Add(i, AppearanceOf(points[i]));
  }
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
