// MCAP files written record by record, as right or as wrong as a test wants them. Knows nothing of bag/mcap_*.
#ifndef GLINT_TESTS_BAG_RAW_MCAP_H_
#define GLINT_TESTS_BAG_RAW_MCAP_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bag/compression.h"

namespace glint::bag::raw {

inline const std::string kMagic("\x89MCAP0\r\n", 8);

inline std::string Le(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text.push_back(static_cast<char>(i < 8 ? value >> (8 * i) : 0));
  return text;
}
inline std::string Text(const std::string& text) { return Le(text.size(), 4) + text; }
inline std::string Record(int opcode, const std::string& content) {
  return Le(static_cast<uint64_t>(opcode), 1) + Le(content.size(), 8) + content;
}

// Bit by bit.
inline uint32_t Crc(const std::string& bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ (0xEDB88320U & (0U - (crc & 1)));
  }
  return ~crc;
}

inline std::string Schema(int id, const std::string& name, const std::string& encoding, const std::string& definition) {
  return Record(3, Le(static_cast<uint64_t>(id), 2) + Text(name) + Text(encoding) + Text(definition));
}
inline std::string Channel(int id, int schema, const std::string& topic, const std::string& encoding) {
  return Record(4, Le(static_cast<uint64_t>(id), 2) + Le(static_cast<uint64_t>(schema), 2) + Text(topic) +
                       Text(encoding) + Text(Text("key") + Text("value")));
}

struct Message {
  int channel = 1;
  uint64_t time = 0;
  std::string data;
};
inline std::string MessageRecord(const Message& message) {
  return Record(
      5, Le(static_cast<uint64_t>(message.channel), 2) + Le(7, 4) + Le(message.time, 8) + Le(3, 8) + message.data);
}

// Stored as it is, in one block.
inline std::string Lz4(const std::string& data) {
  return std::string("\x04\x22\x4d\x18\x60\x70\x73", 7) + Le(data.size() | 0x80000000U, 4) + data + Le(0, 4);
}
inline std::string Compress(const std::string& compression, const std::string& data) {
  if (compression == "lz4") return Lz4(data);
  if (compression != "zstd") return data;
  std::vector<uint8_t> out;
  const absl::Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(data.data()), data.size());
  EXPECT_TRUE(CompressZstd(bytes, &out).ok());
  return {out.begin(), out.end()};
}

struct Options {
  int messages_in_chunk = 4;  // 0: no chunks
  std::string compression;
  bool message_indexes = true, chunk_indexes = true, statistics = true, repeated_schemas = true,
       repeated_channels = true, summary_offsets = true, attachments = false, checksums = true;
  bool padding = false;  // behind the fields of records, but for messages, whose data has no other end
};

// A file in its parts, which a test may change before it puts them together.
class File {
 public:
  explicit File(Options options) : options_(std::move(options)) { Add(1, Text("profile") + Text("library")); }

  // Where the next record comes to lie.
  size_t size() const { return kMagic.size() + data_.size(); }
  void AddRaw(const std::string& bytes) { data_ += bytes; }
  // Records 3 and 4: also for the summary.
  void Define(std::string record, std::string* chunk = nullptr) {
    record = Pad(record);
    channel_count_ += record[0] == 4;
    (record[0] == 3 ? schemas_ : channels_) += record;
    (chunk != nullptr ? *chunk : data_) += record;
  }
  void AddMessage(const Message& message) {
    data_ += MessageRecord(message);
    ++counts_[message.channel];
  }
  // A chunk of `begin` (records) and the messages.
  void AddChunk(const std::string& begin, const std::vector<Message>& messages) {
    std::string records = begin;
    std::map<int, std::string> index;
    uint64_t first = ~uint64_t{0}, last = 0;
    for (const Message& message : messages) {
      index[message.channel] += Le(message.time, 8) + Le(records.size(), 8);
      records += MessageRecord(message);
      first = std::min(first, message.time);
      last = std::max(last, message.time);
      ++counts_[message.channel];
    }
    if (messages.empty()) first = 0;
    const std::string stored = Compress(options_.compression, records), times = Le(first, 8) + Le(last, 8);
    const size_t offset = size();
    data_ += Record(6, times + Le(records.size(), 8) + Le(options_.checksums ? Crc(records) : 0, 4) +
                           Text(options_.compression) + Le(stored.size(), 8) + stored);
    const size_t end = size();
    std::string offsets;
    for (const auto& [channel, entries] : index) {
      if (!options_.message_indexes) break;
      offsets += Le(static_cast<uint64_t>(channel), 2) + Le(size(), 8);
      Add(7, Le(static_cast<uint64_t>(channel), 2) + Text(entries));
    }
    chunk_indexes_ += Pad(Record(8, times + Le(offset, 8) + Le(end - offset, 8) + Text(offsets) + Le(size() - end, 8) +
                                        Text(options_.compression) + Le(stored.size(), 8) + Le(records.size(), 8)));
    ++chunks_;
  }
  std::map<int, uint64_t>& counts() { return counts_; }  // of the statistics
  std::string& chunk_indexes() { return chunk_indexes_; }
  int& chunks() { return chunks_; }

