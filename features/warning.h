// Warnings: what makes a result doubtful although it is given.
#ifndef GLINT_FEATURES_WARNING_H_
#define GLINT_FEATURES_WARNING_H_

#include <string>

namespace glint {

// What a warning is about, and what its figure is. The numbers are those of the wire (proto/glint/v1/envelope.proto),
// which says more of each.
enum class WarningKind : int {
  kUnrectified = 1,              // vertical disparity, px
  kSwapped = 2,                  // share of keypoints or matches that tell so, 1
  kOutOfSync = 3,                // difference of the capture times, ms
  kDifferentScenes = 4,          // share of keypoints with a match in the other image, 1
  kVerticalDisparitySpread = 5,  // median distance from the median, px
  kRigRotation = 6,              // angle of the right camera, deg
  kImplausibleSpeed = 7,         // m/s
  kNoDisparity = 8,              // median disparity, px
  kFewDepths = 9,                // share of keypoints with a depth, 1
  kNarrowRange = 10,             // share of the range that the grey values lie in, 1
  kMaskValues = 11,              // share of the mask's pixels that are neither 0 nor 255, 1
  kMapFull = 12,                 // keyframes of the map, 1
  kTimestamp = 13,               // step from the last time in line, ms
  kFrozenImage = 14,             // pairs in a row with the same image on one side, 1
  kStaticRegion = 15,            // share of keypoints that move with the camera, 1
  kLensDistortion = 16,          // k1 that is left in the images, 1
  kImuSamples = 17,              // share of frames without usable readings of the inertial sensor, 1
  kImuContradicts = 18,          // ratio or difference, 1; angle, deg; offset, ms
  kMovingScene = 19,             // share of matched keypoints that move by themselves, 1
  kOneCamera = 20,               // keypoints of the right image, which the pose is by, 1
  kFocalLength = 21,             // ratio of the true focal length to the given one, 1
};

struct Warning {
  WarningKind kind = WarningKind::kUnrectified;
  double figure = 0;      // in `unit`
  const char* unit = "";  // "px", "ms", "deg", "m/s", "1" for shares; a literal
  std::string text;       // in words, with the figure
};

}  // namespace glint

#endif  // GLINT_FEATURES_WARNING_H_
