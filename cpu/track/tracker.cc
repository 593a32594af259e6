#include "cpu/track/tracker.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "cpu/common/stages.h"
#include "features/track_point.h"

namespace glint::cpu {
namespace {

constexpr int kPointsOfTask = 16;

// A copy of a window that reaches over the image's edges, or so close to its end that reading whole blocks would leave
// its memory.
struct WindowCopy {
  static constexpr int kStride = 64;
  static constexpr int kRows = kMaxTrackPatch + 3;
  static_assert(TrackReadBytes(kMaxTrackPatch + 2) <= kStride, "rows fit");
  // Which window it is.
  const uint8_t* image = nullptr;
  int x = 0;
  int y = 0;
  int size = 0;
  alignas(64) uint8_t pixels[kRows * kStride] = {};
};

// May whole blocks of a window of `size` samples at (x, y) be read from the image?
bool IsReadable(const ImageView& image, int x, int y, int size) {
  if (x < 0 || y < 0 || x + size >= image.width || y + size >= image.height) return false;
  const ptrdiff_t end = (y + size) * image.stride + x + TrackReadBytes(size);
  return end <= (image.height - 1) * image.stride + image.width;
}

// Rows and columns outside have the pixels of the nearest ones inside.
void CopyWindow(const ImageView& image, int x, int y, int size, WindowCopy* copy) {
  if (copy->image == image.data && copy->x == x && copy->y == y && copy->size == size) return;
  copy->image = image.data;
  copy->x = x;
  copy->y = y;
  copy->size = size;
  const int count = size + 1;
  const int before = std::clamp(-x, 0, count);
  const int after = std::clamp(x + count - image.width, 0, count);
  for (int i = 0; i < count; ++i) {
    const uint8_t* const row = image.row(Clamp(y + i, 0, image.height - 1));
    uint8_t* const to = copy->pixels + i * WindowCopy::kStride;
    if (before > 0) std::memset(to, row[0], static_cast<size_t>(before));
    if (before + after < count) {
      std::memcpy(to + before, row + (x + before), static_cast<size_t>(count - before - after));
    }
    if (after > 0) std::memset(to + count - after, row[image.width - 1], static_cast<size_t>(after));
  }
}

TrackWindow WindowAt(const ImageView& image, const PatchPosition& at, int size, WindowCopy* copy) {
  if (IsReadable(image, at.x, at.y, size)) {
    return {image.row(at.y) + at.x, image.stride, at.weight_x, at.weight_y};
  }
  CopyWindow(image, at.x, at.y, size, copy);
  return {copy->pixels, WindowCopy::kStride, at.weight_x, at.weight_y};
}

}  // namespace

struct TrackScratch {
  TrackPatch patch;
  TrackMask whole;  // all pixels of a patch of whole_size count
  int whole_size = 0;
  TrackMask part;  // of a patch that reaches over the image's edges
  WindowCopy from;
  WindowCopy to;
};

namespace {

// What TrackPoint() asks for.
class Patches {
 public:
  Patches(const TrackInput& input, const TrackOptions& options, const TrackKernels& kernels, TrackScratch* scratch)
      : from_(input.from.levels),
        to_(input.to.levels),
        levels_(UsedTrackLevels(options, input.from.levels[0].shape())),
        kernels_(kernels),
        model_(IndexOf(options.intensity)),
        scratch_(scratch) {
    // The copies are of an earlier call.
    scratch->from.image = nullptr;
    scratch->to.image = nullptr;
  }

