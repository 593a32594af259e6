// The limits of matching and stereo matching that a user can meet; limits.h has those of detectors.
#ifndef GLINT_FEATURES_MATCH_LIMITS_H_
#define GLINT_FEATURES_MATCH_LIMITS_H_

namespace glint {

inline constexpr int kDescriptorUnit = 8;                   // bytes: descriptors to match are multiples of it
inline constexpr int kMaxDescriptorBytes = 512;             // distances up to 4096 fit 13 bits
inline constexpr int kMaxMatchDescriptors = (1 << 18) - 1;  // in a set, as for cv::BFMatcher: indices fit 18 bits
inline constexpr int kMinMatchK = 1;
inline constexpr int kMaxMatchK = 8;
inline constexpr float kMaxMatchCoordinate = 1048576.0f;  // pixels, either sign; of positions and radii

inline constexpr float kMaxStereoBand = 16.0f;      // rows of a level
inline constexpr double kMaxFocalLength = 1000000;  // pixels
inline constexpr double kMaxBaseline = 1000000;     // in the unit of depths

}  // namespace glint

#endif  // GLINT_FEATURES_MATCH_LIMITS_H_
