#include "server/pixels/rectification.h"

#include "features/camera/depth_registration.h"
#include "server/base/allocations.h"

namespace glint {

int64_t Rectification::bytes() const {
  const Shape image = rectified_.camera.image;
  if (!rgbd_.has_value()) return RectificationBytes(image);
  const auto& depth = rgbd_->depth_camera;
  return RemapTableBytes(image) + (depth.has_value() ? DepthTableBytes(depth->image) : 0);
}

const Rectification::Tables& Rectification::tables() const {
  std::call_once(made_, [this] {
    const FramePathPause pause;
    const Camera& left = rgbd_.has_value() ? rgbd_->camera : rig_.left;
    tables_.left = MakeRemapTable(left, rectified_.rectified_from_left, rectified_.camera);
    if (!rgbd_.has_value()) {
      tables_.right = MakeRemapTable(rig_.right, rectified_.rectified_from_right, rectified_.camera);
    } else if (rgbd_->depth_camera.has_value()) {
      tables_.depth = MakeDepthTable(*rgbd_->depth_camera, rgbd_->camera_from_depth, rectified_.camera);
    }
  });
  return tables_;
}

}  // namespace glint
