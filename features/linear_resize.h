// cv::resize, INTER_LINEAR, 8 bits, to the same size or smaller, as ORB-SLAM2 makes its levels. cv::ORB has
// INTER_LINEAR_EXACT instead (features/math.h), whose pixels differ by 1 here and there. Pure functions: thread-safe.
#ifndef GLINT_FEATURES_LINEAR_RESIZE_H_
#define GLINT_FEATURES_LINEAR_RESIZE_H_

#include <cmath>
#include <cstdint>

#include "features/math.h"

namespace glint {

// Output pixel i of an axis mixes input pixels `at` and at + 1, in 11 fraction bits. When next_weight is 0, at + 1 may
// not exist and must not be read.
struct LinearTap {
  int at = 0;
  int weight = 2048;    // 0..2048
  int next_weight = 0;  // 0..2048
};

// to <= from. The position is a float, found in double.
GLINT_HD inline LinearTap MakeLinearTap(int i, int from, int to) {
  constexpr float kOne = 2048;
  const double step = 1.0 / (static_cast<double>(to) / static_cast<double>(from));
  const float position = static_cast<float>((i + 0.5) * step - 0.5);
  LinearTap tap;
  tap.at = static_cast<int>(floorf(position));
  if (tap.at < 0) return {};
  if (tap.at >= from - 1) return {from - 1, 2048, 0};
  const float fraction = position - static_cast<float>(tap.at);
  tap.weight = RoundHalfEven((1.0f - fraction) * kOne);
  tap.next_weight = RoundHalfEven(fraction * kOne);
  return tap;
}

// Row pass, without its last 4 bits: 0..32640.
GLINT_HD inline int LinearRow(LinearTap tap, uint8_t at, uint8_t next) {
  return (tap.weight * at + tap.next_weight * next) >> 4;
}
// Column pass over two results of the row pass: both products are cut before they are added.
GLINT_HD inline uint8_t LinearColumn(LinearTap tap, int at, int next) {
  return static_cast<uint8_t>((((tap.weight * at) >> 16) + ((tap.next_weight * next) >> 16) + 2) >> 2);
}

}  // namespace glint

#endif  // GLINT_FEATURES_LINEAR_RESIZE_H_
