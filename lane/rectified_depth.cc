#include "lane/rectified_depth.h"

#include <cstddef>

#include "cpu/rectify/register_depth.h"

namespace glint {

DepthView RectifiedDepth::Remap(const DepthView& depth, const RemapTable& table) {
  samples_.resize(static_cast<size_t>(table.shape.pixels()));
  cpu::RemapDepth(depth, table, samples_.data());
  return ViewOf(samples_.data(), table.shape, depth.sensor);
}

}  // namespace glint
