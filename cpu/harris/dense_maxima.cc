// Threshold and 3x3 suppression of a row of responses, and rows made of single responses.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/harris/dense_maxima.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <limits>

#include "cpu/common/simd-inl.h"
#include "cpu/common/stages.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

size_t DenseMaxima(const DenseRow& row, const float* above, const float* below, int x0, int x1, float threshold,
                   uint32_t* columns) {
  const DF d;
  const VF limit = hn::Set(d, threshold);
  const auto maxima = [&](int x) HWY_ATTR {
    const float* const at = row.responses + x;
    const VF centre = hn::LoadU(d, at);
    auto listed = hn::Gt(centre, limit);
    if (above != nullptr) {
      const VF beside = hn::Max(hn::LoadU(d, at - 1), hn::LoadU(d, at + 1));
      const VF upper = hn::Max(hn::LoadU(d, above + x - 1), hn::LoadU(d, above + x + 1));
      const VF lower = hn::Max(hn::LoadU(d, below + x - 1), hn::LoadU(d, below + x + 1));
      const VF middle = hn::Max(hn::LoadU(d, above + x), hn::LoadU(d, below + x));
      listed = hn::And(listed, hn::Gt(centre, hn::Max(hn::Max(beside, middle), hn::Max(upper, lower))));
    }
    uint64_t bits = 0;
    hn::StoreMaskBits(d, listed, reinterpret_cast<uint8_t*>(&bits));
    return bits;
  };
  size_t count = 0;
  for (size_t i = 0; i < row.active_count; ++i) {
    const int x = row.active[i];
    uint64_t bits = maxima(x) | maxima(x + kDenseBlock / 2) << (kDenseBlock / 2);
    if (x < x0 || x + kDenseBlock > x1) bits &= BitRange(x0 - x, x1 - x);
    for (; bits != 0; bits &= bits - 1) {
      columns[count++] = static_cast<uint32_t>(x) + static_cast<uint32_t>(hwy::Num0BitsBelowLS1Bit_Nonzero64(bits));
    }
  }
  return count;
}

void DenseScatter(const uint32_t* where, const float* response, size_t count, DenseRow* row) {
  const DF d;
  float* HWY_RESTRICT responses = row->responses;
  uint16_t* HWY_RESTRICT active = row->active;
  const VF none = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (size_t i = 0; i < row->active_count; ++i) {
    hn::StoreU(none, d, responses + active[i]);
    hn::StoreU(none, d, responses + active[i] + kDenseBlock / 2);
  }
  // Of the points of a block, the first counts it.
  int last = -1;
  size_t blocks = 0;
  for (size_t i = 0; i < count; ++i) {
    const int x = PointX(where[i]);
    responses[x] = response[i];
    const int block = x & -kDenseBlock;
    active[blocks] = static_cast<uint16_t>(block);
    blocks += block != last ? 1 : 0;
    last = block;
  }
  row->active_count = blocks;
}

void AddDenseMaxima(Stages* stages) {
  stages->dense_maxima = &DenseMaxima;
  stages->dense_scatter = &DenseScatter;
}

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
GLINT_CPU_EXPORT_STAGE(AddDenseMaxima)
}  // namespace glint::cpu
#endif
