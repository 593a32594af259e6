#include "bench/cpu_stages.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <iterator>

#include "features/camera/camera.h"
#include "features/camera/rectification.h"
#include "features/limits.h"
#include "features/math.h"
#include "features/options.h"
#include "features/patch.h"

namespace glint::bench {
namespace {

constexpr int kPatchSize = 31;

cpu::Rect Inside(Shape shape, int margin) { return {margin, margin, shape.width - margin, shape.height - margin}; }

ptrdiff_t PaddedStride(int width) { return (width + 127) / 64 * 64; }

}  // namespace

Shape NextLevel(Shape shape) {
  DetectorOptions options;
  options.levels = 2;
  return PlanPyramid(options, shape).level[1].shape;
}

RemapTable LensOfBench(Shape shape) {
  Camera from;
  from.model = CameraModel::kRadialTangential;
  from.image = shape;
  from.fx = from.fy = 0.61 * shape.width;
  from.cx = 0.49 * shape.width;
  from.cy = 0.52 * shape.height;
  from.lens = {-0.28, 0.074, 2e-4, 2e-5};
  Camera to = from;
  to.model = CameraModel::kPinhole;
  to.lens = {};
  return MakeRemapTable(from, Eigen::AngleAxisd(0.02, Eigen::Vector3d(1, -1, 1).normalized()).toRotationMatrix(), to);
}

CpuStages::CpuStages(const ImageView& image, int fast_threshold)
    : image_(image),
      stages_(cpu::StagesFor(cpu::BestSimdTarget())),
      fast_{image, Inside(image.shape(), kFastRadius), fast_threshold, 9},
      centroid_(cpu::MakeCentroidTable(MakePatchDisc(kPatchSize))),
      pattern_(cpu::MakePatternTable(MakeRbriefPattern(kPatchSize))),
      lens_(LensOfBench(image.shape())),
      rectified_(image.width, image.height) {
  const Shape shape = image.shape();
  fast_scratch_.Grow(cpu::FastScratchBytes(shape.width));
  raw_.Grow(static_cast<size_t>(shape.pixels()) + cpu::kListSlack);
  corners_.Grow(cpu::MaxSuppressedCorners(fast_.region) + cpu::kListSlack);
  scores_.Grow(cpu::MaxSuppressedCorners(fast_.region) + cpu::kListSlack);

  const Shape next = NextLevel(shape);
  cpu::MakeResizeTables(shape, next, &resize_tables_);
  resize_scratch_.Grow(cpu::ResizeScratchElements(next.width));
  resized_.Grow(static_cast<size_t>(PaddedStride(next.width)) * static_cast<size_t>(next.height));

  blurred_.Grow(static_cast<size_t>(PaddedStride(shape.width)) * static_cast<size_t>(shape.height));

  FindCorners();
  const cpu::Rect inner = Inside(shape, RbriefReach(kPatchSize));
  std::copy_if(corners_.data(), corners_.data() + corner_count_, std::back_inserter(inner_), [&](uint32_t point) {
    const int x = cpu::PointX(point), y = cpu::PointY(point);
    return x >= inner.x0 && x < inner.x1 && y >= inner.y0 && y < inner.y1;
  });
  responses_.Grow(corner_count_);
  angles_.Grow(corner_count_);
  stages_.centroid(image_, centroid_, inner_.data(), inner_.size(), angles_.data());
  descriptors_.resize(kRbriefBytes);
}

void CpuStages::FindCorners() {
  corner_count_ = stages_.fast_suppressed(fast_, fast_scratch_.data(), corners_.data(), scores_.data());
}

// The whole image.
void CpuStages::RunBlur() {
  for (int y = 0; y < image_.height; y += cpu::kBlurRows) {
    for (int x = 0; x < image_.width; x += cpu::kBlurBlock) {
      const cpu::BlurJob job = {
          image_, x, y, std::min(y + cpu::kBlurRows, image_.height), blurred_.data(), PaddedStride(image_.width)};
      stages_.blur(job);
    }
  }
}

std::vector<CpuStages::Stage> CpuStages::List() {
  const auto none = [] { return size_t{0}; };
  const auto corners = [this] { return corner_count_; };
  const auto inner = [this] { return inner_.size(); };
  return {
      {"fast_raw", [this] { raw_count_ = stages_.fast_raw(fast_, fast_scratch_.data(), raw_.data()); },
       [this] { return raw_count_; }},
      {"fast_suppressed", [this] { FindCorners(); }, corners},
      {"resize",
       [this] {
         const Shape to = resize_tables_.to;
         stages_.resize(resize_tables_, image_, 0, to.height, resized_.data(), PaddedStride(to.width),
                        resize_scratch_.data());
       },
       none},
      {"blur", [this] { RunBlur(); }, none},
      {"harris", [this] { stages_.harris(image_, corners_.data(), corner_count_, responses_.data()); }, corners},
      {"orientation", [this] { stages_.centroid(image_, centroid_, inner_.data(), inner_.size(), angles_.data()); },
       inner},
      {"descriptor",
       [this] {
         for (size_t i = 0; i < inner_.size(); ++i) {
           const uint8_t* centre = image_.row(cpu::PointY(inner_[i])) + cpu::PointX(inner_[i]);
           stages_.describe(pattern_, centre, image_.stride, angles_[i], descriptors_.data());
         }
       },
       inner},
      {"remap", [this] { remap_(image_, lens_, 0, rectified_.height(), rectified_.row(0), rectified_.stride()); },
       none},
  };
}

}  // namespace glint::bench
