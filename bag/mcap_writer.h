// Recordings in MCAP (https://mcap.dev/spec) as files of their own.
#ifndef GLINT_BAG_MCAP_WRITER_H_
#define GLINT_BAG_MCAP_WRITER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace glint::bag {

struct McapChannel {
  std::string topic;
  std::string encoding;                              // of messages: "cdr", "json", "protobuf", ...
  std::string schema_name, schema_encoding, schema;  // the type; all empty: none
  std::vector<std::pair<std::string, std::string>> metadata;
};

// Writes chunks of about 1 MiB with message indexes, and a summary with everything: schemas, channels, statistics,
// chunk indexes, checksums. Same calls, same bytes, with one version of libzstd. Thread-compatible.
class McapWriter {
 public:
  enum class Compression { kNone, kZstd };
  // Where a file goes, piece by piece: its beginning, whole chunks, its end.
  struct Sink {
    std::function<absl::Status(absl::string_view piece)> write;
    std::function<absl::Status()> close;  // after the last piece
  };

  // The file has its name once Close() has succeeded (AtomicFile); what is not closed is removed. `profile`: "ros2",
  // "ros1" or "". Errors: those of AtomicFile::Create().
  static absl::StatusOr<std::unique_ptr<McapWriter>> Create(const std::string& path, absl::string_view profile,
                                                            Compression compression = Compression::kZstd);
  // Readers take what `sink` has at any time for a file that was cut off, with all of its chunks. Errors: those of
  // `sink`, after the first of which it gets nothing more.
  static absl::StatusOr<std::unique_ptr<McapWriter>> Create(Sink sink, absl::string_view profile,
                                                            Compression compression = Compression::kZstd);

  // The number of a new channel. RESOURCE_EXHAUSTED: it would be the 65536th. INVALID_ARGUMENT: a text of 2^32 bytes.
  absl::StatusOr<uint16_t> AddChannel(const McapChannel& channel);
  // Times are nanoseconds since the epoch, 0 or more; they need not be in order, but readers are faster if they are.
  // INVALID_ARGUMENT: a channel or a time that is none, or more than Bag::kLargestMessage bytes; INTERNAL: it cannot be
  // compressed. Errors of a sink; those of the disk come with Close() otherwise.
  absl::Status Write(uint16_t channel, int64_t recorded_ns, int64_t published_ns, absl::Span<const uint8_t> data);
  // Ends a chunk before it has 1 MiB, if it has anything, so that it is in the file. Errors: those of Write().
  absl::Status EndChunk();
  // Ends the file. Called once, last. Errors: those of Write() and of the sink, or AtomicFile::Commit();
  // RESOURCE_EXHAUSTED: the disk is full.
  absl::Status Close();

 private:
  struct Written {  // of a channel
    uint64_t messages = 0;
    uint32_t sequence = 0;
    std::vector<std::pair<uint64_t, uint64_t>> index;  // times and places in the chunk
  };

  McapWriter(Sink sink, Compression compression) : sink_(std::move(sink)), compression_(compression) {}
  uint16_t AddSchema(const McapChannel& channel);
  absl::Status Flush();
  void Append(absl::string_view bytes);
  void AppendSummary();

  const Sink sink_;
  const Compression compression_;
  std::string piece_;    // for the sink
  absl::Status failed_;  // its first error
  uint64_t size_ = 0;    // of the file
  uint32_t crc_ = 0;     // of its data section, then of its summary

  std::map<std::tuple<std::string, std::string, std::string>, uint16_t> schema_ids_;
  std::string schemas_, channels_, chunk_indexes_;  // records of the summary
  std::vector<Written> written_;                    // of channels from 1 on
  uint32_t chunks_ = 0;
  uint64_t messages_ = 0, first_ns_ = 0, last_ns_ = 0;

  std::string chunk_;  // records that are not in the file yet
  uint64_t chunk_messages_ = 0, chunk_first_ns_ = 0, chunk_last_ns_ = 0;
  std::vector<uint8_t> compressed_;
};

}  // namespace glint::bag

#endif  // GLINT_BAG_MCAP_WRITER_H_
