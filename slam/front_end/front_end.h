// Interface of the feature front end: keypoints of a pair, tracking of patches, matching. LaneFrontEnd implements it.
#ifndef GLINT_SLAM_FRONT_END_FRONT_END_H_
#define GLINT_SLAM_FRONT_END_FRONT_END_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "features/limits.h"
#include "features/matcher.h"
#include "features/pixels.h"
#include "features/types.h"
#include "slam/front_end/feature_kind.h"

namespace glint::slam {

// Keypoints of the left image, and their disparities: element i of each array belongs to keypoint i.
struct StereoFrame {
  Features left;
  std::vector<uint8_t> is_stereo;         // the right image has it, too; otherwise the two below are 0
  std::vector<float> disparity;           // left x - right x of its patch, below a pixel
  std::vector<float> vertical_disparity;  // left y - right y, likewise
  int levels = 0;
  std::array<float, kMaxLevels> scale{};  // pixels of the image in one of the level
};

// Sets is_stereo, disparity and vertical_disparity of all keypoints to 0.
inline void ClearStereo(StereoFrame* frame) {
  frame->is_stereo.assign(frame->left.count(), 0);
  frame->disparity.assign(frame->left.count(), 0);
  frame->vertical_disparity.assign(frame->left.count(), 0);
}

// Not thread-safe: one caller at a time. Results must not depend on anything but the arguments.
class FrontEnd {
 public:
  virtual ~FrontEnd() = default;

  // The kind of all descriptors that Find() makes; never changes.
  virtual const FeatureKind& kind() const = 0;

  // Both images must have one shape. Keypoints lie where masks, if there are any, are not 0.
  virtual absl::Status Find(const PixelPair& pair, StereoFrame* frame) = 0;

  // Find() of the pair that it found last, with other masks: what is learnt from pair to pair is not from this.
  virtual absl::Status FindAgain(const PixelPair& pair, StereoFrame* frame) { return Find(pair, frame); }

  // Keypoints of a single image, whose mask may be empty: none is stereo.
  virtual absl::Status FindOne(const Pixels& image, const ImageView& mask, StereoFrame* frame) = 0;

  // Makes the last left or single image the reference frame of Follow().
  virtual void SetReferenceFrame() = 0;

  // Where the patches around (x, y) of the reference frame are in the last one, by `count` predictions
  // (to_x, to_y), which are replaced; is_followed[i] is 0 for those that were lost. Patches are upright squares.
  virtual void Follow(const std::vector<float>& x, const std::vector<float>& y, std::vector<float>* to_x,
                      std::vector<float>* to_y, std::vector<uint8_t>* is_followed) = 0;

  // Valid arguments (ValidateMatchOptions, ValidateMatchInput).
  virtual void Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) = 0;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_FRONT_END_FRONT_END_H_
