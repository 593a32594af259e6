#include "cpu/match/matcher.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace glint::cpu {
namespace {

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

// The first `count` of `padded` elements, and the last of them again behind.
template <typename T>
const T* Pad(const T* values, size_t count, size_t padded, T* to) {
  std::copy_n(values, count, to);
  std::fill(to + count, to + padded, values[count - 1]);
  return to;
}

}  // namespace

Matcher::Matcher(int threads)
    : own_pool_(std::make_unique<WorkerPool>(threads)), tiles_(own_pool_.get()), lists_(own_pool_.get()) {}

Matcher::Matcher(WorkerPool* pool) : tiles_(pool), lists_(pool) {}

bool Matcher::Match(const MatchInput& input, const MatchOptions& options, MatchResult* result,
                    const Checkpoint& checkpoint) {
  result->Reset(input.query.count, options.k);
  if (input.query.count == 0 || input.train.count == 0) return true;
  const int each = std::max(options.k, options.ratio > 0 || options.cross_check ? 2 : 1);
  if (!(FewAreNear(input) ? MatchNear(input, options, each, checkpoint) : MatchAll(input, options, each, checkpoint))) {
    return false;
  }
  Judge(input, options, result);
  if (options.rotation_histogram) KeepUsualRotations(input, result);
  return true;
}

bool Matcher::FewAreNear(const MatchInput& input) {
  const QueryConditions& c = input.conditions;
  if (c.x == nullptr) return false;
  grid_.Build(input.keypoints, input.train.count);
  int64_t near = 0;
  for (int q = 0; q < input.query.count; ++q) {
    grid_.ForEachNear(c.x[q], c.y[q], c.radius[q], [&near](int first, int last) { near += last - first; });
  }
  return near * kPairsForTiles <= int64_t{input.query.count} * input.train.count;
}

bool Matcher::MatchNear(const MatchInput& input, const MatchOptions& options, int each, const Checkpoint& checkpoint) {
  const QueryConditions& c = input.conditions;
  const bool without_angles = c.min_octave != nullptr && options.max_angle_difference >= 180;
  const auto collect = [&](int q, int32_t* numbers) {
    if (without_angles) return CollectNear(grid_, c, q, numbers);
    size_t count = 0;
    grid_.ForEachNear(c.x[q], c.y[q], c.radius[q], [&](int first, int last) {
      for (int i = first; i < last; ++i) {
        if (IsAllowed(c, grid_.sorted(), options, q, i)) numbers[count++] = grid_.number()[i];
      }
    });
    return count;
  };
  return lists_.Match(input.query, input.train, each, collect, checkpoint, &keys_);
}

bool Matcher::MatchAll(const MatchInput& input, const MatchOptions& options, int each, const Checkpoint& checkpoint) {
  const size_t queries = static_cast<size_t>(input.query.count);
  const size_t trains = static_cast<size_t>(input.train.count);
  const size_t padded = PaddedTrains(input.train.count);
  MatchJob job;
  job.query = input.query;
  job.train = input.train;
  job.each = each;
  int32_t* const train = train_.Reserve(padded);
  std::iota(train, train + trains, 0);
  std::fill(train + trains, train + padded, kNoKey);
  int32_t* const query = query_.Reserve(queries);
  std::iota(query, query + queries, 0);
  std::fill_n(from_.Reserve(queries), queries, 0);
  std::fill_n(to_.Reserve(queries), queries, input.train.count);
  job.query_number = query;
  job.from = from_.data();
  job.to = to_.data();
  job.train_number = train;

  KeypointConditions conditions{input.conditions, {}, options.max_angle_difference};
  if (HasConditions(input, options)) {
    float* const values = values_.Reserve(3 * padded);
    if (input.conditions.x != nullptr) {
      conditions.train.x = Pad(input.keypoints.x, trains, padded, values);
      conditions.train.y = Pad(input.keypoints.y, trains, padded, values + padded);
    }
    if (options.max_angle_difference < 180) {
      conditions.train.angle = Pad(input.keypoints.angle, trains, padded, values + 2 * padded);
    }
    if (input.conditions.min_octave != nullptr) {
      conditions.train.octave = Pad(input.keypoints.octave, trains, padded, octave_.Reserve(padded));
    }
    job.keypoints = &conditions;
  }
  return tiles_.Match(job, checkpoint, &keys_);
}

void Matcher::Judge(const MatchInput& input, const MatchOptions& options, MatchResult* result) const {
  const size_t k = static_cast<size_t>(options.k);
  for (int q = 0; q < input.query.count; ++q) {
    const int32_t* const keys = keys_.of(static_cast<size_t>(q));
    if (keys[0] == kNoKey) continue;
    if (options.ratio > 0 && keys[1] != kNoKey &&
        !PassesRatio(KeyDistance(keys[0]), KeyDistance(keys[1]), options.ratio)) {
      continue;
    }
    if (options.cross_check && KeyIndex(keys_.of_train[static_cast<size_t>(KeyIndex(keys[0]))]) != q) continue;
    for (size_t i = 0; i < k && keys[i] != kNoKey && KeyDistance(keys[i]) <= options.max_distance; ++i) {
      result->index[static_cast<size_t>(q) * k + i] = KeyIndex(keys[i]);
      result->distance[static_cast<size_t>(q) * k + i] = KeyDistance(keys[i]);
    }
  }
}

}  // namespace glint::cpu
