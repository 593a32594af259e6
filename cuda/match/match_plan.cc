#include "cuda/match/match_plan.h"

#include <algorithm>

namespace glint::cuda {
namespace {

constexpr int kTensorBytes = 32;        // of a descriptor that is one tensor core operation deep
constexpr int kTensorKeep = 2;          // candidates that the tensor kernel tells
constexpr int kTensorComputeMajor = 8;  // from which on tensor cores count common bits
constexpr int kPopcountRows = 128;      // queries of a block: see popcount.cu
// Of the tensor kernel, a quarter for each of its warps: see tensor.cu.
int TensorRows(int index_bits) { return 4 << index_bits; }

int DivideUp(int n, int by) { return (n + by - 1) / by; }

// What a block costs beside its columns, in columns; and what blocks cost that a multiprocessor runs at once, none to
// three of them, in blocks of the four that fill it. From measurements on an H200.
constexpr double kOverhead = 64;
constexpr int kBlocksAtOnce = 4;
constexpr double kCostOfBlocks[kBlocksAtOnce] = {0, 1.65, 2.3, 3.1};

double CostOfColumns(int columns, int row_blocks, int trains, int multiprocessors) {
  const int whole = trains / columns;
  const int rest = trains - whole * columns;
  // A last split that is short hardly counts.
  const int splits = std::max(whole + (4 * rest > columns ? 1 : 0), 1);
  const int blocks = DivideUp(row_blocks * splits, multiprocessors);
  return (blocks / kBlocksAtOnce * kBlocksAtOnce + kCostOfBlocks[blocks % kBlocksAtOnce]) * (columns + kOverhead);
}

// The columns of a block that end soonest: with few, a block's begin and end are most of its work; with many,
// multiprocessors are left without a block.
int ChooseColumns(int row_blocks, int trains, int multiprocessors, int max_splits, int max_columns) {
  const int least = DivideUp(DivideUp(trains, max_splits), kColumnGroup) * kColumnGroup;
  int best = least;
  for (int columns = least; columns <= max_columns && columns < trains + kColumnGroup; columns += kColumnGroup) {
    if (CostOfColumns(columns, row_blocks, trains, multiprocessors) <
        CostOfColumns(best, row_blocks, trains, multiprocessors)) {
      best = columns;
    }
  }
  return best;
}

}  // namespace

bool LimitsPairs(const QueryConditions& conditions, const MatchOptions& options) {
  return conditions.x != nullptr || conditions.min_octave != nullptr || options.max_angle_difference < 180;
}

MatchPlan PlanMatch(const MatchDevice& device, int queries, int trains, int bytes, const MatchOptions& options,
                    bool has_conditions) {
  MatchPlan plan;
  plan.keep = std::max(options.k, options.ratio > 0 ? 2 : 1);
  const bool tensor = device.compute_major >= kTensorComputeMajor && bytes == kTensorBytes && !has_conditions &&
                      plan.keep <= kTensorKeep;
  plan.kernel = tensor ? MatchKernel::kTensorCores : MatchKernel::kPopcount;
  plan.index_bits = device.compute_major >= 9 ? 6 : 5;
  const int rows = tensor ? TensorRows(plan.index_bits) : kPopcountRows;
  const int max_splits = std::min(kMaxSplits, kMaxPartials / plan.keep);
  const int max_columns = tensor ? kMaxColumnsPerSplit : kMaxMatchDescriptors;
  plan.columns_per_split =
      ChooseColumns(DivideUp(queries, rows), trains, device.multiprocessors, max_splits, max_columns);
  plan.splits = DivideUp(trains, plan.columns_per_split);
  return plan;
}

}  // namespace glint::cuda
