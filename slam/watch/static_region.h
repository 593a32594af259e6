// A region that moves with the camera: a bonnet, a part of the robot. It would have the camera stand still.
#ifndef GLINT_SLAM_WATCH_STATIC_REGION_H_
#define GLINT_SLAM_WATCH_STATIC_REGION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "features/warning.h"
#include "slam/estimate/pose_solver.h"
#include "slam/front_end/front_end.h"
#include "slam/geometry/stereo_camera.h"

namespace glint::slam {

// A front end whose pairs lack the keypoints of such regions. A keypoint is still if the pair before has it at the same
// place. Those that move tell the motion of the camera; still ones that contradict it, and are nearer than most of what
// moves, belong to the camera: what passes in front of a camera at rest is nearer than what is still. A cell of the
// picture in which that was seen three times is left out as a whole, until something moves there. Images with depths
// are not watched. The memory is that of two pairs' keypoints. Not thread-safe.
class StaticRegionWatch final : public FrontEnd {
 public:
  // `front_end` must outlive it.
  StaticRegionWatch(const StereoCamera& camera, const NoiseModel& noise, FrontEnd* front_end);

  // Of the last pair: empty, or a warning with rows, columns and the share of keypoints that were left out.
  std::vector<Warning> Warnings() const;

  const FeatureKind& kind() const override { return front_end_->kind(); }
  absl::Status Find(const PixelPair& pair, StereoFrame* frame) override;
  absl::Status FindAgain(const PixelPair& pair, StereoFrame* frame) override;
  absl::Status FindOne(const Pixels& image, const ImageView& mask, StereoFrame* frame) override {
    return front_end_->FindOne(image, mask, frame);
  }
  void SetReferenceFrame() override { front_end_->SetReferenceFrame(); }
  void Follow(const std::vector<float>& x, const std::vector<float>& y, std::vector<float>* to_x,
              std::vector<float>* to_y, std::vector<uint8_t>* is_followed) override {
    front_end_->Follow(x, y, to_x, to_y, is_followed);
  }
  void Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) override {
    front_end_->Match(input, options, result);
  }

 private:
  static constexpr int kCells = 32;  // along the longer side

  size_t CellOf(const StereoFrame& frame, size_t keypoint) const;
  // Sets still_: for each keypoint, that of the pair before; the number of those.
  int FindStill(const StereoFrame& frame);
  // Sets moves_: correspondences of the other keypoints; the motion that enough of them agree with.
  bool FindMotion(const StereoFrame& frame, Pose* motion);
  // Sets is_static_ of still keypoints that the motion contradicts; false: not enough, or not near.
  bool FindStatic(const StereoFrame& frame, const Pose& motion);
  void CountCells(const StereoFrame& frame);
  // Leaves out what is_static_, or lies in a cell that is; returns how many these are.
  size_t LeaveOutStatic(StereoFrame* frame);

  const StereoCamera camera_;
  const NoiseModel noise_;
  FrontEnd* const front_end_;
  const int cell_;  // pixels
  StereoFrame last_;
  std::vector<size_t> by_row_;  // keypoints of last_
  std::vector<int32_t> still_;  // of last_, or -1
  std::vector<uint8_t> is_static_;
  std::vector<Correspondence> moves_;
  std::vector<size_t> moving_;  // keypoints of moves_
  MatchResult matches_;
  PoseSolver solver_;
  PoseFit fit_;
  std::vector<float> still_disparities_, moving_disparities_;
  std::array<uint8_t, kCells* kCells> seen_ = {};  // times that a cell was static
  std::array<int, kCells*kCells> static_here_ = {}, moving_here_ = {};
  int unseen_ = 0;  // pairs since there were still keypoints
  double left_out_share_ = 0;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_WATCH_STATIC_REGION_H_
