#include "cpu/match/matcher.h"

#include <algorithm>
#include <cmath>

#include "cpu/common/stages.h"

namespace glint::cpu {
namespace {

constexpr int kQueriesWorthAThread = 64;

bool HasConditions(const MatchInput& input, const MatchOptions& options) {
  return input.conditions.x != nullptr || input.conditions.min_octave != nullptr || options.max_angle_difference < 180;
}

// The keypoints in the window and the octaves of a query: what IsAllowed() says, without branches. `candidates` has
// room for all keypoints.
size_t CollectNear(const TrainGrid& grid, const QueryConditions& c, int q, int32_t* candidates) {
  const float x = c.x[q], y = c.y[q], radius = c.radius[q];
  const int32_t min_octave = c.min_octave[q], max_octave = c.max_octave[q];
  const float* const xs = grid.sorted().x;
  const float* const ys = grid.sorted().y;
  const int32_t* const octaves = grid.sorted().octave;
  const int32_t* const numbers = grid.number();
  size_t count = 0;
  grid.ForEachNear(x, y, radius, [&](int first, int last) {
    size_t found = count;
    for (int i = first; i < last; ++i) {
      candidates[found] = numbers[i];
      const int is_near =
          static_cast<int>(std::abs(xs[i] - x) < radius) & static_cast<int>(std::abs(ys[i] - y) < radius);
      const int is_level = static_cast<int>(octaves[i] >= min_octave) & static_cast<int>(octaves[i] <= max_octave);
      found += static_cast<size_t>(is_near & is_level);
    }
    count = found;
  });
  return count;
}

size_t ScratchPitch(int bytes) { return (MatchScratchBytes(bytes) + 63) / 64 * 64; }

}  // namespace

Matcher::Matcher(int threads)
    : own_pool_(std::make_unique<WorkerPool>(threads)),
      pool_(own_pool_.get()),
      kernels_(MatchKernelsFor(BestSimdTarget())) {}

Matcher::Matcher(WorkerPool* pool) : pool_(pool), kernels_(MatchKernelsFor(BestSimdTarget())) {}

int Matcher::FirstQuery(int part, int queries) const {
  return static_cast<int>(static_cast<int64_t>(queries) * part / parts_);
}

void Matcher::Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) {
  result->Reset(input.query.count, options.k);
  if (input.query.count == 0 || input.train.count == 0) return;
  each_ = std::max(options.k, options.ratio > 0 || options.cross_check ? 2 : 1);
  parts_ = std::clamp(input.query.count / kQueriesWorthAThread, 1, pool_->threads());
  padded_ = PaddedTrains(input.train.count);
  keys_.Reserve(static_cast<size_t>(input.query.count) * static_cast<size_t>(each_));
  int32_t* const column = column_.Reserve(padded_ * static_cast<size_t>(parts_));
  std::fill(column, column + padded_ * static_cast<size_t>(parts_), kNoKey);
  if (HasConditions(input, options)) {
    MatchAllowed(input, options);
  } else {
    MatchAll(input);
  }
  if (options.cross_check) MergeColumns();
  Judge(input, options, result);
  if (options.rotation_histogram) KeepUsualRotations(input, result);
}

void Matcher::MatchAll(const MatchInput& input) {
  const DescriptorView& train = input.train;
  const int blocks = (train.count + kernels_.block - 1) / kernels_.block;
  uint8_t* const packed = packed_.Reserve(PackedTrainBytes(train.count, train.bytes));
  int32_t* const index = train_index_.Reserve(padded_);
  for (int t = 0; t < static_cast<int>(padded_); ++t) index[t] = t < train.count ? t : kNoKey;
  pool_->ForEach(parts_, [&](int part, int) {
    const auto first = [&](int p) { return static_cast<int>(static_cast<int64_t>(blocks) * p / parts_); };
    kernels_.pack(train, first(part), first(part + 1), packed);
  });
  const size_t pitch = ScratchPitch(train.bytes);
  uint8_t* const scratch = scratch_.Grow(pitch * static_cast<size_t>(parts_));
  pool_->ForEach(parts_, [&](int part, int) {
    const size_t p = static_cast<size_t>(part);
    const MatchJob job{input.query,
                       FirstQuery(part, input.query.count),
                       FirstQuery(part + 1, input.query.count),
                       packed,
                       index,
                       blocks,
                       each_,
                       keys_.data(),
                       column_.data() + p * padded_,
                       scratch + p * pitch};
    (each_ <= 2 ? kernels_.nearest : kernels_.k_nearest)(job);
  });
}

