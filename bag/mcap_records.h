// What MCAP files are made of: records of an opcode, a length and fields, little-endian (https://mcap.dev/spec).
#ifndef GLINT_BAG_MCAP_RECORDS_H_
#define GLINT_BAG_MCAP_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace glint::bag::mcap {

using Bytes = absl::Span<const uint8_t>;

inline constexpr uint8_t kMagic[8] = {0x89, 'M', 'C', 'A', 'P', '0', '\r', '\n'};  // at both ends of a file

enum Opcode : uint8_t {
  kHeader = 1,
  kFooter,
  kSchema,
  kChannel,
  kMessage,
  kChunk,
  kMessageIndex,
  kChunkIndex,
  kAttachment,
  kAttachmentIndex,
  kStatistics,
  kMetadata,
  kMetadataIndex,
  kSummaryOffset,
  kDataEnd,
};

inline constexpr size_t kRecordHeader = 9;          // opcode, length of the rest
inline constexpr size_t kMessageHeader = 22;        // channel, sequence, time of recording, time of publication
inline constexpr size_t kFooterContent = 20;        // bytes of the summary and of its offsets, checksum
inline constexpr uint64_t kMessageIndexHeader = 6;  // channel, bytes of the entries
inline constexpr uint64_t kMessageIndexEntry = 16;  // time, offset

// CRC-32 as of zlib. `before`: of what comes before `bytes`.
uint32_t Crc32(Bytes bytes, uint32_t before = 0);

// Times of files are unsigned; those beyond int64_t are its largest value here.
int64_t ToTime(uint64_t time);

// Fields of a record in turn. Beyond the end all are zero or empty, and ok() is false.
class Fields {
 public:
  explicit Fields(Bytes bytes) : rest_(bytes) {}

  template <typename T>
  T Number() {
    static_assert(std::is_unsigned_v<T>);
    uint64_t value = 0;
    const Bytes bytes = Take(sizeof(T));
    for (size_t i = 0; i < bytes.size(); ++i) value |= uint64_t{bytes[i]} << (8 * i);
    return static_cast<T>(value);
  }
  Bytes Take(uint64_t count);
  // Behind their length, of 32 bits.
  Bytes Block() { return Take(Number<uint32_t>()); }
  absl::string_view Text();
  Bytes rest() const { return rest_; }
  bool ok() const { return ok_; }

 private:
  Bytes rest_;
  bool ok_ = true;
};

struct Record {
  uint8_t opcode = 0;
  Bytes content;
};
// Takes a record off the front of `bytes`. Nothing: `bytes` are empty or do not hold it whole, and stay.
std::optional<Record> TakeRecord(Bytes* bytes);

// Records as they lie in their bytes. Each is nothing if its fields do not fit; what comes behind the fields is
// allowed.
struct Schema {
  uint16_t id = 0;
  absl::string_view name, encoding, definition;
};
std::optional<Schema> ReadSchema(Bytes content);

struct Channel {
  uint16_t id = 0, schema = 0;  // schema 0: none
  absl::string_view topic, encoding;
};
std::optional<Channel> ReadChannel(Bytes content);

struct MessageRecord {
  uint16_t channel = 0;
  int64_t time_ns = 0;
  Bytes data;
};
std::optional<MessageRecord> ReadMessage(Bytes content);

struct ChunkHeader {
  int64_t first_ns = 0, last_ns = 0;
  uint64_t uncompressed_size = 0;
  uint32_t crc = 0;  // of the uncompressed records; 0: not known
  absl::string_view compression;
  uint64_t stored_size = 0;  // of the records, which follow
  size_t bytes = 0;          // of these fields
};
// `content` may end before the records.
std::optional<ChunkHeader> ReadChunkHeader(Bytes content);

struct MessageIndex {
  uint16_t channel = 0;
  uint64_t messages = 0;
  int64_t first_ns = 0, last_ns = 0;  // of any messages
};
std::optional<MessageIndex> ReadMessageIndex(Bytes content);

struct ChunkIndex {
  int64_t first_ns = 0, last_ns = 0;
  uint64_t offset = 0, bytes = 0, index_bytes = 0;  // of the chunk's record, and of the message indexes behind it
  std::vector<uint16_t> channels;
};
std::optional<ChunkIndex> ReadChunkIndex(Bytes content);

struct Statistics {
  uint64_t messages = 0;
  uint32_t channel_count = 0, chunks = 0;
  std::vector<std::pair<uint16_t, uint64_t>> channels;  // messages of each
};
std::optional<Statistics> ReadStatistics(Bytes content);

}  // namespace glint::bag::mcap

#endif  // GLINT_BAG_MCAP_RECORDS_H_
