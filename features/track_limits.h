// The limits of tracking that a user can meet; limits.h has those of detectors.
#ifndef GLINT_FEATURES_TRACK_LIMITS_H_
#define GLINT_FEATURES_TRACK_LIMITS_H_

namespace glint {

inline constexpr int kMaxTrackPoints = 65536;  // of one call
inline constexpr int kMinTrackLevels = 1;
inline constexpr int kMaxTrackLevels = 8;
inline constexpr int kMinTrackPatch = 3;
inline constexpr int kMaxTrackPatch = 32;  // pixels: 32-bit sums over a column of it cannot overflow
inline constexpr int kMinTrackIterations = 1;
inline constexpr int kMaxTrackIterations = 100;
inline constexpr float kMaxTrackEpsilon = 1.0f;           // pixels
inline constexpr float kMaxTrackCoordinate = 32768.0f;    // pixels, either sign: points, predictions and moves
inline constexpr float kMaxTrackEigenvalue = 16384.0f;    // (grey levels per pixel)^2: no patch reaches more
inline constexpr float kMaxTrackResidual = 255.0f;        // grey levels
inline constexpr float kMaxTrackBackwardError = 1024.0f;  // pixels

}  // namespace glint

#endif  // GLINT_FEATURES_TRACK_LIMITS_H_
