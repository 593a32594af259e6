// The steps of Pipeline that give keypoints angles and descriptors.
#include <algorithm>
#include <cstring>

#include "cpu/describe/bfrost.h"
#include "cpu/describe/blur_block_mask.h"
#include "cpu/describe/patch_copy.h"
#include "cpu/pipeline_impl.h"
#include "features/arc.h"
#include "features/math.h"

namespace glint::cpu {

void Pipeline::Impl::Orient(Features* features) {
  MakeKeypointTasks();
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

void Pipeline::Impl::Blur() {
  pool.ForEach(levels.count(), [this](int l, int) {
    const Level& level = levels[l];
    if (level.count == 0) return;
    MarkBlurBlocks(level.where.data(), level.count, level.image.shape(), pattern.reach, levels[l].blur_mask.data());
  });
  MakeTasks([this](int l) {
    Level& level = levels[l];
    if (level.count == 0) return;
    const int height = level.image.height;
    const int strips = BlurStrips(level.image.width);
    const int rows = pool.threads() == 1 ? height : kBlurTaskRows;
    for (int strip = 0; strip < strips; ++strip) {
      for (int y = 0; y < height; y += rows) tasks.push_back({l, strip, y, std::min(y + rows, height)});
    }
  });
  ForEachTask([this](const Task& task, Worker* worker) {
    Level& level = levels[task.level];
    BlurJob job;
    job.image = level.image;
    job.blur_mask = BlurBlockMaskRows(level.blur_mask.data(), level.image.height, task.strip);
    job.strip = task.strip;
    job.y0 = task.begin;
    job.y1 = task.end;
    job.out = level.blurred.memory.data();
    job.out_stride = level.blurred.view.stride;
    if (quadtree) {
      quadtree_stages.blur(job, worker->fixed_blur.data());
    } else {
      stages.blur(job, worker->blur.data());
    }
  });
}

// Reads blurred pixels inside the level and reflections of unblurred pixels outside: cv::ORB blurs the level alone, not
// its margin.
void Pipeline::Impl::DescribeAtBorder(const Level& level, int x, int y, float angle, uint8_t* descriptor) {
  constexpr int kPitch = 128;
  uint8_t patch[kPitch * kPitch];
  const int reach = pattern.reach;
  const int side = 2 * reach + 1;
  CopyPatch(level.image, x - reach, y - reach, side, side, patch, kPitch);
  const int u0 = std::max(x - reach, 0);
  const int u1 = std::min(x + reach + 1, level.image.width);
  for (int v = std::max(y - reach, 0); v < std::min(y + reach + 1, level.image.height); ++v) {
    std::memcpy(patch + (v - y + reach) * kPitch + (u0 - x + reach), level.blurred.view.row(v) + u0,
                static_cast<size_t>(u1 - u0));
  }
  stages.describe(pattern, patch + reach * kPitch + reach, kPitch, angle, descriptor);
}

void Pipeline::Impl::Describe(Features* features) {
  MakeKeypointTasks();
  ForEachTask([&](const Task& task, Worker*) {
    const Level& level = levels[task.level];
    const int reach = pattern.reach;
    for (int i = task.begin; i < task.end; ++i) {
      const int x = PointX(level.where[i]);
      const int y = PointY(level.where[i]);
      uint8_t* descriptor = features->descriptors.data() + (level.first_output + level.slot[i]) * kRbriefBytes;
      if (x >= reach && y >= reach && x + reach < level.image.width && y + reach < level.image.height) {
        stages.describe(pattern, level.blurred.view.row(y) + x, level.blurred.view.stride, level.angle[i], descriptor);
      } else {
        DescribeAtBorder(level, x, y, level.angle[i], descriptor);
      }
    }
  });
}

// Descriptor::kBfrost.
void Pipeline::Impl::DescribeByRegions(Features* features) {
  pool.ForEach(levels.count(), [this](int l, int) {
    if (levels[l].count > 0) MakeIntegral(levels[l].image, levels[l].integral.data());
  });
  MakeKeypointTasks();
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
