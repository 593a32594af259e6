#include "cuda/plan/plan.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "cuda/plan/describe_tables.h"
#include "cuda/plan/tiling.h"
#include "features/math.h"
#include "features/patch.h"

namespace glint::cuda {
namespace {

constexpr size_t kAlignment = 256;    // of arrays: whole cache lines
constexpr size_t kRowAlignment = 16;  // of image rows: vector loads; rows of most cameras then need no padding
constexpr size_t kSlack = 64;         // bytes after an image that kernels may read

size_t RoundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

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

Plan::Plan(const PlanKey& key, int multiprocessors) : key_(key) {
  const DetectorOptions& options = key.options;
  frame_.levels = options.levels;
  frame_.score_bins = SelectsTopNPerLevel(options) ? kFastScores : kScores;
  frame_.threshold = options.fast_threshold;
  frame_.edge = options.edge_threshold;
  frame_.orient = options.orientation == Orientation::kIntensityCentroid;
  const PatchDisc disc = MakePatchDisc(options.patch_size);
  frame_.half_patch = disc.half;
  std::copy_n(disc.half_width.begin(), disc.half + 1, frame_.half_width);
  disc_offset_ = AddTable(MakeDiscMasks(disc, &frame_.disc_vectors, &frame_.disc_batches));
  const bool describe = options.descriptor == Descriptor::kRbrief;
  if (describe) {
    const RbriefPattern pattern = MakeRbriefPattern(options.patch_size);
    frame_.descriptor_reach = PatternReach(pattern);
    pattern_offset_ = AddTable(std::vector<RbriefPair>(pattern.begin(), pattern.end()));
  }
  PlanLevels();
  frame_.orient_early = OrientsEarly(options, frame_, multiprocessors);
  ChooseCornerBlocks(options, key.parts, multiprocessors, &frame_);
  for (int part = 0; part < key.parts; ++part) {
    parts_.push_back(MakePart(part));
    small_levels_.push_back(MakeSmallLevels(parts_.back(), multiprocessors));
  }
  if (options.selection == Selection::kQuadtree) {
    quadtree_.emplace(options, frame_, [this](size_t bytes) { return AddScratch(bytes); });
  }
  if (HasSelectionParams(options)) {
    selection_.emplace(
        options, frame_, multiprocessors, [this](size_t bytes) { return AddScratch(bytes); },
        [this](const std::vector<uint8_t>& table) { return AddTable(table); });
  }
  for (int part = 0; part < key.parts; ++part) {
    const bool selects = selection_.has_value();
    const bool has_quadtree = quadtree_.has_value();
    schedules_.push_back(MakeSchedule(
        {options, parts_[part], small_levels_[part].small, selects ? &selection_->params() : nullptr,
         has_quadtree ? &quadtree_->params() : nullptr, selects ? selection_->bounded_tiles() : BoundedTiles::kUsual,
         key.masked, part + 1 == key.parts, multiprocessors}));
  }
}

// What suppression, or the quadtree, can leave of level `index`.
size_t Plan::MaxCorners(const PyramidPlan& pyramid, int index) const {
  if (HasSelectionParams(key_.options)) return MaxCornersOfLevel(key_.options, pyramid, index);
  if (key_.options.selection == Selection::kQuadtree) {
    return MostQuadtreeNodes(pyramid.level[index].shape, pyramid.level[index].max_features);
  }
  const int border = std::max(key_.options.edge_threshold, kFastRadius);
  const Shape shape = pyramid.level[index].shape;
  // At most one corner in each square of 2 x 2.
  return static_cast<size_t>(DivideUp(std::max(shape.width - 2 * border, 0), 2)) *
         static_cast<size_t>(DivideUp(std::max(shape.height - 2 * border, 0), 2));
}

void Plan::PlanLevels() {
  const PyramidPlan pyramid = PlanPyramid(key_.options, key_.shape);
  size_t candidates = 0;
  result_bytes_ = sizeof(ResultHeader);
  for (int l = 0; l < frame_.levels; ++l) {
    Level& level = frame_.level[l];
    Offsets& offsets = level_offsets_[l];
    const Shape shape = pyramid.level[l].shape;
    // A level that vanishes takes the smaller ones with it.
    if (shape.pixels() == 0 || (l > 0 && frame_.level[l - 1].width == 0)) continue;
    level.width = shape.width;
    level.height = shape.height;
    level.pitch = static_cast<int>(RoundUp(static_cast<size_t>(shape.width), kRowAlignment));
    level.end_row = shape.height;
    level.scale = pyramid.level[l].scale;
    level.share = pyramid.level[l].max_features;
    level.first_share = key_.options.ranking == Ranking::kHarris ? 2 * level.share : level.share;
    // Where levels do not have shares, what reaches the shortlist stays.
    if (key_.options.selection != Selection::kTopN) level.share = std::numeric_limits<int>::max();

    const size_t bytes = static_cast<size_t>(level.pitch) * level.height + kSlack;
    offsets.image = AddScratch(bytes);
    if (key_.masked) offsets.mask = AddScratch(bytes);
    if (l > 0) PlanResize(l);
    const size_t most = MaxCorners(pyramid, l);
    const size_t room = std::max(most, static_cast<size_t>(kSpeculativeEntries));
    const bool has_buckets = HasLevelBuckets(key_.options);
    if (!has_buckets && key_.options.selection != Selection::kQuadtree) candidates += most;
    if (has_buckets) {
      level.bucket_room = BucketRoomFor(level.first_share, most);
      offsets.buckets = AddScratch(size_t{kBins} * level.bucket_room * sizeof(Candidate));
      offsets.overflow = AddScratch(most * sizeof(Candidate));
    } else if (HasShortlists(key_.options)) {
      offsets.shortlist = AddScratch(room * sizeof(ShortlistEntry));
      offsets.shortlist_keys = AddScratch(room * sizeof(uint32_t));
    } else {
      offsets.shortlist = AddScratch(most * sizeof(Candidate));
    }
    level.ranked_capacity = static_cast<int>(std::min(most, static_cast<size_t>(OutputCapacity(key_.options))));
    offsets.ranked = AddScratch(level.ranked_capacity * sizeof(RankedCorner));
    offsets.result = result_bytes_;
    result_bytes_ += level.ranked_capacity * sizeof(RankedCorner);
    if (key_.options.descriptor != Descriptor::kNone) {
      offsets.descriptors = result_bytes_;
      result_bytes_ += static_cast<size_t>(level.ranked_capacity) * kRbriefBytes;
    }
  }
  candidates_offset_ = AddScratch(candidates * sizeof(Candidate));
  frame_.candidate_room = static_cast<uint32_t>(candidates);
}

// How level `index` is made: the taps, and the tables that the kernels read.
void Plan::PlanResize(int index) {
  const DetectorOptions& options = key_.options;
  Level& level = frame_.level[index];
  Offsets& offsets = level_offsets_[index];
  const Level& before = frame_.level[options.pyramid == Pyramid::kDirect ? 0 : index - 1];
  const bool linear = HasLinearLevels(options);
  const AxisTaps columns = MakeAxisTaps(before.width, level.width, linear);
  const AxisTaps rows = MakeAxisTaps(before.height, level.height, linear);
  const bool masks_differ = linear && key_.masked;
  const AxisTaps mask_columns = masks_differ ? MakeAxisTaps(before.width, level.width, false) : columns;
  const AxisTaps mask_rows = masks_differ ? MakeAxisTaps(before.height, level.height, false) : rows;
  level.one_window = options.pyramid == Pyramid::kCascaded && FitOneWindow(columns) && FitOneWindow(mask_columns);
  level.pair_windows = FitPairWindows(columns) && FitPairWindows(mask_columns);
  // The tables of image and mask, or one for both: how many entries they are apart.
  const auto add = [&](size_t* offset, const auto& image, const auto& mask) {
    *offset = AddTable(image);
    return masks_differ ? static_cast<int>((AddTable(mask) - *offset) / sizeof(image[0])) : 0;
  };
  if (level.one_window) {
    level.mask_columns = add(&offsets.columns, MakeColumnGroups(columns), MakeColumnGroups(mask_columns));
    level.mask_steps = add(&offsets.steps, MakeRowSteps(rows), MakeRowSteps(mask_rows));
  } else if (options.pyramid != Pyramid::kHalf) {
    level.mask_columns = add(&offsets.columns, MakeColumnPairs(columns, level.pair_windows),
                             MakeColumnPairs(mask_columns, level.pair_windows));
    level.mask_steps = add(&offsets.steps, MakePairSteps(rows), MakePairSteps(mask_rows));
  }
  column_taps_[index] = columns;
  row_taps_[index] = rows;
  if (masks_differ) mask_row_taps_[index] = mask_rows;
}

int Plan::part_end(int part) const {
  const int height = frame_.level[0].height;
  return part + 1 == key_.parts ? height : height * (part + 1) / key_.parts;
}

Frame Plan::MakePart(int part) const {
  Frame made = frame_;
  // Of each level, what is there before the part and after it.
  int before = part > 0 ? part_end(part - 1) : 0;
  int after = part_end(part);
  for (int l = 0; l < made.levels; ++l) {
    Level& level = made.level[l];
    if (l > 0) {
      const int from = made.level[l - 1].height;
      const int from_before = before;
      const int from_after = after;
      before = after = 0;
      for (int y = 0; y < level.height; ++y) {
        const int last = std::min(MakeResizeTap(y, from, level.height).at + 1, from - 1);
        if (last < from_before) before = y + 1;
        if (last < from_after) after = y + 1;
      }
    }
    level.first_row = before;
    level.end_row = after;
    if (l > 0 && before < after) {
      const auto step_of = [&](const AxisTaps& taps, int y) {
        return level.one_window ? taps.At(y) : PairStepOf(taps, y);
      };
      level.first_step = step_of(row_taps_[l], before);
      level.end_step = step_of(row_taps_[l], after - 1) + 1;
      // Such images come whole: step 0 is the first of both.
      if (mask_row_taps_[l].to > 0)
        level.end_step = std::max(level.end_step, step_of(mask_row_taps_[l], after - 1) + 1);
    }
    level.first_strip = part > 0 ? StripsIn(key_.options, made, level, before) : 0;
    level.end_strip = StripsIn(key_.options, made, level, after);
  }
  CountBlocks(&made);
  return made;
}

Plan::PlacedSmallLevels Plan::MakeSmallLevels(const Frame& part, int multiprocessors) {
  PlacedSmallLevels placed;
  if (key_.options.pyramid != Pyramid::kCascaded) return placed;
  if (key_.masked && HasLinearLevels(key_.options)) return placed;  // a tile has one set of tables
  const SmallLevelsPlan plan = PlanSmallLevels(part, column_taps_, row_taps_, multiprocessors);
  placed.small = plan.small;
  placed.columns = AddTable(plan.columns);
  placed.rows = AddTable(plan.rows);
  return placed;
}

SmallLevels Plan::PlaceSmallLevels(const PlanMemory& memory, int part) const {
  const Frame frame = Place(memory, part);
  SmallLevels small = small_levels_[part].small;
  small.column_tables = reinterpret_cast<const uint4*>(memory.tables + small_levels_[part].columns);
  small.row_tables = reinterpret_cast<const uint4*>(memory.tables + small_levels_[part].rows);
  for (int l = 0; l < small.levels; ++l) {
    const Level& level = frame.level[small.first + l];
    small.level[l].image = level.image;
    small.level[l].mask = level.mask;
    small.level[l].pitch = level.pitch;
  }
  return small;
}

Frame Plan::Place(const PlanMemory& memory, int part) const {
  Frame frame = parts_[part];
  frame.counters = memory.counters;
  frame.result = reinterpret_cast<ResultHeader*>(memory.result);
  frame.candidates = reinterpret_cast<Candidate*>(memory.scratch + candidates_offset_);
  frame.disc_masks = reinterpret_cast<const uint2*>(memory.tables + disc_offset_);
  const bool describe = key_.options.descriptor != Descriptor::kNone;
  if (frame.descriptor_reach > 0) frame.pattern = reinterpret_cast<const RbriefPair*>(memory.tables + pattern_offset_);
  for (int l = 0; l < frame.levels; ++l) {
    Level& level = frame.level[l];
    const Offsets& offsets = level_offsets_[l];
    level.image = memory.scratch + offsets.image;
    if (key_.masked) level.mask = memory.scratch + offsets.mask;
    if (HasLevelBuckets(key_.options)) {
      level.buckets = reinterpret_cast<Candidate*>(memory.scratch + offsets.buckets);
      level.overflow = reinterpret_cast<Candidate*>(memory.scratch + offsets.overflow);
    } else if (HasShortlists(key_.options)) {
      level.shortlist_entries = reinterpret_cast<ShortlistEntry*>(memory.scratch + offsets.shortlist);
      level.shortlist_keys = reinterpret_cast<uint32_t*>(memory.scratch + offsets.shortlist_keys);
    } else {
      level.shortlist = reinterpret_cast<Candidate*>(memory.scratch + offsets.shortlist);
    }
    level.ranked = reinterpret_cast<RankedCorner*>(memory.scratch + offsets.ranked);
    level.result = reinterpret_cast<RankedCorner*>(memory.result + offsets.result);
    if (describe) {
      level.descriptors = (memory.descriptors != nullptr ? memory.descriptors : memory.result) + offsets.descriptors;
    }
    level.column_groups = reinterpret_cast<const ColumnGroup*>(memory.tables + offsets.columns);
    level.row_steps = reinterpret_cast<const RowMix*>(memory.tables + offsets.steps);
    level.column_pairs = reinterpret_cast<const ColumnPair*>(memory.tables + offsets.columns);
    level.pair_steps = reinterpret_cast<const RowStep*>(memory.tables + offsets.steps);
  }
  if (memory.image != nullptr) frame.level[0].image = memory.image;
  if (key_.masked && memory.mask != nullptr) frame.level[0].mask = memory.mask;
  return frame;
}

}  // namespace glint::cuda
