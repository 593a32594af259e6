// How many pairs of descriptors a message may ask to compare.
#ifndef GLINT_SERVER_WIRE_MATCH_PAIRS_H_
#define GLINT_SERVER_WIRE_MATCH_PAIRS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace glint {

// OK, or RESOURCE_EXHAUSTED about `field` if `queries` with `trains` descriptors of `bytes` bytes each are more than
// `limit` pairs (--max-match-pairs). A pair counts once for each 32 bytes of a descriptor, or part of them.
// Thread-safe.
absl::Status CheckMatchPairs(absl::string_view field, int64_t queries, int64_t trains, int bytes, int64_t limit);

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_MATCH_PAIRS_H_