void Matcher::MatchAllowed(const MatchInput& input, const MatchOptions& options) {
  grid_.Build(input.keypoints, input.train.count);
  candidates_.Reserve(2 * padded_ * static_cast<size_t>(parts_));
  pool_->ForEach(parts_, [&](int part, int) {
    int32_t* const column = options.cross_check ? column_.data() + static_cast<size_t>(part) * padded_ : nullptr;
    const int last = FirstQuery(part + 1, input.query.count);
    for (int q = FirstQuery(part, input.query.count); q < last; ++q) MatchAllowed(input, options, q, part, column);
  });
}

void Matcher::MatchAllowed(const MatchInput& input, const MatchOptions& options, int q, int part, int32_t* column) {
  const QueryConditions& c = input.conditions;
  int32_t* const candidates = candidates_.data() + 2 * padded_ * static_cast<size_t>(part);
  int32_t* const candidate_keys = candidates + padded_;
  size_t count = 0;
  const auto collect = [&](int first, int last) {
    for (int i = first; i < last; ++i) {
      if (IsAllowed(c, grid_.sorted(), options, q, i)) candidates[count++] = grid_.number()[i];
    }
  };
  if (c.x != nullptr && c.min_octave != nullptr && options.max_angle_difference >= 180) {
    count = CollectNear(grid_, c, q, candidates);
  } else if (c.x != nullptr) {
    grid_.ForEachNear(c.x[q], c.y[q], c.radius[q], collect);
  } else {
    collect(0, input.train.count);
  }
  int32_t* const keys = keys_.data() + static_cast<size_t>(q) * static_cast<size_t>(each_);
  std::fill(keys, keys + each_, kNoKey);
  kernels_.keys(input.query.row(q), input.train, candidates, count, candidate_keys);
  for (size_t i = 0; i < count; ++i) {
    InsertKey(candidate_keys[i], each_, keys);
    if (column != nullptr) {
      int32_t& least = column[candidates[i]];
      least = std::min(least, MakeKey(KeyDistance(candidate_keys[i]), q));
    }
  }
}

void Matcher::MergeColumns() {
  int32_t* const all = column_.data();
  for (size_t part = 1; part < static_cast<size_t>(parts_); ++part) {
    const int32_t* const own = all + part * padded_;
    for (size_t t = 0; t < padded_; ++t) all[t] = std::min(all[t], own[t]);
  }
}

void Matcher::Judge(const MatchInput& input, const MatchOptions& options, MatchResult* result) const {
  const size_t k = static_cast<size_t>(options.k);
  for (int q = 0; q < input.query.count; ++q) {
    const int32_t* const keys = keys_.data() + static_cast<size_t>(q) * static_cast<size_t>(each_);
    if (keys[0] == kNoKey) continue;
    if (options.ratio > 0 && keys[1] != kNoKey &&
        !PassesRatio(KeyDistance(keys[0]), KeyDistance(keys[1]), options.ratio)) {
      continue;
    }
    if (options.cross_check && KeyIndex(column_[static_cast<size_t>(KeyIndex(keys[0]))]) != q) continue;
    for (size_t i = 0; i < k && keys[i] != kNoKey && KeyDistance(keys[i]) <= options.max_distance; ++i) {
      result->index[static_cast<size_t>(q) * k + i] = KeyIndex(keys[i]);
      result->distance[static_cast<size_t>(q) * k + i] = KeyDistance(keys[i]);
    }
  }
}

}  // namespace glint::cpu
