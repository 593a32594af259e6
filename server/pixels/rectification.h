// Rectification of raw stereo pairs: the rectified camera of a rig, and the tables that its images are remapped by.
#ifndef GLINT_SERVER_PIXELS_RECTIFICATION_H_
#define GLINT_SERVER_PIXELS_RECTIFICATION_H_

#include <cstdint>
#include <mutex>

#include "features/camera/rectification.h"
#include "features/camera/remap_table.h"
#include "features/camera/stereo_rig.h"
#include "features/types.h"

namespace glint {

// What rectifies the pairs of a rig. Thread-safe.
class Rectification {
 public:
  struct Tables {
    RemapTable left, right;
  };

  // `rectified` is RectifyPair()'s of the rig.
  Rectification(const StereoRig& rig, const RectifiedPair& rectified) : rig_(rig), rectified_(rectified) {}

  const StereoRig& rig() const { return rig_; }
  const RectifiedPair& rectified() const { return rectified_; }
  // Made by the first call, which takes up to a second for large images; others wait for it. That is not counted as
  // the frame path's.
  const Tables& tables() const;

 private:
  const StereoRig rig_;
  const RectifiedPair rectified_;
  mutable std::once_flag made_;
  mutable Tables tables_;
};

// What both tables for rectified images of this shape take at most: for each pixel an entry (6 bytes), its part of a
// block (2.5, rows being multiples of 32 pixels) and perhaps an exception (2); and for each row 4.
inline int64_t RectificationBytes(Shape rectified) {
  const int64_t padded = (int64_t{rectified.width} + 31) / 32 * 32;
  return 2 * (rectified.height + 1) * (padded * 21 / 2 + 4);
}

}  // namespace glint

#endif  // GLINT_SERVER_PIXELS_RECTIFICATION_H_
