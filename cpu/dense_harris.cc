// Harris measure at every pixel: 3x3 Sobel gradients, sums of their products over a square window, in integers.
//
// A row of gradients is computed once and kept while a window covers it. For each column the sums of products over the
// window's rows slide down: the row that enters is added, the row that leaves is subtracted. A window is then as many
// neighbouring column sums as it is wide.
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

HWY_INLINE void Gradients(const ImageView& image, int y, const Rows& rows) {
  const D16 d;
  MixDown(image, y, rows.smooth, rows.difference);
  ReflectEnds(rows.smooth, image.width, 1);
  ReflectEnds(rows.difference, image.width, 1);
  int16_t* const dx = rows.dx(y);
  int16_t* const dy = rows.dy(y);
  for (int x = 0; x < image.width; x += static_cast<int>(hn::Lanes(d))) {
    hn::StoreU(hn::Sub(hn::LoadU(d, rows.smooth + x + 1), hn::LoadU(d, rows.smooth + x - 1)), d, dx + x);
    const auto centre = hn::LoadU(d, rows.difference + x);
    const auto sides = hn::Add(hn::LoadU(d, rows.difference + x - 1), hn::LoadU(d, rows.difference + x + 1));
    hn::StoreU(hn::Add(sides, hn::Add(centre, centre)), d, dy + x);
  }
}

// Adds (kSign 1) or subtracts (-1) a row's products.
template <int kSign>
HWY_INLINE void AddProducts(const Rows& rows, int y, int width) {
  const D32 d;
  const hn::Rebind<int16_t, D32> d16;
  const int16_t* const dx = rows.dx(y);
  const int16_t* const dy = rows.dy(y);
  const auto add = [&](int32_t* sum, hn::Vec<D32> product) HWY_ATTR {
    const auto before = hn::LoadU(d, sum);
    hn::StoreU(kSign > 0 ? hn::Add(before, product) : hn::Sub(before, product), d, sum);
  };
  for (int x = 0; x < width; x += static_cast<int>(hn::Lanes(d))) {
    const auto gx = hn::PromoteTo(d, hn::LoadU(d16, dx + x));
    const auto gy = hn::PromoteTo(d, hn::LoadU(d16, dy + x));
    add(rows.sums[0] + x, hn::Mul(gx, gx));
    add(rows.sums[1] + x, hn::Mul(gy, gy));
    add(rows.sums[2] + x, hn::Mul(gx, gy));
  }
}

HWY_INLINE hn::Vec<D32> WindowSum(const int32_t* sums, int radius) {
  const D32 d;
  auto sum = hn::LoadU(d, sums);
  for (int i = 1; i <= radius; ++i) sum = hn::Add(sum, hn::Add(hn::LoadU(d, sums - i), hn::LoadU(d, sums + i)));
  return sum;
}

// As HarrisResponse; returns the greatest.
HWY_INLINE float ResponseRow(const DenseHarrisJob& job, const Rows& rows, float* out) {
  const D32 d32;
  const DF d;
  const int radius = job.block / 2;
  const VF k = hn::Set(d, job.k);
  const VF scale = hn::Set(d, HarrisScale4(job.block));
  const int width = job.image.width;
  for (int32_t* const sums : rows.sums) ReflectEnds(sums, width, radius);
  for (int x = 0; x < width; x += static_cast<int>(hn::Lanes(d32))) {
    const VF a = hn::ConvertTo(d, WindowSum(rows.sums[0] + x, radius));
    const VF b = hn::ConvertTo(d, WindowSum(rows.sums[1] + x, radius));
    const VF c = hn::ConvertTo(d, WindowSum(rows.sums[2] + x, radius));
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

float DenseHarris(const DenseHarrisJob& job, int32_t* scratch, float* map, size_t map_pitch) {
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
  for (int y = job.y0 - radius; y <= job.y0 + radius; ++y) AddProducts<1>(rows, row_at(y), width);
  float most = 0;
  for (int y = job.y0; y < job.y1; ++y) {
    if (y > job.y0) {
      AddProducts<-1>(rows, row_at(y - radius - 1), width);
      AddProducts<1>(rows, row_at(y + radius), width);
    }
    const float of_row = ResponseRow(job, rows, map + static_cast<size_t>(y) * map_pitch);
    most = y == job.y0 ? of_row : std::max(most, of_row);
  }
  return most;
}

// Columns of the row that are over the threshold.
size_t ListOver(const float* row, int width, float threshold, uint32_t* columns) {
  const DF d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const VF limit = hn::Set(d, threshold);
  size_t count = 0;
  int x = 0;
  for (; x + lanes <= width; x += lanes) {
    if (HWY_LIKELY(hn::AllFalse(d, hn::Gt(hn::LoadU(d, row + x), limit)))) continue;
    for (int i = 0; i < lanes; ++i) {
      columns[count] = static_cast<uint32_t>(x + i);
      count += row[x + i] > threshold;
    }
  }
  for (; x < width; ++x) {
    columns[count] = static_cast<uint32_t>(x);
    count += row[x] > threshold;
  }
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
