// Registration of depth on the CPU, as features/reference/register_depth.h. Pure functions: thread-safe.
#ifndef GLINT_CPU_RECTIFY_REGISTER_DEPTH_H_
#define GLINT_CPU_RECTIFY_REGISTER_DEPTH_H_

#include <cstdint>

#include "features/camera/depth_table.h"
#include "features/camera/remap_table.h"
#include "features/depth.h"

namespace glint::cpu {

// `depth` has table.source's shape; `to` has room for table.shape.pixels(), row by row.
void RemapDepth(const DepthView& depth, const RemapTable& table, uint16_t* to);

using RegisterDepthFunction = void (*)(const DepthView& depth, const DepthTable& table, uint16_t* to);
RegisterDepthFunction RegisterDepthFor(int64_t target);
RegisterDepthFunction BestRegisterDepth();  // for BestSimdTarget()

}  // namespace glint::cpu

#endif  // GLINT_CPU_RECTIFY_REGISTER_DEPTH_H_
