// What a stereo camera, or a camera with a depth sensor, sees at one moment. Host types without arithmetic.
#ifndef GLINT_FEATURES_CAMERA_VIEW_H_
#define GLINT_FEATURES_CAMERA_VIEW_H_

#include "features/depth.h"
#include "features/pixels.h"
#include "features/types.h"

namespace glint {

// Both images of a rectified camera; or one image, and the depth of its pixels in place of `right`. Images that are
// remapped (PixelRows::remap()) have a source with a view, and may have a view themselves. The masks have the shape of
// the images, and are 0 where nothing is to be found; empty: everywhere. There is no right one with depth.
struct CameraView {
  Pixels left;
  Pixels right;
  DepthView depth;
  ImageView left_mask{}, right_mask{};

  bool has_depth() const { return !depth.empty(); }
};

// The pixels as the camera took them: the source of a remapped image; else the view.
inline const ImageView& TakenView(const Pixels& image) {
  const RemapSource* const remap = image.rows == nullptr ? nullptr : image.rows->remap();
  return remap == nullptr ? image.view : remap->source.view;
}

}  // namespace glint

#endif  // GLINT_FEATURES_CAMERA_VIEW_H_
