// The steps of Pipeline that give keypoints angles and descriptors.
#include <algorithm>
#include <cstring>

#include "cpu/describe/bfrost.h"
#include "cpu/describe/blur_runs.h"
#include "cpu/describe/patch_copy.h"
#include "cpu/pipeline_impl.h"
#include "features/arc.h"
#include "features/math.h"

namespace glint::cpu {

void Pipeline::Impl::Orient(Features* features) {
  MakeKeypointTasks(kKeypointsPerTask);
  ForEachTask([&](const Task& task, Worker*) {
    Level& level = levels[task.level];
    const size_t count = static_cast<size_t>(task.end - task.begin);
    if (options.orientation == Orientation::kArcMidpoint) {
      ArcMidpoints(level.image, options, level.where.data() + task.begin, count, level.angle.data() + task.begin);
    } else {
      stages.centroid(level.image, centroid, level.where.data() + task.begin, count, level.angle.data() + task.begin);
    }
    for (int i = task.begin; i < task.end; ++i) features->angle[level.first_output + level.slot[i]] = level.angle[i];
  });
}

// Blurs what the descriptors of keypoints [begin, end) of the level read in rows [y0, y0 + kBlurRows). y0 is a multiple
// of kBlurRows.
void Pipeline::Impl::BlurBand(const Level& level, size_t begin, size_t end, int y0, Worker* worker) {
  BlurJob job;
  job.image = level.image;
  job.out_stride = BlurredPitch(level.image.width);
  // As if the ring were the whole level: no other rows are written.
  job.out = worker->blurred.data() + (y0 % blurred_rows - y0) * job.out_stride;
  worker->blur_runs.ForEach(level.where.data() + begin, end - begin, level.image.shape(), pattern.reach, y0,
                            std::min(y0 + kBlurRows, level.image.height), [&](int x, int first, int last) {
                              job.x = x;
                              job.y0 = first;
                              job.y1 = last;
                              if (quadtree) {
                                quadtree_stages.blur(job, worker->fixed_blur.data());
                              } else {
                                stages.blur(job);
                              }
                            });
}

// Copies the patch: it crosses the ring's end, or the level's border. Outside the level it has reflections of unblurred
// pixels: cv::ORB blurs the level alone, not its margin.
void Pipeline::Impl::DescribeCopy(const Level& level, int x, int y, float angle, const Worker& worker,
                                  uint8_t* descriptor) {
  constexpr int kPitch = 128;
  uint8_t patch[kPitch * kPitch];
  const int reach = pattern.reach;
  const int side = 2 * reach + 1;
  const Rect inside = {std::max(x - reach, 0), std::max(y - reach, 0), std::min(x + reach + 1, level.image.width),
                       std::min(y + reach + 1, level.image.height)};
  if (inside.x1 - inside.x0 < side || inside.y1 - inside.y0 < side) {
    CopyPatch(level.image, x - reach, y - reach, side, side, patch, kPitch);
  }
  const ptrdiff_t pitch = BlurredPitch(level.image.width);
  for (int v = inside.y0; v < inside.y1; ++v) {
    const uint8_t* const from = worker.blurred.data() + v % blurred_rows * pitch + inside.x0;
    uint8_t* const to = patch + (v - y + reach) * kPitch + (inside.x0 - x + reach);
    if (inside.x1 - inside.x0 == side && side <= kReadMargin) {
      std::memcpy(to, from, kReadMargin);  // of a known size: no call
    } else {
      std::memcpy(to, from, static_cast<size_t>(inside.x1 - inside.x0));
    }
  }
  stages.describe(pattern, patch + reach * kPitch + reach, kPitch, angle, descriptor);
}

void Pipeline::Impl::DescribeBlurred(const Level& level, size_t begin, size_t end, const Worker& worker,
                                     Features* features) {
  const int reach = pattern.reach;
  const ptrdiff_t pitch = BlurredPitch(level.image.width);
  for (size_t i = begin; i < end; ++i) {
    const int x = PointX(level.where[i]);
    const int y = PointY(level.where[i]);
    uint8_t* descriptor = features->descriptors.data() + (level.first_output + level.slot[i]) * kRbriefBytes;
    const bool inside = x >= reach && y >= reach && x + reach < level.image.width && y + reach < level.image.height;
    if (inside && (y - reach) % blurred_rows + 2 * reach < blurred_rows) {
      stages.describe(pattern, worker.blurred.data() + y % blurred_rows * pitch + x, pitch, level.angle[i], descriptor);
    } else {
      DescribeCopy(level, x, y, level.angle[i], worker, descriptor);
    }
  }
}

// Descriptor::kRbrief. Band by band: what is blurred is still in the second-level cache when it is sampled.
void Pipeline::Impl::Describe(Features* features) {
  MakeKeypointTasks(pool.threads() == 1 ? levels.largest_room() : kDescribedPerTask);
  ForEachTask([&](const Task& task, Worker* worker) {
    const Level& level = levels[task.level];
    const size_t begin = static_cast<size_t>(task.begin);
    const size_t end = static_cast<size_t>(task.end);
    size_t next = begin;
    for (int y0 = std::max(PointY(level.where[begin]) - pattern.reach, 0) / kBlurRows * kBlurRows; next < end;
         y0 += kBlurRows) {
      BlurBand(level, begin, end, y0, worker);
      const size_t first = next;
      const int blurred = y0 + kBlurRows < level.image.height ? y0 + kBlurRows - pattern.reach : level.image.height;
      while (next < end && PointY(level.where[next]) < blurred) ++next;
      DescribeBlurred(level, first, next, *worker, features);
    }
  });
}

// Descriptor::kBfrost.
void Pipeline::Impl::DescribeByRegions(Features* features) {
  pool.ForEach(levels.count(), [this](int l, int) {
    if (levels[l].count > 0) MakeIntegral(levels[l].image, levels[l].integral.data());
  });
  MakeKeypointTasks(kKeypointsPerTask);
  ForEachTask([&](const Task& task, Worker*) {
    const Level& level = levels[task.level];
    const IntegralView integral = {level.integral.data(), IntegralPitch(level.image.width), level.image.shape()};
    for (int i = task.begin; i < task.end; ++i) {
      DescribeBfrost(integral, bfrost, PointX(level.where[i]), PointY(level.where[i]),
                     RoundHalfEven(level.angle[i] / kDegreesPerArcStep),
                     features->descriptors.data() + (level.first_output + level.slot[i]) * kBfrostBytes);
    }
  });
}

}  // namespace glint::cpu
