#include "cuda/plan/selection_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "cuda/plan/schedule.h"
#include "cuda/plan/tiling.h"
#include "features/bfrost.h"
#include "features/math.h"

namespace glint::cuda {
namespace {

constexpr size_t kAlignment = 256;

size_t RoundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

CornerOutput OutputOf(const DetectorOptions& options) {
  switch (options.selection) {
    case Selection::kGrid:
      return CornerOutput::kImageCells;
    case Selection::kPyca:
      return CornerOutput::kLevelCells;
    case Selection::kTopN:
      return HasLevelBuckets(options) ? CornerOutput::kBuckets : CornerOutput::kShortlists;
    default:
      return CornerOutput::kList;
  }
}

size_t CellsOf(Shape shape, int cell_width, int cell_height) {
  return static_cast<size_t>(DivideUp(shape.width, cell_width)) *
         static_cast<size_t>(DivideUp(shape.height, cell_height));
}

// The most cells that so many neighbouring pixels of a level fall in; `scale` takes them to the cells' image.
int MostCells(int pixels, float scale, int cell) {
  return static_cast<int>(static_cast<float>(pixels - 1) * scale + 1) / cell + 2;
}

// What brings all scores below 1.
float KeyScale(const DetectorOptions& options) {
  if (options.score == Score::kHarris) return 1;
  if (options.selection == Selection::kPyca) return 0x1p-16f;  // kMaxLevels * 4080
  if (options.selection == Selection::kTopN) return 0x1p-16f;  // where BucketKeys tell them apart
  return options.score == Score::kMaxThreshold ? 0x1p-8f : 0x1p-12f;
}

}  // namespace

size_t MaxCornersOfLevel(const DetectorOptions& options, const PyramidPlan& plan, int index) {
  const LevelPlan& level = plan.level[index];
  const int border = options.corner_test == CornerTest::kEveryPixel ? options.edge_threshold
                                                                    : std::max(options.edge_threshold, kFastRadius);
  // Suppression leaves at most one corner in each square of this side.
  const int side = options.suppression_radius + 1;
  const auto across = [=](int size) { return static_cast<size_t>(DivideUp(std::max(size - 2 * border, 0), side)); };
  const size_t maxima = across(level.shape.width) * across(level.shape.height);
  switch (options.selection) {
    case Selection::kGrid:
      return std::min(maxima, CellsOf(plan.level[0].shape, options.cell_width, options.cell_height));
    case Selection::kPyca:
      return std::min(maxima, CellsOf(level.shape, LevelCell(options.cell_width, level.scale),
                                      LevelCell(options.cell_height, level.scale)));
    default:
      return maxima;
  }
}

size_t SelectionPlan::AddState(size_t bytes) {
  const size_t offset = state_bytes_;
  state_bytes_ = RoundUp(offset + bytes, kAlignment);
  return offset;
}

SelectionPlan::SelectionPlan(const DetectorOptions& options, const Frame& frame, int multiprocessors,
                             const AddScratch& add_scratch, const AddTable& add_table) {
  params_.output = OutputOf(options);
  params_.pyramid = options.pyramid;
  params_.score = options.score;
  params_.is_dense = options.corner_test == CornerTest::kEveryPixel;
  params_.max_arc = options.max_arc;
  params_.arc_length = options.arc_length;
  params_.radius = options.suppression_radius;
  params_.reach = options.aggregation_window / 2;
  params_.wanted = static_cast<uint32_t>(options.max_features);
  params_.key_scale = KeyScale(options);
  // Harris measures replace the keys that the first ranking used.
  response_scale_ = options.ranking == Ranking::kHarris ? 1 : 1 / params_.key_scale;
  counters_offset_ = AddState(sizeof(SelectionCounters));
  if (params_.is_dense) {
    PlanDense(options, frame, multiprocessors, add_scratch);
  }
  PlanCells(options, frame);
  if (!params_.is_dense) bounded_tiles_ = ChooseBoundedTiles(options, frame, multiprocessors, &params_);
  PlanRanking(options, frame);
  if (options.descriptor == Descriptor::kBfrost) PlanIntegrals(options, frame, add_scratch, add_table);
  const bool in_buckets =
      params_.is_dense || params_.output == CornerOutput::kList || params_.output == CornerOutput::kLevelCells;
  // What is left by a cut has much the same scores.
  params_.spread = params_.ranks ? 0 : 3;
  params_.list_words = (in_buckets ? sizeof(BucketCounts) : offsetof(BucketCounts, of_bin)) / sizeof(uint32_t);
  if (in_buckets) buckets_offset_ = add_scratch((size_t{kBucketRoom} << kRankBits) * sizeof(Candidate));
}

void SelectionPlan::PlanCells(const DetectorOptions& options, const Frame& frame) {
  if (params_.output != CornerOutput::kImageCells && params_.output != CornerOutput::kLevelCells) return;
  size_t cells = 0;
  const Shape image = {frame.level[0].width, frame.level[0].height};
  // What a usual tile owns.
  const int owned_columns = kBoundedTestedColumns - 2 * BoundedHaloX(options.suppression_radius);
  const int owned_rows = ShapeOf(options.score, BoundedTiles::kUsual).TestedRows() - 2 * options.suppression_radius;
  for (int l = 0; l < frame.levels; ++l) {
    LevelParams& level = params_.level[l];
    const bool by_level = params_.output == CornerOutput::kLevelCells;
    const Shape shape = by_level ? Shape{frame.level[l].width, frame.level[l].height} : image;
    const float scale = by_level ? frame.level[l].scale : 1.0f;
    if (shape.width == 0) continue;
    const int cell_width = LevelCell(options.cell_width, scale);
    const int cell_height = LevelCell(options.cell_height, scale);
    level.cell_width_reciprocal = CellReciprocal(cell_width);
    level.cell_height_reciprocal = CellReciprocal(cell_height);
    level.cells_x = DivideUp(shape.width, cell_width);
    level.first_cell = by_level ? static_cast<int>(cells) : 0;
    const float to_cells = by_level ? 1.0f : frame.level[l].scale;
    const int tile_cells_x = MostCells(owned_columns, to_cells, cell_width);
    const int tile_cells_y = MostCells(owned_rows, to_cells, cell_height);
    const bool by_tile_cells = options.score != Score::kHarris && options.suppression_radius <= kMaxTileCellRadius &&
                               tile_cells_x * tile_cells_y <= kMaxTileCells;
    level.tile_cells_x = by_tile_cells ? tile_cells_x : 0;
    params_.by_tile_cells = params_.by_tile_cells || by_tile_cells;
    if (by_level || l == 0) cells += CellsOf(shape, cell_width, cell_height);
  }
  cells += cells % 2;  // for vectors of two
  params_.cell_count = static_cast<uint32_t>(cells);
  cells_offset_ = AddState(2 * cells * sizeof(uint64_t));
}

void SelectionPlan::PlanRanking(const DetectorOptions& options, const Frame& frame) {
  const PyramidPlan plan = PlanPyramid(options, {frame.level[0].width, frame.level[0].height});
  size_t candidates = 0;
  for (int l = 0; l < frame.levels; ++l) {
    if (frame.level[l].width > 0) candidates += MaxCornersOfLevel(options, plan, l);
  }
  // What levels' cells and dense Harris bring goes straight to the ranking's buckets.
  params_.ranks =
      params_.output == CornerOutput::kImageCells || params_.output == CornerOutput::kLevelCells || params_.is_dense;
  params_.ranks_in_last_block = RanksInLastBlock(options, params_, bounded_tiles_);
  params_.most = params_.output == CornerOutput::kImageCells ? params_.cell_count : static_cast<uint32_t>(candidates);
  // The levels share the bins.
  params_.level_bits = kRankBits;
  for (int slots = 1; slots < frame.levels; slots *= 2) --params_.level_bits;
  // Integer scores span few octaves, measures many.
  const int octave_bits = options.score == Score::kHarris ? 5 : 3;
  constexpr int kMantissaBits = 23;
  params_.rank_shift = kMantissaBits + octave_bits - params_.level_bits;
  constexpr int kScoreBits = 8;
  params_.by_score = options.score == Score::kMaxThreshold && params_.output != CornerOutput::kLevelCells &&
                     params_.level_bits >= kScoreBits;
  if (!params_.by_score) return;
  params_.per_score = 1 / params_.key_scale;
  params_.tie_bits = params_.level_bits - kScoreBits;
  while (frame.level[0].height > 1 << (params_.tie_shift + params_.tie_bits)) ++params_.tie_shift;
}

void SelectionPlan::PlanDense(const DetectorOptions& options, const Frame& frame, int multiprocessors,
                              const AddScratch& add_scratch) {
  const Level& level = frame.level[0];
  params_.block_radius = options.harris_block / 2;
  params_.harris_k = options.harris_k;
  params_.harris_scale4 = HarrisScale4(options.harris_block);
  params_.response_threshold = options.response_threshold;
  params_.is_fraction = options.threshold_unit == ThresholdUnit::kFractionOfMax;
  const DenseTiling tiling = DenseTilingOf(level.width, params_.block_radius, params_.radius);
  params_.strips_x = tiling.strips_x;
  params_.strip_rows = ChooseDenseStripRows(options, frame, multiprocessors);
  params_.tiles = tiling.strips_x * DivideUp(level.height, tiling.warps * params_.strip_rows);
  smooth_ = options.smooth;
  if (smooth_) smooth_offset_ = add_scratch(static_cast<size_t>(level.pitch) * level.height);
}

void SelectionPlan::PlanIntegrals(const DetectorOptions& options, const Frame& frame, const AddScratch& add_scratch,
                                  const AddTable& add_table) {
  integrals_ = true;
  // From where a page of the device's memory begins: in some other places describing takes 2 us longer, by measurement.
  constexpr size_t kPage = size_t{1} << 21;
  const size_t end = add_scratch(0);
  add_scratch(RoundUp(end, kPage) - end);
  const BfrostPattern pattern = MakeBfrostPattern(options.bfrost_scale);
  std::vector<uint8_t> table(sizeof(pattern.regions));
  std::memcpy(table.data(), pattern.regions, table.size());
  bfrost_offset_ = add_table(table);
  for (int l = 0; l < frame.levels; ++l) {
    const Level& level = frame.level[l];
    LevelParams& integral = params_.level[l];
    integral.first_band = params_.bands;
    if (level.width == 0) continue;
    const int bands = DivideUp(level.height, kBandRows);
    integral.integral_pitch = static_cast<int>(RoundUp(static_cast<size_t>(level.width), 4));
    const size_t row_bytes = integral.integral_pitch * sizeof(uint32_t);
    sums_offset_[l] = add_scratch(row_bytes * level.height);
    bands_offset_[l] = add_scratch(row_bytes * bands);
    params_.bands += bands;
  }
}

SelectionParams SelectionPlan::Place(const Frame& frame, uint8_t* scratch, uint8_t* tables, uint8_t* state) const {
  SelectionParams params = params_;
  params.counters = reinterpret_cast<SelectionCounters*>(state + counters_offset_);
  params.cells = reinterpret_cast<uint64_t*>(state + cells_offset_);
  params.buckets = reinterpret_cast<Candidate*>(scratch + buckets_offset_);
  params.bfrost = reinterpret_cast<const BfrostRegion*>(tables + bfrost_offset_);
  params.smooth = smooth_ ? scratch + smooth_offset_ : nullptr;
  params.harris_image = smooth_ ? params.smooth : frame.level[0].image;
  for (int l = 0; integrals_ && l < frame.levels; ++l) {
    params.level[l].sums = reinterpret_cast<uint32_t*>(scratch + sums_offset_[l]);
    params.level[l].bands = reinterpret_cast<uint32_t*>(scratch + bands_offset_[l]);
  }
  return params;
}

}  // namespace glint::cuda
