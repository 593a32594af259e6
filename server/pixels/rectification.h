// Rectification of raw images: the camera that those of a rig, or of a camera with depth, become, and the tables that
// they are remapped by.
#ifndef GLINT_SERVER_PIXELS_RECTIFICATION_H_
#define GLINT_SERVER_PIXELS_RECTIFICATION_H_

#include <cstdint>
#include <mutex>
#include <optional>

#include "features/camera/depth_table.h"
#include "features/camera/rectification.h"
#include "features/camera/remap_table.h"
#include "features/camera/rgbd_camera.h"
#include "features/camera/stereo_rig.h"
#include "features/types.h"

namespace glint {

// What one table for rectified images of this shape takes at most: for each pixel an entry (6 bytes), its part of a
// block (2.5, rows being multiples of 32 pixels) and perhaps an exception (2); and for each row 4.
inline int64_t RemapTableBytes(Shape rectified) {
  const int64_t padded = (int64_t{rectified.width} + 31) / 32 * 32;
  return (rectified.height + 1) * (padded * 21 / 2 + 4);
}

// Both tables of a rig.
inline int64_t RectificationBytes(Shape rectified) { return 2 * RemapTableBytes(rectified); }

// The table of a depth camera with images of this shape.
inline int64_t DepthTableBytes(Shape depth) {
  return 12 * (int64_t{depth.width} + 1) * (int64_t{depth.height} + 1) + 4 * depth.pixels();
}

// What rectifies the pairs of a rig, or the images and depths of a camera with depth. Thread-safe.
class Rectification {
 public:
  struct Tables {
    RemapTable left;
    RemapTable right;  // of a rig
    DepthTable depth;  // of a depth camera; registered depths are remapped by `left`
  };

  // `rectified` is RectifyPair()'s of the rig.
  Rectification(const StereoRig& rig, const RectifiedPair& rectified) : rig_(rig), rectified_(rectified) {}
  // `rectified` is UndistortRgbd()'s of the camera.
  Rectification(const RgbdCamera& rgbd, const RectifiedPair& rectified) : rgbd_(rgbd), rectified_(rectified) {}

  // Of a rig.
  const StereoRig& rig() const { return rig_; }
  // Of a camera with depth; else nothing.
  const std::optional<RgbdCamera>& rgbd() const { return rgbd_; }
  const RectifiedPair& rectified() const { return rectified_; }
  // Of the tables, at most.
  int64_t bytes() const;
  // Made by the first call, which takes up to a second for large images; others wait for it. That is not counted as
  // the frame path's.
  const Tables& tables() const;

 private:
  const StereoRig rig_;
  const std::optional<RgbdCamera> rgbd_;
  const RectifiedPair rectified_;
  mutable std::once_flag made_;
  mutable Tables tables_;
};

}  // namespace glint

#endif  // GLINT_SERVER_PIXELS_RECTIFICATION_H_
