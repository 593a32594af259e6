// Steered BRIEF, as cv::ORB's computeOrbDescriptors with WTA_K 2.
//
// The 512 points are rotated by vectors. With AVX-512's permutations of bytes the patch is read into registers and
// looked up there, 64 points at a time. Other targets, and patches that are too large for that, store the offsets, then
// load and compare the pixels one by one: gathers are no faster than loads on some processors, and much slower on
// others.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/describe/describe.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu/common/simd-inl.h"
#include "cpu/common/stages.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

// Rotates the points of the pattern at x[0..], y[0..]. As SteeredX and SteeredY: no fused multiply-add.
class PatternRotation {
 public:
  explicit PatternRotation(float angle) {
    const SinCos rotation = SteeringSinCos(angle);
    sin_ = hn::Set(DF(), rotation.sin);
    cos_ = hn::Set(DF(), rotation.cos);
  }
  // Whole numbers plus kRoundMagic.
  HWY_INLINE VF X(const float* x, const float* y) const {
    const DF d;
    const VF u = hn::Sub(hn::Mul(hn::Load(d, x), cos_), hn::Mul(hn::Load(d, y), sin_));
    return hn::Add(u, hn::Set(d, kRoundMagic));
  }
  HWY_INLINE VF Y(const float* x, const float* y) const {
    const DF d;
    const VF v = hn::Add(hn::Mul(hn::Load(d, x), sin_), hn::Mul(hn::Load(d, y), cos_));
    return hn::Add(v, hn::Set(d, kRoundMagic));
  }

 private:
  VF sin_;
  VF cos_;
};

void DescribeByLoads(const PatternTable& pattern, const uint8_t* centre, ptrdiff_t stride, float angle,
                     uint8_t* descriptor) {
  static_assert(2 * kMaxImageSide * kMaxPatchSize < 1 << 22, "offsets are exact in a float, next to the magic number");
  const DF d;
  const PatternRotation rotation(angle);
  const VF pitch = hn::Set(d, static_cast<float>(stride));
  HWY_ALIGN int32_t offset[2][kRbriefBits];  // plus kRoundMagicBits
  for (int end = 0; end < 2; ++end) {
    for (size_t i = 0; i < kRbriefBits; i += HWY_LANES(float)) {
      const float* x = pattern.x[end] + i;
      const float* y = pattern.y[end] + i;
      const VF v = hn::Sub(rotation.Y(x, y), hn::Set(d, kRoundMagic));
      hn::Store(hn::BitCast(D32(), hn::MulAdd(v, pitch, rotation.X(x, y))), D32(), offset[end] + i);
    }
  }
  const auto pixel = [&](int end, size_t i) {
    return centre[static_cast<ptrdiff_t>(offset[end][i]) - kRoundMagicBits];
  };
  for (size_t i = 0; i < kRbriefBits; i += 8) {
    // The last bit first: each comparison's carry goes into the sum.
    uint32_t bits = 0;
#pragma GCC unroll 8
    for (size_t k = 8; k-- > 0;) bits += bits + static_cast<uint32_t>(pixel(0, i + k) < pixel(1, i + k));
    descriptor[i / 8] = static_cast<uint8_t>(bits);
  }
}

#if HWY_TARGET <= HWY_AVX3_DL && HWY_ARCH_X86

// Byte 4 * i + k is the low byte of lane i of v[k].
HWY_INLINE V8 LowBytes(const VF v[4]) {
  const D8 d8;
  const hn::Repartition<uint16_t, D8> d16;
  const hn::Repartition<uint32_t, D8> d32;
  const auto bits = [&](size_t k) HWY_ATTR { return hn::BitCast(d32, v[k]); };
  const auto bytes = [&](size_t k) HWY_ATTR {
    const V8 odd = hn::BitCast(d8, hn::ShiftLeft<8>(bits(k + 1)));
    return hn::BitCast(d32, hn::OddEven(odd, hn::BitCast(d8, bits(k))));
  };
  return hn::BitCast(d8, hn::OddEven(hn::BitCast(d16, hn::ShiftLeft<16>(bytes(2))), hn::BitCast(d16, bytes(0))));
}

// Where byte 16 * k + i of four vectors is.
struct LowBytesOrder {
  alignas(64) uint8_t of[64] = {};

  constexpr LowBytesOrder() {
    for (size_t i = 0; i < 64; ++i) of[i] = static_cast<uint8_t>(i % 16 * 4 + i / 16);
  }
};

