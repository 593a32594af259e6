// Rules that all front ends share, so that results do not depend on the device: how images of a pair are matched, how
// patches are followed, and how disparities are measured below a pixel.
#ifndef GLINT_SLAM_FRONT_END_PAIR_RULES_H_
#define GLINT_SLAM_FRONT_END_PAIR_RULES_H_

#include <cstddef>
#include <vector>

#include "features/options.h"
#include "features/stereo.h"
#include "features/tracker.h"
#include "features/types.h"
#include "slam/front_end/front_end.h"

namespace glint::slam {

StereoOptions PairMatching();
// Upright squares on one level; gain and offset are estimated.
TrackOptions PatchFollowing();

// The pyramid of a frame, by the detector that found it in an image of this shape.
void SetLevels(const DetectorOptions& detector, Shape shape, StereoFrame* frame);

// The patches of matched keypoints, which are followed from the left image to where descriptors say that they are in
// the right one. Not thread-safe; memory is kept from pair to pair.
class DisparityPatches {
 public:
  // The patches to follow: those of `left` with a match, without pyramids. Borrowed until the next call.
  TrackInput MakeInput(const Features& left, const StereoResult& matches);
  // Sets the disparities of `frame`, whose left keypoints MakeInput() had, by the tracked patches. A patch that was
  // lost, or is farther than 1.5 pixels of its level from where descriptors say, is not stereo.
  void Apply(const TrackResult& followed, StereoFrame* frame) const;

 private:
  std::vector<size_t> keypoint_;
  std::vector<float> x_, y_, to_x_, to_y_;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_FRONT_END_PAIR_RULES_H_
