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

// A point, and where it is looked for.
struct alignas(16) TrackStart {
  float x, y;
  float to_x, to_y;
};

struct TrackParams {
  TrackFrame frame[2];  // from, to
  int levels;           // UsedTrackLevels()
  int count;            // 1 or more
  TrackOptions options;
  // Of the number of runs in a column, patch_size and coarse_patch_size, times 2^16: TrackPoints() fills it in.
  unsigned run_reciprocals[2];
  const TrackStart* starts;  // in host memory, as the results
  TrackedPoint* points;
};

// `count` levels, 1 or 2, each of half the size of the one before.
struct HalveParams {
  TrackLevel from;  // 4 pixels of a row lie in a word
  int count;
  uint8_t* to[2];
  int to_pitch[2];
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_TRACK_TRACK_PARAMS_H_
