#include "lane/rectified_depth.h"

#include <cstddef>

#include "cpu/rectify/register_depth.h"

namespace glint {

DepthView RectifiedDepth::Remap(const DepthView& depth, const RemapTable& table) {
  samples_.resize(static_cast<size_t>(table.shape.pixels()));
  cpu::RemapDepth(depth, table, samples_.data());
  return ViewOf(table.shape, depth.sensor);
}

DepthView RectifiedDepth::Register(const DepthView& depth, const DepthTable& table) {
  samples_.resize(static_cast<size_t>(table.shape.pixels()));
  register_depth_(depth, table, samples_.data());
  return ViewOf(table.shape, {depth.sensor.unit, 0, 0});
}

DepthView RectifiedDepth::ViewOf(Shape shape, const DepthSensor& sensor) const {
  return {reinterpret_cast<const uint8_t*>(samples_.data()), shape.width, shape.height, 2 * ptrdiff_t{shape.width},
          sensor};
}

}  // namespace glint
