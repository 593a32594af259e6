#include "bag/mcap_records.h"

#include <algorithm>
#include <array>
#include <limits>

namespace glint::bag::mcap {
namespace {

// Eight bytes a step: row k has the remainders of a byte with k zero bytes behind it.
using CrcTables = std::array<std::array<uint32_t, 256>, 8>;

constexpr CrcTables MakeCrcTables() {
  CrcTables tables = {};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320U : 0);
    tables[0][i] = value;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t i = 0; i < 256; ++i) tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 255];
  }
  return tables;
}

constexpr CrcTables kCrc = MakeCrcTables();

template <typename T>
std::optional<T> IfOk(const Fields& fields, T value) {
  if (!fields.ok()) return std::nullopt;
  return value;
}

}  // namespace

uint32_t Crc32(Bytes bytes, uint32_t before) {
  uint32_t crc = ~before;
  const uint8_t* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    const uint32_t low = crc ^ (at[0] | uint32_t{at[1]} << 8 | uint32_t{at[2]} << 16 | uint32_t{at[3]} << 24);
    crc = kCrc[7][low & 255] ^ kCrc[6][(low >> 8) & 255] ^ kCrc[5][(low >> 16) & 255] ^ kCrc[4][low >> 24] ^
          kCrc[3][at[4]] ^ kCrc[2][at[5]] ^ kCrc[1][at[6]] ^ kCrc[0][at[7]];
  }
  for (; left > 0; --left, ++at) crc = (crc >> 8) ^ kCrc[0][(crc ^ *at) & 255];
  return ~crc;
}

int64_t ToTime(uint64_t time) {
  return static_cast<int64_t>(std::min<uint64_t>(time, std::numeric_limits<int64_t>::max()));
}

Bytes Fields::Take(uint64_t count) {
  if (!ok_ || count > rest_.size()) {
    ok_ = false;
    rest_ = {};
    return {};
  }
  const Bytes taken = rest_.subspan(0, count);
  rest_.remove_prefix(count);
  return taken;
}

absl::string_view Fields::Text() {
  const Bytes text = Block();
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

std::optional<Record> TakeRecord(Bytes* bytes) {
  Fields fields(*bytes);
  Record record;
  record.opcode = fields.Number<uint8_t>();
  record.content = fields.Take(fields.Number<uint64_t>());
  if (!fields.ok()) return std::nullopt;
  *bytes = fields.rest();
  return record;
}

std::optional<Schema> ReadSchema(Bytes content) {
  Fields fields(content);
  Schema schema;
  schema.id = fields.Number<uint16_t>();
  schema.name = fields.Text();
  schema.encoding = fields.Text();
  schema.definition = fields.Text();
  return IfOk(fields, schema);
}

std::optional<Channel> ReadChannel(Bytes content) {
  Fields fields(content);
  Channel channel;
  channel.id = fields.Number<uint16_t>();
  channel.schema = fields.Number<uint16_t>();
  channel.topic = fields.Text();
  channel.encoding = fields.Text();
  return IfOk(fields, channel);
}

std::optional<MessageRecord> ReadMessage(Bytes content) {
  Fields fields(content);
  MessageRecord message;
  message.channel = fields.Number<uint16_t>();
  fields.Number<uint32_t>();  // sequence
  message.time_ns = ToTime(fields.Number<uint64_t>());
  fields.Number<uint64_t>();  // time of publication
  message.data = fields.rest();
  return IfOk(fields, message);
}

std::optional<ChunkHeader> ReadChunkHeader(Bytes content) {
  Fields fields(content);
  ChunkHeader header;
  header.first_ns = ToTime(fields.Number<uint64_t>());
  header.last_ns = ToTime(fields.Number<uint64_t>());
  header.uncompressed_size = fields.Number<uint64_t>();
  header.crc = fields.Number<uint32_t>();
  header.compression = fields.Text();
  header.stored_size = fields.Number<uint64_t>();
  header.bytes = content.size() - fields.rest().size();
  return IfOk(fields, header);
}

std::optional<MessageIndex> ReadMessageIndex(Bytes content) {
  Fields fields(content);
  MessageIndex index;
  index.channel = fields.Number<uint16_t>();
  Fields entries(fields.Block());
  index.messages = entries.rest().size() / kMessageIndexEntry;
  index.first_ns = std::numeric_limits<int64_t>::max();
  index.last_ns = 0;
  for (uint64_t i = 0; i < index.messages; ++i) {
    const int64_t time = ToTime(entries.Number<uint64_t>());
    entries.Number<uint64_t>();  // offset
    index.first_ns = std::min(index.first_ns, time);
    index.last_ns = std::max(index.last_ns, time);
  }
  return IfOk(fields, index);
}

std::optional<ChunkIndex> ReadChunkIndex(Bytes content) {
  Fields fields(content);
  ChunkIndex index;
  index.first_ns = ToTime(fields.Number<uint64_t>());
  index.last_ns = ToTime(fields.Number<uint64_t>());
  index.offset = fields.Number<uint64_t>();
  index.bytes = fields.Number<uint64_t>();
  Fields channels(fields.Block());
  index.index_bytes = fields.Number<uint64_t>();
  if (!fields.ok()) return std::nullopt;
  while (!channels.rest().empty()) {
    index.channels.push_back(channels.Number<uint16_t>());
    channels.Number<uint64_t>();  // offset of its message index
  }
  return IfOk(channels, std::move(index));
}

std::optional<Statistics> ReadStatistics(Bytes content) {
  Fields fields(content);
  Statistics statistics;
  statistics.messages = fields.Number<uint64_t>();
  fields.Number<uint16_t>();  // schemas
  statistics.channel_count = fields.Number<uint32_t>();
  fields.Number<uint32_t>();  // attachments
  fields.Number<uint32_t>();  // metadata
  statistics.chunks = fields.Number<uint32_t>();
  fields.Number<uint64_t>();  // first time
  fields.Number<uint64_t>();  // last time
  Fields channels(fields.Block());
  if (!fields.ok()) return std::nullopt;
  while (!channels.rest().empty()) {
    const auto channel = channels.Number<uint16_t>();
    statistics.channels.emplace_back(channel, channels.Number<uint64_t>());
  }
  return IfOk(channels, std::move(statistics));
}

}  // namespace glint::bag::mcap