  std::string Close() {
    if (options_.attachments) {
      Add(9, Le(1, 8) + Le(2, 8) + Text("name") + Text("text/plain") + Le(5, 8) + "bytes" + Le(0, 4));
      Add(12, Text("name") + Text(Text("key") + Text("value")));
    }
    Add(15, Le(0, 4));
    const size_t begin = size();
    std::string counts, summary, offsets;
    uint64_t messages = 0;
    for (const auto& [channel, count] : counts_) {
      counts += Le(static_cast<uint64_t>(channel), 2) + Le(count, 8);
      messages += count;
    }
    const auto add = [&](int opcode, const std::string& records) {
      offsets +=
          Pad(Record(14, Le(static_cast<uint64_t>(opcode), 1) + Le(begin + summary.size(), 8) + Le(records.size(), 8)));
      summary += records;
    };
    if (options_.repeated_schemas) add(3, schemas_);
    if (options_.repeated_channels) add(4, channels_);
    if (options_.statistics) {
      add(11, Pad(Record(11, Le(messages, 8) + Le(1, 2) + Le(channel_count_, 4) + Le(options_.attachments, 4) +
                                 Le(options_.attachments, 4) + Le(static_cast<uint64_t>(chunks_), 4) + Le(0, 8) +
                                 Le(0, 8) + Text(counts))));
    }
    if (options_.chunk_indexes) add(8, chunk_indexes_);
    if (options_.attachments) add(10, Pad(Record(10, Le(0, 48) + Text("name") + Text("text/plain"))));
    if (!options_.summary_offsets) offsets.clear();
    const bool any = !summary.empty();
    std::string end = summary + offsets + Le(2, 1) + Le(20, 8) + Le(any ? begin : 0, 8) +
                      Le(any && !offsets.empty() ? begin + summary.size() : 0, 8);
    end += Le(options_.checksums ? Crc(end) : 0, 4);
    return kMagic + data_ + end + kMagic;
  }

 private:
  std::string Pad(std::string record) const {
    if (!options_.padding) return record;
    return Record(record[0], record.substr(9) + "\1\2\3");
  }
  void Add(int opcode, const std::string& content) { data_ += Pad(Record(opcode, content)); }

  const Options options_;
  std::string data_, schemas_, channels_, chunk_indexes_;
  std::map<int, uint64_t> counts_;
  int chunks_ = 0;
  uint64_t channel_count_ = 0;
};

// Two topics: "/a" of channel 1, which has a schema, and "/b" of channel 2, which has none; defined at the first
// message.
inline File Write(const Options& options, const std::vector<Message>& messages) {
  File file(options);
  std::vector<std::string> definitions = {Schema(1, "pkg/msg/Type", "ros2msg", "int32 x\n"), Channel(1, 1, "/a", "cdr"),
                                          Channel(2, 0, "/b", "json")};
  if (messages.empty()) definitions.clear();
  std::string begin;
  for (const std::string& record : definitions) file.Define(record, options.messages_in_chunk > 0 ? &begin : nullptr);
  for (size_t i = 0; i < messages.size();) {
    if (options.messages_in_chunk == 0) {
      file.AddMessage(messages[i++]);
      continue;
    }
    const size_t end = std::min(messages.size(), i + static_cast<size_t>(options.messages_in_chunk));
    file.AddChunk(begin, {messages.begin() + static_cast<int64_t>(i), messages.begin() + static_cast<int64_t>(end)});
    begin.clear();
    i = end;
  }
  return file;
}

inline std::string Save(const std::string& bytes, const std::string& name = "test.mcap") {
  std::string path = testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name() + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

}  // namespace glint::bag::raw

#endif  // GLINT_TESTS_BAG_RAW_MCAP_H_
