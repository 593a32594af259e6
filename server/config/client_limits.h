// Limits per client; see ClientAccount.
#ifndef GLINT_SERVER_CONFIG_CLIENT_LIMITS_H_
#define GLINT_SERVER_CONFIG_CLIENT_LIMITS_H_

#include <cstdint>

namespace glint {

// Per client; 0: no limit.
struct ClientLimits {
  int frames = 0;           // frames in the queue or on lanes
  int64_t bytes = 0;        // bytes of their messages
  double frame_rate = 0;    // frames a second
  double lane_seconds = 0;  // lane-seconds per second, that is, lanes kept busy
};

// Upper bounds.
inline constexpr int kMaxClientFrames = 1 << 20;
inline constexpr double kMaxClientFrameRate = 1e6;
inline constexpr double kMaxClientLaneSeconds = 1024;

enum class ClientLimit { kFrames, kBytes, kFrameRate, kLaneSeconds };
inline constexpr int kClientLimitCount = 4;

}  // namespace glint

#endif  // GLINT_SERVER_CONFIG_CLIENT_LIMITS_H_
