#include "server/wire/match_pairs.h"

#include <algorithm>

#include "features/server_error.h"

namespace glint {
namespace {

constexpr int kBytesOfAPair = 32;  // bytes that are compared at the price of one pair

}  // namespace

absl::Status CheckMatchPairs(absl::string_view field, int64_t queries, int64_t trains, int bytes, int64_t limit) {
  const int64_t pairs = queries * trains * std::max(1, (bytes + kBytesOfAPair - 1) / kBytesOfAPair);
  if (pairs <= limit) return absl::OkStatus();
  return LimitError(field, pairs, "pairs of descriptors", limit, "--max-match-pairs");
}

}  // namespace glint
