// Harris measure at every pixel: 3x3 Sobel gradients, sums of their products over a square window, in integers.
//
// A row of gradients is computed once and kept while a window covers it. For each column the sums of products over the
// window's rows slide down: the row that enters is added, the row that leaves is subtracted, both by one multiply-add
// of their interleaved gradients. A window is then as many neighbouring column sums as it is wide.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/dense_harris.cc"
#include "cpu/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <algorithm>
#include <cstring>

#include "cpu/simd-inl.h"
#include "cpu/stages.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

using DH = hn::Rebind<uint8_t, D16>;  // as many bytes as there are 16-bit lanes

// Offsets of a scratch row's pixel 0: room for reflections on the left.
constexpr size_t kMargin = kDenseHarrisMargin;

struct Rows {
  explicit Rows(const DenseHarrisJob& job, int32_t* scratch)
      : pitch(DenseHarrisPitch(job.image.width)),
        sums{scratch + kMargin, scratch + pitch + kMargin, scratch + 2 * pitch + kMargin},
        smooth(reinterpret_cast<int16_t*>(scratch + 3 * pitch) + kMargin),
        difference(smooth + pitch),
        ring(difference + pitch) {}

  int16_t* dx(int y) const { return ring + 2 * static_cast<size_t>(y % kDenseHarrisRing) * pitch; }
  int16_t* dy(int y) const { return dx(y) + pitch; }

  const size_t pitch;         // elements
  int32_t* const sums[3];     // of dx * dx, dy * dy, dx * dy for each column
  int16_t* const smooth;      // p(-1) + 2 p(0) + p(+1), down
  int16_t* const difference;  // p(+1) - p(-1), down
  int16_t* const ring;
};

// Elements -reach..-1 and width..width + reach - 1 of a row, from those inside.
template <typename T>
HWY_INLINE void ReflectEnds(T* row, int width, int reach) {
  for (int i = 1; i <= reach; ++i) {
    row[-i] = row[Reflect101(-i, width)];
    row[width - 1 + i] = row[Reflect101(width - 1 + i, width)];
  }
}

// Both passes over three rows down; 16 bits each.
HWY_INLINE void MixDown(const ImageView& image, int y, int16_t* smooth, int16_t* difference) {
  const D16 d;
  const DH bytes;
  const uint8_t* const above = image.row(Reflect101(y - 1, image.height));
  const uint8_t* const at = image.row(y);
  const uint8_t* const below = image.row(Reflect101(y + 1, image.height));
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int begin = 0; begin < image.width; begin += lanes) {
    // The last vector ends with the row, or reads the margin of a narrow image.
    const int x = std::min(begin, std::max(image.width - lanes, 0));
    const auto a = hn::PromoteTo(d, hn::LoadU(bytes, above + x));
    const auto b = hn::PromoteTo(d, hn::LoadU(bytes, at + x));
    const auto c = hn::PromoteTo(d, hn::LoadU(bytes, below + x));
    hn::StoreU(hn::Add(hn::Add(a, c), hn::Add(b, b)), d, smooth + x);
    if (difference != nullptr) hn::StoreU(hn::Sub(c, a), d, difference + x);
  }
}

// Puts lanes in an order in which interleaving within blocks of 128 bits leaves their neighbours together: the lower
// halves of all blocks hold the first half of the lanes.
class BlockOrder {
 public:
  BlockOrder() {
    constexpr int kWords = static_cast<int>(HWY_LANES(int32_t));
    HWY_ALIGN int32_t from[kWords];
    for (int i = 0; i < kWords; ++i) from[i] = i / 4 * 2 + i % 2 + (i % 4 < 2 ? 0 : kWords / 2);
    indices_ = hn::SetTableIndices(D32(), from);
  }
  HWY_INLINE hn::Vec<D16> operator()(hn::Vec<D16> v) const {
    return hn::BitCast(D16(), hn::TableLookupLanes(hn::BitCast(D32(), v), indices_));
  }

 private:
  decltype(hn::SetTableIndices(D32(), static_cast<const int32_t*>(nullptr))) indices_;
};

HWY_INLINE void Gradients(const ImageView& image, int y, const Rows& rows) {
  const D16 d;
  const BlockOrder in_order;
  MixDown(image, y, rows.smooth, rows.difference);
  ReflectEnds(rows.smooth, image.width, 1);
  ReflectEnds(rows.difference, image.width, 1);
  int16_t* const dx = rows.dx(y);
  int16_t* const dy = rows.dy(y);
  for (int x = 0; x < image.width; x += static_cast<int>(hn::Lanes(d))) {
    const auto across = hn::Sub(hn::LoadU(d, rows.smooth + x + 1), hn::LoadU(d, rows.smooth + x - 1));
    hn::StoreU(in_order(across), d, dx + x);
    const auto centre = hn::LoadU(d, rows.difference + x);
    const auto sides = hn::Add(hn::LoadU(d, rows.difference + x - 1), hn::LoadU(d, rows.difference + x + 1));
    hn::StoreU(in_order(hn::Add(sides, hn::Add(centre, centre))), d, dy + x);
  }
}

