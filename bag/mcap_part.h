// Parts of an MCAP file that hold messages: chunks, and rows of records outside of chunks.
#ifndef GLINT_BAG_MCAP_PART_H_
#define GLINT_BAG_MCAP_PART_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bag/file.h"
#include "bag/mcap_records.h"

namespace glint::bag::mcap {

struct Part {
  enum class Kind : uint8_t {
    kChunk,
    kCutChunk,  // the file ends in it
    kRecords,
  };
  uint64_t offset = 0, bytes = 0;            // in the file; of a chunk: its record
  int64_t first_ns = 0, last_ns = 0;         // of its messages
  uint32_t channels = 0, channel_count = 0;  // that its messages are of: a range of Index::channel_lists
  Kind kind = Kind::kChunk;
};

// Thread-compatible.
class PartBuffer {
 public:
  // The records of a part, valid until the next call; of a cut chunk, what there is of them. INVALID_ARGUMENT: damaged,
  // too large, or not to be decompressed; INTERNAL: an error of the system.
  absl::StatusOr<Bytes> Load(const File& file, const Part& part);
  size_t bytes() const { return stored_.capacity() + records_.capacity(); }

 private:
  std::vector<uint8_t> stored_, records_;
};

}  // namespace glint::bag::mcap

#endif  // GLINT_BAG_MCAP_PART_H_
