// Depths of the pixels of a rectified image.
#ifndef GLINT_LANE_RECTIFIED_DEPTH_H_
#define GLINT_LANE_RECTIFIED_DEPTH_H_

#include <cstdint>
#include <vector>

#include "cpu/rectify/register_depth.h"
#include "features/camera/depth_table.h"
#include "features/camera/remap_table.h"
#include "features/depth.h"

namespace glint {

// Keeps its memory from image to image. Thread-compatible.
class RectifiedDepth {
 public:
  // What `depth`, whose shape is the table's source, becomes, until the next call: registered depths as
  // reference::RemapDepth(), those of another camera as reference::RegisterDepth(). The latter have no limits: they are
  // of the sensor's axis, and have been applied.
  DepthView Remap(const DepthView& depth, const RemapTable& table);
  DepthView Register(const DepthView& depth, const DepthTable& table);

 private:
  DepthView ViewOf(Shape shape, const DepthSensor& sensor) const;

  const cpu::RegisterDepthFunction register_depth_ = cpu::BestRegisterDepth();
  std::vector<uint16_t> samples_;  // of machines whose lower byte comes first, as a view has it
};

}  // namespace glint

#endif  // GLINT_LANE_RECTIFIED_DEPTH_H_
