// Recordings in MCAP (https://mcap.dev/spec), with an index or without, whole or cut off.
#ifndef GLINT_BAG_MCAP_READER_H_
#define GLINT_BAG_MCAP_READER_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bag/bag.h"

namespace glint::bag {

// Memory of chunks that overlap in time and are open together; one more chunk comes to it. Where more overlap, some
// messages come late, which is noted.
inline constexpr size_t kMcapOpenBytes = size_t{1} << 27;

// Messages are in the order of their times over the whole file, with an index or without: one without is read once
// here, and its chunks are known then. Messages outside of chunks are taken in rows of 1 MiB, each like a chunk.
//
// Topics are in the order of their channels' numbers. Counts are those of the file's index where it has one that agrees
// with itself: a chunk that turns out to be damaged when it is read is noted, and stays counted.
//
// NOT_FOUND; PERMISSION_DENIED; INVALID_ARGUMENT: not MCAP, or nothing of it can be read; INTERNAL: an error of the
// system. The file is opened once.
absl::StatusOr<std::unique_ptr<Bag>> OpenMcap(const std::string& path);

}  // namespace glint::bag

#endif  // GLINT_BAG_MCAP_READER_H_
