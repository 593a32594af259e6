// The two tables that follow from patch_size: the shape of the disc that orientation sums over, and the pairs of points
// that rBRIEF compares. Both are computed once per set of options, on the host. Thread-safe.
#ifndef GLINT_FEATURES_PATCH_H_
#define GLINT_FEATURES_PATCH_H_

#include <array>
#include <cstdint>

#include "features/limits.h"

namespace glint {

inline constexpr int kMaxHalfPatch = kMaxPatchSize / 2;

// The disc around a keypoint: rows -half..half, row v spans columns -half_width[|v|]..half_width[|v|].
struct PatchDisc {
  int half = 0;                                         // patch_size / 2
  std::array<uint8_t, kMaxHalfPatch + 2> half_width{};  // elements 0..half are set
};

// cv::ORB's disc (umax in orb.cpp, computeKeyPoints, OpenCV 4.6): a circle rounded to pixels, made symmetric about its
// diagonals. patch_size in kMinPatchSize..kMaxPatchSize.
PatchDisc MakePatchDisc(int patch_size);

// One bit of a descriptor: is the pixel at (x0, y0) darker than the one at (x1, y1)? Offsets from the keypoint,
// upright.
struct RbriefPair {
  int8_t x0, y0, x1, y1;

  friend bool operator==(const RbriefPair& a, const RbriefPair& b) {
    return a.x0 == b.x0 && a.y0 == b.y0 && a.x1 == b.x1 && a.y1 == b.y1;
  }
};

inline constexpr int kRbriefBits = kRbriefBytes * 8;
using RbriefPattern = std::array<RbriefPair, kRbriefBits>;  // element b is bit b

// The pairs that cv::ORB compares with WTA_K 2: for patch_size 31 the ones learned by the paper's authors (Rublee et
// al. 2011, section 4.3), for any other size random ones from cv::RNG, always the same. Offsets are in
// -(patch_size / 2)..patch_size / 2; turned by any angle they stay within RbriefReach(patch_size) of the keypoint.
RbriefPattern MakeRbriefPattern(int patch_size);

// The most that a pattern's point can be away from the keypoint, in x or in y, at any angle, pixels.
int RbriefReach(int patch_size);

}  // namespace glint

#endif  // GLINT_FEATURES_PATCH_H_
