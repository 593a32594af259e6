// Limits of tracking that options and operations share.
#ifndef GLINT_SERVER_CONFIG_TRACK_LIMITS_H_
#define GLINT_SERVER_CONFIG_TRACK_LIMITS_H_

namespace glint {

// Cameras whose points are tracked together.
inline constexpr int kMaxTrackCameras = 8;

}  // namespace glint

#endif  // GLINT_SERVER_CONFIG_TRACK_LIMITS_H_
