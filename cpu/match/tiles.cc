#include "cpu/match/tiles.h"

#include <algorithm>
#include <atomic>

#include "cpu/common/stages.h"

namespace glint::cpu {
namespace {

constexpr int kQueriesWorthAThread = 64;

}  // namespace

int PartsOf(int queries, const WorkerPool& pool) {
  return std::clamp(queries / kQueriesWorthAThread, 1, pool.threads());
}

Tiles::Tiles(WorkerPool* pool) : pool_(pool), kernels_(MatchKernelsFor(BestSimdTarget())) {}

bool Tiles::Match(const MatchJob& job, const Checkpoint& checkpoint, MatchKeys* keys) {
  const int queries = job.query.count;
  const int parts = PartsOf(queries, *pool_);
  const size_t padded = PaddedTrains(job.train.count);
  const bool has_columns = job.each == 2;
  keys->Reserve(job.query, job.train, job.each);
  const size_t columns = has_columns ? padded * static_cast<size_t>(parts) : 0;
  std::fill_n(column_.Reserve(columns), columns, kNoKey);
  uint8_t* const packed = packed_.Reserve(PackedTrainBytes(job.train.count, job.train.bytes));
  const size_t pitch = (MatchScratchBytes(job.train.bytes) + 63) / 64 * 64;
  uint8_t* const scratch = scratch_.Grow(pitch * static_cast<size_t>(parts));

  const auto share = [parts](int count, int part) {
    return static_cast<int>(static_cast<int64_t>(count) * part / parts);
  };
  const int blocks = (job.train.count + kernels_.block - 1) / kernels_.block;
  pool_->ForEach(parts,
                 [&](int part, int) { kernels_.pack(job, share(blocks, part), share(blocks, part + 1), packed); });
  std::atomic<bool> goes_on{true};
  pool_->ForEach(parts, [&](int part, int) {
    const size_t p = static_cast<size_t>(part);
    MatchJob chunk = job;
    chunk.packed = packed;
    chunk.keys = keys->of_query.data();
    chunk.column = has_columns ? column_.data() + p * padded : nullptr;
    chunk.scratch = scratch + p * pitch;
    const int last = share(queries, part + 1);
    for (chunk.first = share(queries, part); chunk.first < last && goes_on; chunk.first = chunk.last) {
      chunk.last = std::min(last, chunk.first + MatchChunk(job.query.bytes));
      (job.each <= 2 ? kernels_.nearest : kernels_.k_nearest)(chunk);
      if (!GoesOn(checkpoint)) goes_on = false;
    }
  });
  if (!goes_on) return false;
  if (!has_columns) return true;
  for (size_t place = 0; place < static_cast<size_t>(job.train.count); ++place) {
    int32_t least = kNoKey;
    for (size_t at = place; at < columns; at += padded) least = std::min(least, column_[at]);
    keys->of_train[static_cast<size_t>(job.train_number[place])] = least;
  }
  return true;
}

}  // namespace glint::cpu
