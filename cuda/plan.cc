#include "cuda/plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cuda/stages.h"
#include "features/math.h"
#include "features/patch.h"

namespace glint::cuda {
namespace {

constexpr size_t kAlignment = 256;    // of arrays: whole cache lines
constexpr size_t kRowAlignment = 16;  // of image rows: vector loads; rows of most cameras then need no padding
constexpr size_t kSlack = 64;         // bytes after an image that kernels may read

size_t RoundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }
int DivideUp(int n, int by) { return (n + by - 1) / by; }

// The taps of an axis, the last one repeated to a whole vector of four.
std::vector<PackedTap> MakeTaps(int from, int to) {
  std::vector<PackedTap> taps;
  for (int i = 0; i < to; ++i) {
    const ResizeTap tap = MakeResizeTap(i, from, to);
    taps.push_back(static_cast<PackedTap>(tap.at) | static_cast<PackedTap>(tap.next_weight) << 16);
  }
  while (taps.size() % 4 != 0) taps.push_back(taps.back());
  return taps;
}

bool AreNarrow(const std::vector<PackedTap>& taps) {
  constexpr int kMostApart = 6;  // then the last output's second pixel is the eighth
  for (size_t i = 0; i < taps.size(); i += 4) {
    if (static_cast<int>(taps[i + 3] & 0xffff) - static_cast<int>(taps[i] & 0xffff) > kMostApart) return false;
  }
  return true;
}

// The farthest that a turned point of the pattern can be from the keypoint along an axis, after rounding; at least 2,
// which the descriptor stage needs.
int PatternReach(const RbriefPattern& pattern) {
  double longest = 0;
  for (const RbriefPair& p : pattern) {
    longest = std::max({longest, std::hypot(p.x0, p.y0), std::hypot(p.x1, p.y1)});
  }
  constexpr double kRounding = 0.501;  // half a pixel, and what the float product may be off
  return std::max(2, static_cast<int>(longest + kRounding));
}

}  // namespace

size_t Plan::AddScratch(size_t bytes) {
  const size_t offset = scratch_bytes_;
  scratch_bytes_ = RoundUp(offset + bytes, kAlignment);
  return offset;
}

template <typename T>
size_t Plan::AddTable(const std::vector<T>& table) {
  const size_t offset = tables_.size();
  tables_.resize(RoundUp(offset + table.size() * sizeof(T), kAlignment));
  std::memcpy(tables_.data() + offset, table.data(), table.size() * sizeof(T));
  return offset;
}

size_t Plan::image_bytes() const {
  return static_cast<size_t>(frame_.level[0].pitch) * frame_.level[0].height + kSlack;
}

Plan::Plan(const PlanKey& key) : key_(key) {
  const DetectorOptions& options = key.options;
  frame_.levels = options.levels;
  frame_.threshold = options.fast_threshold;
  frame_.edge = options.edge_threshold;
  frame_.patch_size = options.patch_size;
  frame_.orient = options.orientation == Orientation::kIntensityCentroid;
  frame_.key_is_response = options.score == Score::kMaxThreshold && options.ranking == Ranking::kScore;
  frame_.output_capacity = OutputCapacity(options);
  const PatchDisc disc = MakePatchDisc(options.patch_size);
  frame_.half_patch = disc.half;
  for (int v = 0; v <= disc.half; ++v) {
    for (int u = 0; u <= disc.half_width[v]; ++u) frame_.half_height[u] = static_cast<uint8_t>(v);
  }
  const bool describe = options.descriptor == Descriptor::kRbrief;
  result_bytes_ = sizeof(ResultHeader) + ResultStride(frame_.output_capacity) *
                                             (kResultArrays * sizeof(float) + (describe ? kRbriefBytes : 0));
  if (describe) {
    const RbriefPattern pattern = MakeRbriefPattern(options.patch_size);
    frame_.descriptor_reach = PatternReach(pattern);
    pattern_offset_ = AddTable(std::vector<RbriefPair>(pattern.begin(), pattern.end()));
  }
  PlanLevels();
  PlanTiles();
}

