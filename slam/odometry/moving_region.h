// The part of the picture that a thing which moves by itself fills: the world's keypoints are looked for beside it.
#ifndef GLINT_SLAM_ODOMETRY_MOVING_REGION_H_
#define GLINT_SLAM_ODOMETRY_MOVING_REGION_H_

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "features/camera_view.h"
#include "features/types.h"
#include "slam/estimate/local_map.h"
#include "slam/estimate/pose_solver.h"
#include "slam/front_end/front_end.h"
#include "slam/geometry/pose.h"
#include "slam/geometry/stereo_camera.h"
#include "slam/odometry/pose_finder.h"

namespace glint::slam {

// Cells of the picture in which keypoints contradict the camera's motion from one pair to the next, and share another
// one, where they will be in the pair after. A detector finds as many keypoints as it is told; near a thing that is
// full of corners it leaves few to the world. Keeps its memory from frame to frame: two masks of the image's size. Not
// thread-safe.
class MovingRegion {
 public:
  // `front_end` must outlive it.
  MovingRegion(const StereoCamera& camera, const NoiseModel& noise, FrontEnd* front_end);

  bool empty() const { return cells_ == 0; }
  // The keypoints that moved so when it was last seen.
  int keypoints() const { return static_cast<int>(moving_.size()); }
  void Clear() {
    cells_ = 0;
    moving_.clear();
  }
  // The keypoints of a view outside the region, which the front end has seen as a whole just now. Masks of the view
  // hold, too.
  absl::Status FindOutside(const CameraView& view, const StereoCamera& camera, StereoFrame* frame);
  // Whether that found more of them than `all`, the keypoints of the same view, are.
  bool IsMore(const StereoFrame& found, const StereoFrame& all) const;
  // Sees the region in two pairs that follow each other, by all keypoints of both, how the camera moved between, and
  // what it was located by.
  void Observe(const StereoCamera& camera, const StereoFrame& before, const StereoFrame& now,
               const Pose& now_from_before, const FrameMatches& matches);
  // It goes on as it did, in a pair that does not tell.
  void Advance();

 private:
  static constexpr int kCells = 32;  // along the longer side

  struct Keypoint {
    Eigen::Vector2f at, step;  // pixels, in the last pair and since the one before
    float disparity;
  };
  struct Cell {
    int agreeing = 0, moving = 0;
    double disparity = 0;  // sum of those that move
  };

  Cell& CellAt(const Eigen::Vector2f& at);
  // Keeps of moving_, which contradict the camera's motion, those that share another one.
  void KeepThing(const StereoCamera& camera);
  // Counts moving_ where they will be, and decides which cells are the region's.
  void FindCells();
  // Those of a cell and its neighbours.
  Cell Around(int column, int row) const;
  // `mask` without the cells, whose columns are `shift` (0 or 1) times their disparity farther left.
  void MakeMask(const ImageView& mask, double shift, Image* made) const;

  const NoiseModel noise_;
  FrontEnd* const front_end_;
  const Shape shape_;
  const int cell_;  // pixels
  std::array<Cell, kCells* kCells> seen_ = {};
  std::array<double, kCells* kCells> disparity_ = {};  // of cells that belong to the region; else -1
  int cells_ = 0;
  MatchResult matches_;
  std::vector<Correspondence> contradictions_;
  std::vector<Keypoint> moving_;
  PoseSolver solver_;
  Image left_mask_, right_mask_;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_ODOMETRY_MOVING_REGION_H_
