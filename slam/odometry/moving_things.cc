#include "slam/odometry/moving_things.h"

#include <algorithm>
#include <utility>

#include "slam/inertial/rotation_vector.h"

namespace glint::slam {
namespace {

constexpr int kFewest = 10;        // proven points that can judge, and
constexpr int kFewestInliers = 6;  // those that must agree; and of all points
constexpr int kFewestOfGroup = 15;
constexpr double kSurprisingPx = 6;    // from the prediction to a pose that may be a thing's, not the world's
constexpr int kAlert = 30;             // frames: as long may a thing be in view unseen,
constexpr double kAlertSeconds = 3;    // at most
constexpr double kLeastShare = 0.1;    // of inliers that are proven, meanwhile
constexpr double kMoreProven = 1.5;    // times as many proven points, and
constexpr double kMoreByCount = 4;     // beyond that so many while no thing is known, decide;
constexpr double kLeastProven = 0.25;  // below, their motion is not compared with what was expected
constexpr double kMoreExpected = 2;    // times as near to the prediction, and
constexpr double kNearerPx = 0.5;      // nearer by this, decides then
constexpr double kFarLess = 0.3;       // times the share of new points that agree
// Likewise. Of right poses of EuRoC's V1_01, with gaps of seconds, 0.11 at least, and 0.23 where ten and more would
// agree; of boards that cut in ahead 0.04 at most.
constexpr double kNextToNone = 0.05;

int CountOf(const std::vector<uint8_t>& is_proven, const std::vector<uint8_t>& is_inlier) {
  int count = 0;
  for (size_t i = 0; i < is_proven.size(); ++i) count += is_proven[i] != 0 && is_inlier[i] != 0 ? 1 : 0;
  return count;
}

int CountOf(const std::vector<uint8_t>& marks) {
  return static_cast<int>(std::count_if(marks.begin(), marks.end(), [](uint8_t m) { return m != 0; }));
}

// How far the projections of a point by two poses are apart, pixels; -1: it is not before both cameras.
double DistanceOf(const StereoCamera& camera, const Pose& a, const Pose& b, const Eigen::Vector3d& point) {
  const Eigen::Vector3d by_a = a * point, by_b = b * point;
  if (by_a.z() <= 0 || by_b.z() <= 0) return -1;
  return (ProjectLeft(camera, by_a) - ProjectLeft(camera, by_b)).norm();
}

}  // namespace

bool Agrees(const StereoCamera& camera, const Pose& camera_from_world, const Correspondence& c, double loose) {
  const Eigen::Vector3d p = camera_from_world * c.point;
  return p.z() > 0 && SquaredResidual(Project(camera, p), c.observation) <= loose * MaxSquaredResidual(c.observation);
}

void MovingThings::CountFrame(double seconds) {
  alert_seconds_ -= seconds;
  alert_ = alert_ > 0 && alert_seconds_ > 0 ? alert_ - 1 : 0;
}

bool MovingThings::IsOfNewPoints(const std::vector<uint8_t>& is_proven, const std::vector<uint8_t>& is_inlier,
                                 bool is_known) const {
  const double proven = CountOf(is_proven), proven_inliers = CountOf(is_proven, is_inlier);
  const double fresh = static_cast<double>(is_proven.size()) - proven;
  const double fresh_inliers = CountOf(is_inlier) - proven_inliers;
  if (is_suspicious_ && !is_known && proven_inliers < kLeastShare * CountOf(is_inlier)) return true;
  return proven >= kFewest && proven_inliers * fresh < kFarLess * fresh_inliers * proven;
}

bool MovingThings::LeavesOutProven(const Shares& s) {
  const double expected = s.fresh == 0 ? 0 : static_cast<double>(s.fresh_inliers) * s.proven / s.fresh;
  return expected >= kFewest && s.proven_inliers < kNextToNone * expected;
}

void MovingThings::Suspect() {
  alert_ = kAlert;
  alert_seconds_ = kAlertSeconds;
  is_suspicious_ = true;
}

MovingThings::Verdict MovingThings::Judge(const Frame& frame, Pose* camera_from_world, PoseFit* fit) {
  const int of = CountOf(frame.is_proven), proven = CountOf(frame.is_proven, fit->is_inlier);
  if (of < kFewest) return Verdict::kOneMotion;
  const auto is_off_prediction = [&](double px) {
    return IsApart(frame, *camera_from_world, frame.prediction, fit->is_inlier, px);
  };
  // What the proven points say alone. No other motion is rather the world's, whatever it is, if it can neither have
  // as many more of them nor be as much nearer to the prediction.
  is_marked_ = frame.is_proven;
  if ((of > kMoreProven * proven || is_off_prediction(kNearerPx)) && FitsAnother(frame, *camera_from_world, *fit) &&
      IsRather(frame, *camera_from_world, *fit, proven)) {
    return Replace(camera_from_world, fit);
  }
  // What all say that do not agree.
  if (proven >= frame.least_share * of && !is_off_prediction(kSurprisingPx)) return Verdict::kOneMotion;
  for (size_t i = 0; i < is_marked_.size(); ++i) is_marked_[i] = fit->is_inlier[i] == 0 ? 1 : 0;
  if (!FitsAnother(frame, *camera_from_world, *fit)) return Verdict::kOneMotion;
  if (IsRather(frame, *camera_from_world, *fit, proven)) return Replace(camera_from_world, fit);
  if (group_.proven < kFewestInliers || kMoreProven * group_.proven < proven) return Verdict::kOneMotion;
  if (2 * CountOf(group_.fit.is_inlier, fit->is_inlier) > group_.fit.inliers)
    return Verdict::kOneMotion;  // hardly another
  const Pose between = *camera_from_world * group_.pose.Inverse();
  Eigen::Matrix<double, 6, 1> difference;
  difference << RotationVectorOf(between.rotation), between.translation;
  fit->covariance += difference * difference.transpose();
  return Verdict::kUnclear;
}

MovingThings::Verdict MovingThings::Replace(Pose* camera_from_world, PoseFit* fit) {
  *camera_from_world = group_.pose;
  std::swap(*fit, group_.fit);
  Suspect();
  return Verdict::kReplaced;
}

bool MovingThings::FitsAnother(const Frame& frame, const Pose& pose, const PoseFit& fit) {
  return FitGroup(frame) && (IsApart(frame, group_.pose, pose, group_.fit.is_inlier, frame.same_px) ||
                             IsApart(frame, group_.pose, pose, fit.is_inlier, frame.same_px));
}

bool MovingThings::FitGroup(const Frame& frame) {
  group_.pose = frame.prediction;
  for (int round = 0; round < 2; ++round) {
    Mark(frame, is_marked_);
    if (static_cast<int>(subset_.size()) < kFewestInliers) return false;
    solver_.Refine(frame.camera, subset_, &group_.pose, &group_.fit, frame.prior);
    if (group_.fit.inliers < kFewestInliers) return false;
    for (size_t i = 0; i < is_marked_.size(); ++i) {
      is_marked_[i] = Agrees(frame.camera, group_.pose, frame.correspondences[i], 1) ? 1 : 0;
    }
  }
  group_.fit.is_inlier = is_marked_;
  group_.fit.inliers = CountOf(is_marked_);
  group_.proven = CountOf(frame.is_proven, is_marked_);
  return group_.fit.inliers >= kFewestOfGroup;
}

void MovingThings::Mark(const Frame& frame, const std::vector<uint8_t>& is_marked) {
  subset_.clear();
  for (size_t i = 0; i < is_marked.size(); ++i) {
    if (is_marked[i] != 0) subset_.push_back(frame.correspondences[i]);
  }
}

double MovingThings::Distance(const Frame& frame, const Pose& a, const Pose& b, const std::vector<uint8_t>& is_inlier) {
  distances_.clear();
  for (size_t i = 0; i < is_inlier.size(); ++i) {
    if (is_inlier[i] == 0) continue;
    const double distance = DistanceOf(frame.camera, a, b, frame.correspondences[i].point);
    if (distance >= 0) distances_.push_back(distance);
  }
  if (distances_.empty()) return 0;
  const auto middle = distances_.begin() + static_cast<ptrdiff_t>(distances_.size() / 2);
  std::nth_element(distances_.begin(), middle, distances_.end());
  return *middle;
}

bool MovingThings::IsApart(const Frame& frame, const Pose& a, const Pose& b, const std::vector<uint8_t>& is_inlier,
                           double px) {
  // The median is larger if at least half of all are; once half of those that there can be are or are not, that is
  // known.
  const int most = CountOf(is_inlier);
  int farther = 0, nearer = 0;
  for (size_t i = 0; i < is_inlier.size() && 2 * farther < most && 2 * nearer <= most; ++i) {
    if (is_inlier[i] == 0) continue;
    const double distance = DistanceOf(frame.camera, a, b, frame.correspondences[i].point);
    if (distance < 0) continue;
    ++(distance > px ? farther : nearer);
  }
  return farther > 0 && farther >= nearer;
}

bool MovingThings::IsRather(const Frame& frame, const Pose& pose, const PoseFit& fit, int proven) {
  if (group_.proven < kFewestInliers || group_.proven < kLeastProven * proven) return false;
  const double surprise = Distance(frame, group_.pose, frame.prediction, group_.fit.is_inlier);
  const double other = Distance(frame, pose, frame.prediction, fit.is_inlier);
  const bool is_expected = kMoreExpected * surprise < other && surprise + kNearerPx < other;
  // Where the prediction is wrong, one world's points fit several poses badly.
  return is_expected ||
         (surprise <= kSurprisingPx && group_.proven > kMoreProven * proven + (is_alert() ? 0 : kMoreByCount));
}

}  // namespace glint::slam
