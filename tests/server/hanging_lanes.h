// What makes the lanes of hanging_lanes.cc fail: the widths of images.
#ifndef GLINT_TESTS_SERVER_HANGING_LANES_H_
#define GLINT_TESTS_SERVER_HANGING_LANES_H_

namespace glint::testing {

inline constexpr int kHangingWidth = 13;
inline constexpr int kLosingWidth = 17;

}  // namespace glint::testing

#endif  // GLINT_TESTS_SERVER_HANGING_LANES_H_
