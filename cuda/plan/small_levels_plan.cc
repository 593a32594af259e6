#include "cuda/plan/small_levels_plan.h"

#include <algorithm>
#include <limits>

#include "cuda/plan/block_shapes.h"

namespace glint::cuda {
namespace {

constexpr int kMostShared = 48 * 1024;
// Input rows that a thread may have of the first level: with more, a launch of its own is faster.
constexpr int kMostSteps = 12;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// A tile's part of a level along an axis: columns or rows.
struct Span {
  int start = 0, own_start = 0, own_end = 0, end = 0;
};

// Input rows from the first upper to the last upper one.
int StepsOf(const AxisTaps& axis, const Span& span) {
  return span.end > span.start ? axis.At(span.end - 1) - axis.At(span.start) + 1 : 0;
}

// [tile][level]. `unit`: own parts begin at a multiple of it.
std::vector<std::vector<Span>> DivideAxis(const AxisTaps* taps, const std::vector<int>& first,
                                          const std::vector<int>& end, int tiles, int unit) {
  const int levels = static_cast<int>(first.size());
  const auto source = [&](int level, int i) {
    return taps[level].At(std::clamp(i, 0, taps[level].to - 1)) / unit * unit;
  };
  // Where each tile's own part begins, and after the last one.
  std::vector<std::vector<int>> begins(static_cast<size_t>(tiles) + 1, std::vector<int>(first.size()));
  for (int t = 0; t <= tiles; ++t) {
    for (int l = levels - 1; l >= 0; --l) {
      int& begin = begins[t][l];
      if (t == 0) {
        begin = first[l];
      } else if (t == tiles) {
        begin = end[l];
      } else if (l == levels - 1) {
        begin = (first[l] + static_cast<int>(static_cast<int64_t>(end[l] - first[l]) * t / tiles)) / unit * unit;
      } else {
        begin = source(l + 1, begins[t][l + 1]);
      }
      begin = std::clamp(begin, first[l], end[l]);
    }
  }
  std::vector<std::vector<Span>> spans(static_cast<size_t>(tiles), std::vector<Span>(first.size()));
  for (int t = 0; t < tiles; ++t) {
    for (int l = levels - 1; l >= 0; --l) {
      Span& span = spans[t][l];
      span.own_start = begins[t][l];
      span.own_end = begins[t + 1][l];
      span.start = span.own_start;
      span.end = span.own_end;
      if (l == levels - 1) continue;
      const Span& next = spans[t][l + 1];
      if (next.end <= next.start) continue;
      span.start = std::min(span.start, source(l + 1, next.start));
      const int last = std::min(next.end, taps[l + 1].to) - 1;
      span.end = std::max(span.end, std::min(taps[l + 1].At(last) + 2, taps[l + 1].from));
    }
  }
  return spans;
}

template <typename T>
void Append(std::vector<uint8_t>* bytes, const T& value) {
  const auto* from = reinterpret_cast<const uint8_t*>(&value);
  bytes->insert(bytes->end(), from, from + sizeof(value));
}

// Tiles of the small levels, and what a launch costs: input rows of a thread, then words of a block.
struct Tiling {
  std::vector<std::vector<Span>> columns, rows;
  SmallLevels small{};
  int64_t cost = kNever;
};

Tiling DivideSmallLevels(const Level* levels, const AxisTaps* columns, const AxisTaps* rows, int count, int tiles_x,
                         int tiles_y) {
  std::vector<int> first_column(count, 0), end_column, first_row, end_row;
  for (int l = 0; l < count; ++l) {
    end_column.push_back(levels[l].width);
    first_row.push_back(levels[l].first_row);
    end_row.push_back(levels[l].end_row);
  }
  Tiling tiling;
  tiling.columns = DivideAxis(columns, first_column, end_column, tiles_x, kGroup);
  tiling.rows = DivideAxis(rows, first_row, end_row, tiles_y, 1);
  SmallLevels& small = tiling.small;
  small.tiles_x = tiles_x;
  small.tiles_y = tiles_y;
  const int spans = DivideUp(count * static_cast<int>(sizeof(SmallLevelSpan)), 16);
  small.column_vectors = small.row_vectors = spans;
  int64_t rows_made = 0;    // by a thread
  int64_t words_made = 0;   // by the block
  int most_pixels[2] = {};  // of even and odd levels: double buffer
  for (int l = 0; l < count; ++l) {
    SmallLevel& level = small.level[l];
    int height = 0, steps = 0;
    for (const auto& tile : tiling.columns) {
      level.words = std::max(level.words, DivideUp(tile[l].end - tile[l].start, kGroup));
    }
    for (const auto& tile : tiling.rows) {
      height = std::max(height, tile[l].end - tile[l].start);
      steps = std::max(steps, StepsOf(rows[l], tile[l]));
    }
    if (level.words > kSmallLevelsThreads || level.words == 0 || height == 0) return tiling;
    level.inverse = 0xffffffffu / static_cast<uint32_t>(level.words);
    level.steps_per_thread = DivideUp(steps, kSmallLevelsThreads / level.words);
    level.columns = small.column_vectors * 16;
    level.steps = small.row_vectors * 16;
    small.column_vectors += level.words * static_cast<int>(sizeof(ColumnGroup)) / 16;
    small.row_vectors += DivideUp(steps * static_cast<int>(sizeof(RowMix)), 16);
    // Two words beyond the last may be read.
    if (l + 1 < count) most_pixels[l % 2] = std::max(most_pixels[l % 2], DivideUp(4 * level.words * height + 8, 16));
    rows_made += level.steps_per_thread;
    words_made += static_cast<int64_t>(level.words) * steps;
  }
  small.row_vectors += kSmallLevelsBatch / 2;  // padding
  const int tables = small.column_vectors + small.row_vectors;
  for (int l = 0; l < count; ++l) {
    small.level[l].steps += small.column_vectors * 16;
    small.level[l].pixels = 16 * (tables + (l % 2 == 0 ? 0 : most_pixels[0]));
  }
  small.shared_bytes = 16 * (tables + most_pixels[0] + most_pixels[1]);
  if (small.shared_bytes <= kMostShared) tiling.cost = rows_made << 32 | words_made;
  return tiling;
}

// Each as wide as high as makes the fewest rows a thread, then the least work.
Tiling ChooseTiling(const Level* levels, const AxisTaps* columns, const AxisTaps* rows, int count,
                    int multiprocessors) {
  Tiling best;
  for (int tiles_x = 1; tiles_x <= multiprocessors; ++tiles_x) {
    if (tiles_x > 1 && levels[count - 1].width / tiles_x < 2 * kGroup) break;
    Tiling tiling = DivideSmallLevels(levels, columns, rows, count, tiles_x, multiprocessors / tiles_x);
    if (tiling.cost < best.cost) best = std::move(tiling);
  }
  return best;
}

void FillTables(const Tiling& tiling, const AxisTaps* columns, const AxisTaps* rows, SmallLevelsPlan* plan) {
  const int count = plan->small.levels;
  const auto pack = [](const Span& span, int unit) {
    SmallLevelSpan packed{};
    packed.start = span.start / unit;
    packed.size = DivideUp(span.end - span.start, unit);
    packed.own_start = (span.own_start - span.start) / unit;
    packed.own_size = DivideUp(span.own_end - span.own_start, unit);
    return packed;
  };
  for (const auto& tile : tiling.columns) {
    const size_t begin = plan->columns.size();
    for (const Span& span : tile) Append(&plan->columns, pack(span, kGroup));
    for (int l = 0; l < count; ++l) {
      plan->columns.resize(begin + plan->small.level[l].columns);
      for (int x = tile[l].start; x < tile[l].end; x += kGroup) {
        ColumnGroup group = MakeColumnGroup(columns[l], x, columns[l].At(x));
        if (l > 0) group.word -= tile[l - 1].start / kGroup;
        Append(&plan->columns, group);
      }
    }
    plan->columns.resize(begin + static_cast<size_t>(plan->small.column_vectors) * 16);
  }
  for (const auto& tile : tiling.rows) {
    const size_t begin = plan->rows.size();
    for (int l = 0; l < count; ++l) {
      SmallLevelSpan span = pack(tile[l], 1);
      const int input = l > 0 ? tile[l - 1].start : 0;
      span.first_step = span.size > 0 ? rows[l].At(tile[l].start) - input : 0;
      span.steps = StepsOf(rows[l], tile[l]);
      span.last_input = (l > 0 ? tile[l - 1].end : rows[l].from) - input - 1;
      Append(&plan->rows, span);
    }
    for (int l = 0; l < count; ++l) {
      plan->rows.resize(begin + plan->small.level[l].steps - static_cast<size_t>(plan->small.column_vectors) * 16);
      std::vector<RowMix> steps(static_cast<size_t>(StepsOf(rows[l], tile[l])), RowMix{-1, 0});
      for (int y = tile[l].start; y < tile[l].end; ++y) {
        steps[rows[l].At(y) - rows[l].At(tile[l].start)] = {y - tile[l].start, rows[l].RowWeights(y)};
      }
      for (const RowMix& step : steps) Append(&plan->rows, step);
    }
    plan->rows.resize(begin + static_cast<size_t>(plan->small.row_vectors) * 16);
  }
}

}  // namespace

SmallLevelsPlan PlanSmallLevels(const Frame& frame, const AxisTaps* columns, const AxisTaps* rows,
                                int multiprocessors) {
  SmallLevelsPlan plan;
  int end = frame.levels;  // levels that vanish are no part of it
  while (end > 1 && frame.level[end - 1].first_row >= frame.level[end - 1].end_row) --end;
  int begin = end;
  while (begin > 1 && frame.level[begin - 1].one_window &&
         frame.level[begin - 1].first_row < frame.level[begin - 1].end_row) {
    --begin;
  }
  for (; end - begin >= 2; ++begin) {
    const Level& level = frame.level[begin];
    const auto words = static_cast<int64_t>(DivideUp(level.width, kGroup)) * (level.end_step - level.first_step);
    if (words > int64_t{kMostSteps} * kSmallLevelsThreads * multiprocessors) continue;
    const Tiling tiling = ChooseTiling(&level, &columns[begin], &rows[begin], end - begin, multiprocessors);
    if (tiling.cost == kNever || tiling.small.level[0].steps_per_thread > kMostSteps) continue;
    plan.small = tiling.small;
    plan.small.first = begin;
    plan.small.levels = end - begin;
    FillTables(tiling, &columns[begin], &rows[begin], &plan);
    break;
  }
  return plan;
}

}  // namespace glint::cuda
