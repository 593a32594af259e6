#include "cpu/match/lists.h"

#include <algorithm>
#include <atomic>

#include "cpu/common/stages.h"

namespace glint::cpu {
namespace {

constexpr int kQueriesOfACheckpoint = 64;

// The `each` least of `count` keys, in order; kNoKey where there are no more.
void KeepLeast(const int32_t* keys, size_t count, int each, int32_t* least) {
  if (each > 2) {
    std::fill_n(least, each, kNoKey);
    for (size_t i = 0; i < count; ++i) InsertKey(keys[i], each, least);
    return;
  }
  // Without branches, which cannot be foreseen in short lists.
  int32_t first = kNoKey;
  int32_t second = kNoKey;
  for (size_t i = 0; i < count; ++i) {
    second = std::min(second, std::max(first, keys[i]));
    first = std::min(first, keys[i]);
  }
  least[0] = first;
  if (each == 2) least[1] = second;
}

}  // namespace

Lists::Lists(WorkerPool* pool) : pool_(pool), kernels_(MatchKernelsFor(BestSimdTarget())) {}

bool Lists::Match(const DescriptorView& query, const DescriptorView& train, int each, Collect collect,
                  const Checkpoint& checkpoint, MatchKeys* keys) {
  const size_t trains = static_cast<size_t>(train.count);
  const int parts = PartsOf(query.count, *pool_);
  keys->Reserve(query, train, each);
  const size_t columns = each == 2 ? trains * static_cast<size_t>(parts) : 0;
  std::fill_n(column_.Reserve(columns), columns, kNoKey);
  list_.Reserve(2 * trains * static_cast<size_t>(parts));
  std::atomic<bool> goes_on{true};
  pool_->ForEach(parts, [&](int part, int) {
    const size_t p = static_cast<size_t>(part);
    int32_t* const numbers = list_.data() + 2 * trains * p;
    int32_t* const list_keys = numbers + trains;
    int32_t* const column = each == 2 ? column_.data() + trains * p : nullptr;
    const int first = static_cast<int>(int64_t{query.count} * part / parts);
    const int last = static_cast<int>(int64_t{query.count} * (part + 1) / parts);
    for (int q = first; q < last && goes_on; ++q) {
      const size_t count = collect(q, numbers);
      kernels_.keys(query.row(q), train, numbers, count, list_keys);
      KeepLeast(list_keys, count, each, keys->of_query.data() + static_cast<size_t>(q) * static_cast<size_t>(each));
      for (size_t i = 0; i < count && column != nullptr; ++i) {
        int32_t& least = column[numbers[i]];
        least = std::min(least, MakeKey(KeyDistance(list_keys[i]), q));
      }
      if (q % kQueriesOfACheckpoint == 0 && !GoesOn(checkpoint)) goes_on = false;
    }
  });
  if (!goes_on) return false;
  for (size_t t = 0; t < trains && each == 2; ++t) {
    int32_t least = kNoKey;
    for (size_t at = t; at < columns; at += trains) least = std::min(least, column_[at]);
    keys->of_train[t] = least;
  }
  return true;
}

}  // namespace glint::cpu
