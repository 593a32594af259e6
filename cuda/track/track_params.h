// What the kernels of tracking share. Pointers are device addresses.
#ifndef GLINT_CUDA_TRACK_TRACK_PARAMS_H_
#define GLINT_CUDA_TRACK_TRACK_PARAMS_H_

#include <cstddef>
#include <cstdint>

#include "features/track_point.h"
#include "features/tracker.h"

namespace glint::cuda {

// A level of a pyramid on the device. Rows start at multiples of kTrackRowUnit bytes.
struct TrackLevel {
  const uint8_t* pixels;
  int pitch;
  int width;
  int height;
};
inline constexpr int kTrackRowUnit = 64;

struct TrackFrame {
  TrackLevel level[kMaxTrackLevels];
};

struct TrackParams {
  TrackFrame frame[2];  // from, to
  int levels;           // UsedTrackLevels()
  int count;            // 1 or more
  TrackOptions options;
  // Of the number of runs in a column, patch_size and coarse_patch_size, times 2^16: TrackPoints() fills it in.
  unsigned run_reciprocals[2];
  const float* x;
  const float* y;
  const float* to_x;  // null without predictions
  const float* to_y;
  TrackedPoint* points;
};

struct HalveParams {
  TrackLevel from;
  uint8_t* to;
  int to_pitch;
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_TRACK_TRACK_PARAMS_H_
