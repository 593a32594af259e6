// All limits that a user can meet (of matching: match_limits.h). Flags of the server can lower some of them, never
// raise them.
#ifndef GLINT_FEATURES_LIMITS_H_
#define GLINT_FEATURES_LIMITS_H_

#include <cstdint>

namespace glint {

inline constexpr int kMaxImageSide = 16384;                          // pixels; level coordinates fit 14 bits
inline constexpr int64_t kMaxImagePixels = int64_t{1} << 27;         // 134 megapixels
inline constexpr int64_t kDefaultMaxImagePixels = int64_t{1} << 22;  // a pair of 1920x1080; the server's default

inline constexpr int kMinLevels = 1;
inline constexpr int kMaxLevels = 12;
inline constexpr float kMinScaleFactor = 1.05f;
inline constexpr float kMaxScaleFactor = 2.0f;
inline constexpr int kMinFastThreshold = 1;
inline constexpr int kMaxFastThreshold = 254;  // at 255 no 8-bit pixel can differ by more
inline constexpr int kMinArcLength = 9;
inline constexpr int kMaxArcLength = 12;
inline constexpr int kMaxSuppressionRadius = 4;
inline constexpr int kMinHarrisBlock = 3;
inline constexpr int kMaxHarrisBlock = 15;
inline constexpr float kMaxHarrisK = 0.25f;           // from this k on no window has a positive measure
inline constexpr float kMaxResponseThreshold = 1.0f;  // no window of 8-bit pixels reaches more than 0.25
inline constexpr int kMinCell = 8;
inline constexpr int kMaxCell = 512;
inline constexpr int kMaxAggregationWindow = 15;
inline constexpr float kMinBfrostScale = 0.25f;
inline constexpr float kMaxBfrostScale = 4.0f;
inline constexpr int kMinFeatures = 1;
inline constexpr int kMaxFeatures = 65536;
inline constexpr int kMinEdgeThreshold = 0;
inline constexpr int kMaxEdgeThreshold = 255;
inline constexpr int kMinPatchSize = 2;
inline constexpr int kMaxPatchSize = 63;

// OutputCapacity(): a detector returns at most N + max(N, kMinTieReserve) keypoints for max_features = N.
inline constexpr int kMinTieReserve = 4096;

inline constexpr int kRbriefBytes = 32;
inline constexpr int kBfrostBytes = 32;

}  // namespace glint

#endif  // GLINT_FEATURES_LIMITS_H_