// Adds the products of row `enters` to the sums; if kLeaves, subtracts those of row `leaves`.
template <bool kLeaves>
HWY_INLINE void Slide(const Rows& rows, int enters, int leaves, int width) {
  const D16 d;
  const D32 d32;
  const auto add = [&](int32_t* sum, hn::Vec<D16> a, hn::Vec<D16> b)
                       HWY_ATTR { hn::StoreU(hn::Add(hn::LoadU(d32, sum), MultiplyPairs(a, b)), d32, sum); };
  const int half = static_cast<int>(hn::Lanes(d32));
  for (int x = 0; x < width; x += 2 * half) {
    const auto dx = hn::LoadU(d, rows.dx(enters) + x);
    const auto dy = hn::LoadU(d, rows.dy(enters) + x);
    const auto old_dx = kLeaves ? hn::LoadU(d, rows.dx(leaves) + x) : hn::Zero(d);
    const auto old_dy = kLeaves ? hn::LoadU(d, rows.dy(leaves) + x) : hn::Zero(d);
    const auto less_dx = hn::Neg(old_dx);
    const auto less_dy = hn::Neg(old_dy);
    const auto low_x = hn::InterleaveLower(d, dx, old_dx);
    const auto low_y = hn::InterleaveLower(d, dy, old_dy);
    const auto low_less_y = hn::InterleaveLower(d, dy, less_dy);
    add(rows.sums[0] + x, low_x, hn::InterleaveLower(d, dx, less_dx));
    add(rows.sums[1] + x, low_y, low_less_y);
    add(rows.sums[2] + x, low_x, low_less_y);
    const auto high_x = hn::InterleaveUpper(d, dx, old_dx);
    const auto high_y = hn::InterleaveUpper(d, dy, old_dy);
    const auto high_less_y = hn::InterleaveUpper(d, dy, less_dy);
    add(rows.sums[0] + x + half, high_x, hn::InterleaveUpper(d, dx, less_dx));
    add(rows.sums[1] + x + half, high_y, high_less_y);
    add(rows.sums[2] + x + half, high_x, high_less_y);
  }
}

// kRadius is 0 where it is not known when this is compiled.
template <int kRadius>
HWY_INLINE hn::Vec<D32> WindowSum(const int32_t* sums, int radius) {
  const D32 d;
  auto sum = hn::LoadU(d, sums);
  const int reach = kRadius > 0 ? kRadius : radius;
#pragma GCC unroll 3
  for (int i = 1; i <= reach; ++i) sum = hn::Add(sum, hn::Add(hn::LoadU(d, sums - i), hn::LoadU(d, sums + i)));
  return sum;
}

// As HarrisResponse; returns the greatest.
template <int kRadius>
HWY_INLINE float ResponseRow(const DenseHarrisJob& job, const Rows& rows, float* out) {
  const D32 d32;
  const DF d;
  const int radius = job.block / 2;
  const VF k = hn::Set(d, job.k);
  const VF scale = hn::Set(d, HarrisScale4(job.block));
  const int width = job.image.width;
  for (int32_t* const sums : rows.sums) ReflectEnds(sums, width, radius);
  for (int x = 0; x < width; x += static_cast<int>(hn::Lanes(d32))) {
    const VF a = hn::ConvertTo(d, WindowSum<kRadius>(rows.sums[0] + x, radius));
    const VF b = hn::ConvertTo(d, WindowSum<kRadius>(rows.sums[1] + x, radius));
    const VF c = hn::ConvertTo(d, WindowSum<kRadius>(rows.sums[2] + x, radius));
    const VF trace = hn::Add(a, b);
    const VF determinant = hn::Sub(hn::Mul(a, b), hn::Mul(c, c));
    hn::StoreU(hn::Mul(hn::Sub(determinant, hn::Mul(hn::Mul(k, trace), trace)), scale), d, out + x);
  }
  VF greatest = hn::Set(d, out[0]);
  int x = 0;
  for (; x + static_cast<int>(hn::Lanes(d)) <= width; x += static_cast<int>(hn::Lanes(d))) {
    greatest = hn::Max(greatest, hn::LoadU(d, out + x));
  }
  float most = hn::GetLane(hn::MaxOfLanes(d, greatest));
  for (; x < width; ++x) most = std::max(most, out[x]);
  return most;
}