  int levels() const { return levels_; }
  int width(int level) const { return to_[level].width; }
  int height(int level) const { return to_[level].height; }
  IntensityModel intensity() const { return static_cast<IntensityModel>(model_); }
  TemplateSums Template(int level, GridPoint centre, int size, GridPoint /*first*/) {
    level_ = level;
    size_ = size;
    PatchPosition at = PatchPositionAt(centre, size);
    ChooseMask(at, from_[level]);
    --at.x;
    --at.y;
    return kernels_.make_template[model_](WindowAt(from_[level], at, size + 2, &scratch_->from), size, *mask_,
                                          &scratch_->patch);
  }
  CellSums Cell(int x, int y) { return kernels_.cell[model_](WindowOf({x, y, 0, 0}), size_, *mask_, scratch_->patch); }
  ResidualSums Residual(GridPoint at) {
    return kernels_.residual(WindowOf(PatchPositionAt(at, size_)), size_, *mask_, scratch_->patch);
  }
  void Reverse(float /*x*/, float /*y*/) { std::swap(from_, to_); }

 private:
  void ChooseMask(const PatchPosition& at, const ImageView& image) {
    const int x0 = Clamp(-at.x, 0, size_);
    const int y0 = Clamp(-at.y, 0, size_);
    const int x1 = Clamp(image.width - at.x, 0, size_);
    const int y1 = Clamp(image.height - at.y, 0, size_);
    const bool is_whole = x0 == 0 && y0 == 0 && x1 == size_ && y1 == size_;
    mask_ = is_whole ? &scratch_->whole : &scratch_->part;
    if (is_whole && scratch_->whole_size == size_) return;
    if (is_whole) scratch_->whole_size = size_;
    FillTrackMask(size_, x0, y0, x1, y1, mask_);
  }
  TrackWindow WindowOf(const PatchPosition& at) { return WindowAt(to_[level_], at, size_, &scratch_->to); }

  const ImageView* from_;
  const ImageView* to_;
  const int levels_;
  const TrackKernels& kernels_;
  const size_t model_;
  TrackScratch* const scratch_;
  TrackMask* mask_ = nullptr;
  int level_ = 0;
  int size_ = 0;
};

}  // namespace

TrackLevels::TrackLevels() : kernels_(TrackKernelsFor(BestSimdTarget())) {}

void TrackLevels::Build(const ImageView& image, int levels) {
  views_[0] = image;
  for (count_ = 1; count_ < levels; ++count_) {
    const auto l = static_cast<size_t>(count_);
    const ImageView& finer = views_[l - 1];
    const Shape shape = {finer.width / 2, finer.height / 2};
    if (shape.pixels() == 0) return;
    images_[l].Resize(shape);
    int16_t* const scratch = scratch_.Reserve(HalveScratchElements(finer.width));
    for (int y = 0; y < shape.height; ++y) {
      const uint8_t* rows[kPyramidTaps];
      for (int i = 0; i < kPyramidTaps; ++i) {
        rows[i] = finer.row(Clamp(2 * y + i - kPyramidReach, 0, finer.height - 1));
      }
      kernels_.halve_row(rows, finer.width, scratch, images_[l].row(y));
    }
    views_[l] = images_[l];
  }
}

Tracker::Tracker(int threads)
    : pool_(threads), kernels_(TrackKernelsFor(BestSimdTarget())), scratch_(static_cast<size_t>(pool_.threads())) {}

Tracker::~Tracker() = default;

void Tracker::Track(const TrackInput& input, const TrackOptions& options, TrackResult* result) {
  result->Resize(static_cast<size_t>(input.count));
  const int tasks = (input.count + kPointsOfTask - 1) / kPointsOfTask;
  pool_.ForEach(tasks, [&](int task, int worker) {
    TrackScratch* const scratch = &scratch_[static_cast<size_t>(worker)];
    const auto end = static_cast<size_t>(std::min((task + 1) * kPointsOfTask, input.count));
    for (auto i = static_cast<size_t>(task * kPointsOfTask); i < end; ++i) {
      const float dx = input.to_x == nullptr ? 0 : input.to_x[i] - input.x[i];
      const float dy = input.to_y == nullptr ? 0 : input.to_y[i] - input.y[i];
      Patches patches(input, options, kernels_, scratch);
      StoreTrackedPoint(TrackPoint(input.x[i], input.y[i], dx, dy, options, &patches), i, result);
    }
  });
}

}  // namespace glint::cpu