void Plan::PlanLevels() {
  const PyramidPlan pyramid = PlanPyramid(key_.options, key_.shape);
  const int border = std::max(key_.options.edge_threshold, kFastRadius);
  for (int l = 0; l < frame_.levels; ++l) {
    Level& level = frame_.level[l];
    Offsets& offsets = level_offsets_[l];
    const Shape shape = pyramid.level[l].shape;
    // A level that vanishes takes the smaller ones with it.
    if (shape.pixels() == 0 || (l > 0 && frame_.level[l - 1].width == 0)) continue;
    level.width = shape.width;
    level.height = shape.height;
    level.pitch = static_cast<int>(RoundUp(static_cast<size_t>(shape.width), kRowAlignment));
    level.scale = pyramid.level[l].scale;
    level.share = pyramid.level[l].max_features;
    level.first_share = key_.options.ranking == Ranking::kHarris ? 2 * level.share : level.share;

    const size_t bytes = static_cast<size_t>(level.pitch) * level.height + kSlack;
    offsets.image = AddScratch(bytes);
    if (key_.masked) offsets.mask = AddScratch(bytes);
    if (l > 0) {
      const Level& before = frame_.level[l - 1];
      const std::vector<PackedTap> columns = MakeTaps(before.width, level.width);
      level.narrow_taps = AreNarrow(columns);
      offsets.column_taps = AddTable(columns);
      offsets.row_taps = AddTable(MakeTaps(before.height, level.height));
    }
    // Suppression leaves at most one corner in each square of 2 x 2.
    const size_t most = static_cast<size_t>(DivideUp(std::max(shape.width - 2 * border, 0), 2)) *
                        static_cast<size_t>(DivideUp(std::max(shape.height - 2 * border, 0), 2));
    offsets.candidates = AddScratch(most * sizeof(Candidate));
    offsets.shortlist = AddScratch(most * sizeof(Candidate));
    offsets.ranked = AddScratch(std::min(most, static_cast<size_t>(frame_.output_capacity)) * sizeof(RankedCorner));
  }
}

void Plan::PlanTiles() {
  const CornerTiling tiling = GetCornerTiling();
  const int border = std::max(key_.options.edge_threshold, kFastRadius);
  for (int l = 0; l < frame_.levels; ++l) {
    Level& level = frame_.level[l];
    level.first_tile = frame_.tiles;
    level.tile_x0 = (border - tiling.margin_x) & ~(tiling.alignment - 1);
    const int columns = level.width - border - (level.tile_x0 + tiling.margin_x);
    const int rows = level.height - 2 * border;
    const bool any = level.width > 2 * border && rows > 0;
    level.tiles_x = any ? DivideUp(columns, tiling.width) : 1;
    int tiles = any ? level.tiles_x * DivideUp(rows, tiling.height) : 0;
    // The corner stage runs in any case, if only to clear counters.
    if (l == 0) tiles = std::max(tiles, 1);
    frame_.tiles += tiles;
  }
}

Frame Plan::Place(const PlanMemory& memory) const {
  Frame frame = frame_;
  frame.counters = memory.counters;
  frame.result = memory.result;
  if (key_.options.descriptor == Descriptor::kRbrief) {
    frame.pattern = reinterpret_cast<const RbriefPair*>(memory.tables + pattern_offset_);
  }
  for (int l = 0; l < frame.levels; ++l) {
    Level& level = frame.level[l];
    const Offsets& offsets = level_offsets_[l];
    level.image = memory.scratch + offsets.image;
    if (key_.masked) level.mask = memory.scratch + offsets.mask;
    level.candidates = reinterpret_cast<Candidate*>(memory.scratch + offsets.candidates);
    level.shortlist = reinterpret_cast<Candidate*>(memory.scratch + offsets.shortlist);
    level.ranked = reinterpret_cast<RankedCorner*>(memory.scratch + offsets.ranked);
    level.column_taps = reinterpret_cast<const PackedTap*>(memory.tables + offsets.column_taps);
    level.row_taps = reinterpret_cast<const PackedTap*>(memory.tables + offsets.row_taps);
  }
  if (memory.image != nullptr) frame.level[0].image = memory.image;
  if (key_.masked && memory.mask != nullptr) frame.level[0].mask = memory.mask;
  return frame;
}

}  // namespace glint::cuda