template <int kRadius>
float Responses(const DenseHarrisJob& job, int32_t* scratch, float* map, size_t map_pitch) {
  const Rows rows(job, scratch);
  const int width = job.image.width;
  const int height = job.image.height;
  const int radius = job.block / 2;
  for (int32_t* const sums : rows.sums) std::memset(sums, 0, static_cast<size_t>(width) * sizeof(int32_t));
  // Rows of gradients up to here are in the ring.
  int done = std::max(job.y0 - radius - 1, 0) - 1;
  const auto row_at = [&](int y) {
    const int inside = Reflect101(y, height);
    for (; done < inside; ++done) Gradients(job.image, done + 1, rows);
    return inside;
  };
  // What reflects upwards at the image's end must not find its row replaced: look at the last one first.
  row_at(std::min(job.y0 + radius, height - 1));
  for (int y = job.y0 - radius; y <= job.y0 + radius; ++y) Slide<false>(rows, row_at(y), 0, width);
  float most = 0;
  for (int y = job.y0; y < job.y1; ++y) {
    if (y > job.y0) {
      const int leaves = row_at(y - radius - 1);
      Slide<true>(rows, row_at(y + radius), leaves, width);
    }
    const float of_row = ResponseRow<kRadius>(job, rows, map + static_cast<size_t>(y) * map_pitch);
    most = y == job.y0 ? of_row : std::max(most, of_row);
  }
  return most;
}

float DenseHarris(const DenseHarrisJob& job, int32_t* scratch, float* map, size_t map_pitch) {
  switch (job.block) {
    case 3:
      return Responses<1>(job, scratch, map, map_pitch);
    case 7:
      return Responses<3>(job, scratch, map, map_pitch);
    default:
      return Responses<0>(job, scratch, map, map_pitch);
  }
}

size_t ListOver(const float* row, const float* above, const float* below, int width, float threshold,
                uint32_t* columns) {
  const DF d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const VF limit = hn::Set(d, threshold);
  size_t count = 0;
  const auto one = [&](int x) {
    columns[count] = static_cast<uint32_t>(x);
    count += row[x] > threshold;
  };
  int x = 0;
  if (width > 0) one(x++);
  for (; x + lanes < width; x += lanes) {
    const VF centre = hn::LoadU(d, row + x);
    auto listed = hn::Gt(centre, limit);
    if (HWY_LIKELY(hn::AllFalse(d, listed))) continue;
    if (above != nullptr) {
      const VF beside = hn::Max(hn::LoadU(d, row + x - 1), hn::LoadU(d, row + x + 1));
      const VF upper = hn::Max(hn::LoadU(d, above + x - 1), hn::LoadU(d, above + x + 1));
      const VF lower = hn::Max(hn::LoadU(d, below + x - 1), hn::LoadU(d, below + x + 1));
      const VF middle = hn::Max(hn::LoadU(d, above + x), hn::LoadU(d, below + x));
      listed = hn::And(listed, hn::Gt(centre, hn::Max(hn::Max(beside, middle), hn::Max(upper, lower))));
    }
    uint64_t bits = 0;
    hn::StoreMaskBits(d, listed, reinterpret_cast<uint8_t*>(&bits));
    for (; bits != 0; bits &= bits - 1) {
      columns[count++] = static_cast<uint32_t>(x) + static_cast<uint32_t>(hwy::Num0BitsBelowLS1Bit_Nonzero64(bits));
    }
  }
  for (; x < width; ++x) one(x);
  return count;
}

void Smooth3x3(const ImageView& image, int y0, int y1, int16_t* scratch, uint8_t* out, ptrdiff_t out_stride) {
  const D16 d;
  const DH bytes;
  int16_t* const row = scratch + kMargin;
  for (int y = y0; y < y1; ++y) {
    MixDown(image, y, row, nullptr);
    ReflectEnds(row, image.width, 1);
    for (int x = 0; x < image.width; x += static_cast<int>(hn::Lanes(d))) {
      const auto centre = hn::LoadU(d, row + x);
      const auto sides = hn::Add(hn::LoadU(d, row + x - 1), hn::LoadU(d, row + x + 1));
      const auto sum = hn::Add(sides, hn::Add(centre, centre));
      hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRight<4>(hn::Add(sum, hn::Set(d, 8)))), bytes, out + y * out_stride + x);
    }
  }
}

void AddDenseHarris(Stages* stages) {
  stages->dense_harris = &DenseHarris;
  stages->list_over = &ListOver;
  stages->smooth = &Smooth3x3;
}

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
GLINT_CPU_EXPORT_STAGE(AddDenseHarris)
}  // namespace glint::cpu
#endif
