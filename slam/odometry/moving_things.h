// Things that move hold many of the keypoints: which of two motions is the camera's.
//
// All points of such a thing agree with one pose, as those of the world do, and may be more. Two facts tell them apart:
// the thing's points are new, as none is found in a second keyframe while poses are right; and where both have been in
// view for long, as with a vehicle that starts, the camera's motion goes on as before. Which of these counts is decided
// by what the points say.
#ifndef GLINT_SLAM_ODOMETRY_MOVING_THINGS_H_
#define GLINT_SLAM_ODOMETRY_MOVING_THINGS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "slam/estimate/local_map.h"
#include "slam/estimate/pose_solver.h"
#include "slam/geometry/pose.h"
#include "slam/geometry/stereo_camera.h"

namespace glint::slam {

// Whether a correspondence's squared residual is at most `loose` times the largest of an inlier.
bool Agrees(const StereoCamera& camera, const Pose& camera_from_world, const Correspondence& c, double loose);

// Keeps its memory from frame to frame. Not thread-safe.
class MovingThings {
 public:
  enum class Verdict {
    kOneMotion,  // nothing speaks against the pose
    kReplaced,   // it was that of a thing; pose and fit are now those of the world
    kUnclear,    // two groups differ, and nothing tells which is the world: the covariance spans both
  };
  struct Frame {
    const StereoCamera& camera;
    const std::vector<Correspondence>& correspondences;
    const std::vector<uint8_t>& is_proven;  // of each: its point was found again in a second keyframe
    const Pose& prediction;                 // of camera_from_world
    const PosePrior* prior;                 // or null
    // Poses whose projections differ by less, pixels, in the median are the same motion.
    double same_px;
    // Other motions are looked for while fewer of the proven points agree with the pose, 0..1.
    double least_share;
  };

  // Points in view of a pose, those that are proven and new ones, and how many of each agree with it.
  struct Shares {
    int proven = 0, proven_inliers = 0;
    int fresh = 0, fresh_inliers = 0;
  };
  // Whether next to none of the proven points agrees, where many would if as large a share did as of the new ones.
  static bool LeavesOutProven(const Shares& shares);

  // Judges a pose that was fitted to the correspondences. It is not doubted where few points are proven.
  Verdict Judge(const Frame& frame, Pose* camera_from_world, PoseFit* fit);
  // Whether proven points agree with a pose far more seldom than new ones; after a thing was seen, and until the camera
  // has been located without it, also whether hardly any does. `is_known`: not the latter, as the pose was expected,
  // and where the thing is, is known.
  bool IsOfNewPoints(const std::vector<uint8_t>& is_proven, const std::vector<uint8_t>& is_inlier, bool is_known) const;
  // Something seems to move.
  void Suspect();
  // To be called before each frame, with the seconds since the one before.
  void CountFrame(double seconds);
  // To be called after each frame that was located.
  void Located() { is_suspicious_ = is_alert(); }
  // A pose was replaced a short time ago, and the thing may still be in view.
  bool is_alert() const { return alert_ > 0; }
  // In another map all points are new.
  void Forget() {
    alert_ = 0;
    is_suspicious_ = false;
  }

 private:
  struct Group {
    Pose pose;
    PoseFit fit;     // to all correspondences
    int proven = 0;  // inliers
  };

  // Fits group_ to those that are marked, from the prediction on, and to all that agree with that. False: too few.
  bool FitGroup(const Frame& frame);
  // Sets subset_ to the correspondences that are marked.
  void Mark(const Frame& frame, const std::vector<uint8_t>& is_marked);
  // Likewise; and whether that is another motion than that of `pose`.
  bool FitsAnother(const Frame& frame, const Pose& pose, const PoseFit& fit);
  // How far the projections of inliers by two poses are apart: their median, pixels.
  double Distance(const Frame& frame, const Pose& a, const Pose& b, const std::vector<uint8_t>& is_inlier);
  // Whether that median is above `px`.
  static bool IsApart(const Frame& frame, const Pose& a, const Pose& b, const std::vector<uint8_t>& is_inlier,
                      double px);
  // Whether group_ is the world rather than `pose` with its inliers, of which `proven` are.
  bool IsRather(const Frame& frame, const Pose& pose, const PoseFit& fit, int proven);
  Verdict Replace(Pose* camera_from_world, PoseFit* fit);

  PoseSolver solver_;
  int alert_ = 0;             // frames; 0 also where
  double alert_seconds_ = 0;  // none are left
  bool is_suspicious_ = false;
  Group group_;
  std::vector<uint8_t> is_marked_;
  std::vector<Correspondence> subset_;
  std::vector<double> distances_;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_ODOMETRY_MOVING_THINGS_H_
