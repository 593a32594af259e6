// Chunks of ROS 1's bags, and the index records behind them.
#ifndef GLINT_BAG_ROS1_CHUNK_H_
#define GLINT_BAG_ROS1_CHUNK_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "bag/file.h"
#include "bag/ros1_records.h"

namespace glint::bag {

enum class Ros1Compression : uint8_t { kNone, kBzip2, kLz4 };

struct Ros1Chunk {
  int64_t offset = 0;                      // of its record
  int64_t data_offset = 0, data_size = 0;  // as recorded: may go beyond the end of the file
  int64_t size = 0;                        // decompressed, as said; at most kLargestChunk
  Ros1Compression compression = Ros1Compression::kNone;
  int64_t first_ns = 0, last_ns = 0;  // of its messages
  std::vector<uint16_t> topics;       // of its messages, each once
  bool is_open = false;               // not finished by its recorder: it goes to the end of the file

  int64_t end() const { return data_offset + data_size; }
};

struct Ros1Message {
  uint32_t connection = 0;
  int64_t time_ns = 0;
  absl::Span<const uint8_t> data;
};

// Nothing: no message, damaged, or over kLargestMessage.
std::optional<Ros1Message> ParseRos1Message(const Ros1Record& record);

// Messages of one connection.
struct Ros1Count {
  uint32_t connection = 0;
  int64_t messages = 0, first_ns = 0, last_ns = 0;

  void Add(int64_t time_ns);
};

// All but times and topics, of a record that is a chunk's. INVALID_ARGUMENT: damaged, of an unknown compression, or
// over the limit.
absl::Status ParseRos1Chunk(const Ros1FileRecord& record, int64_t offset, Ros1Chunk* chunk);

// Whether this chunk was being written when the recorder died: its sizes, which come last, are 0, and its data follow.
// It is then changed to have what there is.
bool ExtendOpenRos1Chunk(const File& file, Ros1Chunk* chunk);

// The first chunk's record that begins at `offset` or behind; the file's size: none is found. Compressions of chunks
// are looked for, with the fields before them as recorders write them.
int64_t FindRos1Chunk(const File& file, int64_t offset);

// What the index records from `offset` on say, which end at `end`. INVALID_ARGUMENT: damaged or cut off, which they may
// be where nothing that can follow them does.
absl::Status ReadRos1Counts(const File& file, int64_t offset, std::vector<Ros1Count>* counts, int64_t* end);

// The chunk's records, decompressed, in `out`. INVALID_ARGUMENT: damaged or cut off; `out` then has what came before.
absl::Status LoadRos1Chunk(const File& file, const Ros1Chunk& chunk, std::vector<uint8_t>* scratch,
                           std::vector<uint8_t>* out);

// Calls `each` with the records of a chunk in order, up to one that is damaged (INVALID_ARGUMENT).
absl::Status ForEachRos1Record(absl::Span<const uint8_t> chunk, absl::FunctionRef<void(const Ros1Record&)> each);

}  // namespace glint::bag

#endif  // GLINT_BAG_ROS1_CHUNK_H_