// The patch is read into tables of two registers. Each has three rows, kTableRow bytes apart: the second begins in one
// register and ends in the other.
void DescribeByTables(const PatternTable& pattern, const uint8_t* centre, ptrdiff_t stride, float angle,
                      uint8_t* descriptor) {
  constexpr int kRow = PatternTable::kTableRow;
  constexpr size_t kGroups = kRbriefBits / 64;  // of pairs; of points: of the first ones of all pairs, then the second
  const PatternRotation rotation(angle);
  const __m512i table_of_row = _mm512_load_si512(pattern.table_of_row);
  const __m512i place_of_row = _mm512_load_si512(pattern.place_of_row);
  __m512i table_of[2 * kGroups];
  __m512i pixels[2 * kGroups];  // and, before they are read, their places
#pragma GCC unroll 8
  for (size_t g = 0; g < 2 * kGroups; ++g) {
    VF u[4];
    VF v[4];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) {
      const size_t first = g % kGroups * 64 + i * HWY_LANES(float);
      const float* x = pattern.x[g / kGroups] + first;
      const float* y = pattern.y[g / kGroups] + first;
      u[i] = rotation.X(x, y);
      v[i] = rotation.Y(x, y);
    }
    const __m512i row = LowBytes(v).raw;
    table_of[g] = _mm512_permutexvar_epi8(row, table_of_row);
    pixels[g] = _mm512_add_epi8(LowBytes(u).raw, _mm512_permutexvar_epi8(row, place_of_row));
  }
  const int last = 2 * pattern.reach;
  const uint64_t in_row = BitRange(0, last + 1);
  const uint8_t* const corner = centre - pattern.reach * stride - pattern.reach;
  for (int t = 0; 3 * t <= last; ++t) {
    const auto row = [&](int i) { return corner + std::min(3 * t + i, last) * stride; };
    const __m512i low = _mm512_mask_loadu_epi8(_mm512_maskz_loadu_epi8(in_row, row(0)), in_row << kRow, row(1) - kRow);
    const __m512i high = _mm512_mask_loadu_epi8(_mm512_maskz_loadu_epi8(in_row >> (64 - kRow), row(1) + (64 - kRow)),
                                                in_row << (2 * kRow - 64), row(2) - (2 * kRow - 64));
    const __m512i table = _mm512_set1_epi8(static_cast<char>(t));
#pragma GCC unroll 8
    for (size_t g = 0; g < 2 * kGroups; ++g) {
      const __mmask64 here = _mm512_cmpeq_epi8_mask(table_of[g], table);
      pixels[g] = _mm512_mask2_permutex2var_epi8(low, pixels[g], here, high);
    }
  }
  static constexpr LowBytesOrder kOrder;
  const __m512i order = _mm512_load_si512(kOrder.of);
#pragma GCC unroll 4
  for (size_t g = 0; g < kGroups; ++g) {
    const __mmask64 bits = _mm512_cmplt_epu8_mask(_mm512_permutexvar_epi8(order, pixels[g]),
                                                  _mm512_permutexvar_epi8(order, pixels[g + kGroups]));
    std::memcpy(descriptor + 8 * g, &bits, sizeof(bits));
  }
}

void Describe(const PatternTable& pattern, const uint8_t* centre, ptrdiff_t stride, float angle, uint8_t* descriptor) {
  const bool small = pattern.reach <= PatternTable::kMaxTableReach;
  (small ? DescribeByTables : DescribeByLoads)(pattern, centre, stride, angle, descriptor);
}

#else

constexpr auto* Describe = &DescribeByLoads;

#endif

void AddDescribe(Stages* stages) { stages->describe = Describe; }

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
GLINT_CPU_EXPORT_STAGE(AddDescribe)

PatternTable MakePatternTable(const RbriefPattern& pattern) {
  PatternTable t;
  double farthest = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    farthest = std::max({farthest, std::hypot(pattern[i].x0, pattern[i].y0), std::hypot(pattern[i].x1, pattern[i].y1)});
    t.x[0][i] = pattern[i].x0;
    t.y[0][i] = pattern[i].y0;
    t.x[1][i] = pattern[i].x1;
    t.y[1][i] = pattern[i].y1;
  }
  t.reach = static_cast<int>(farthest + 0.501);  // to the nearest; sine and cosine are floats
  if (t.reach > PatternTable::kMaxTableReach) return t;
  for (int v = -t.reach; v <= t.reach; ++v) {
    const int row = v + t.reach;
    t.table_of_row[v & 63] = static_cast<uint8_t>(row / 3);
    t.place_of_row[v & 63] = static_cast<uint8_t>(row % 3 * PatternTable::kTableRow + t.reach);
  }
  return t;
}

}  // namespace glint::cpu
#endif
