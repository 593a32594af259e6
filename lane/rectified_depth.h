// Depths of the pixels of a rectified image.
#ifndef GLINT_LANE_RECTIFIED_DEPTH_H_
#define GLINT_LANE_RECTIFIED_DEPTH_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "features/camera/depth_table.h"
#include "features/camera/remap_table.h"
#include "features/depth.h"
#include "lane/lane.h"

namespace glint {

// Keeps its memory from image to image. Thread-compatible.
class RectifiedDepth {
 public:
  // What `depth`, whose shape is the table's source, becomes, until the next call: registered depths as
  // reference::RemapDepth(), those of another camera by Lane::RegisterDepth(), with its errors.
  DepthView Remap(const DepthView& depth, const RemapTable& table);
  absl::StatusOr<DepthView> Register(Lane* lane, const DepthView& depth, const DepthTable& table) {
    return lane->RegisterDepth(depth, table, &samples_);
  }

 private:
  std::vector<uint16_t> samples_;
};

}  // namespace glint

#endif  // GLINT_LANE_RECTIFIED_DEPTH_H_
