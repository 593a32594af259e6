#include "bag/mcap_writer.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "bag/bag.h"
#include "bag/compression.h"
#include "bag/mcap_records.h"
#include "features/atomic_file.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::bag {
namespace {

constexpr size_t kChunkBytes = 1 << 20;
constexpr char kLibrary[] = "glint";

mcap::Bytes AsBytes(absl::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

template <typename T>
void Put(T value, std::string* to) {
  static_assert(std::is_unsigned_v<T>);
  for (size_t i = 0; i < sizeof(T); ++i) to->push_back(static_cast<char>(uint64_t{value} >> (8 * i)));
}

void PutText(absl::string_view text, std::string* to) {
  Put(static_cast<uint32_t>(text.size()), to);
  to->append(text.data(), text.size());
}

std::string RecordOf(mcap::Opcode opcode, absl::string_view content) {
  std::string record;
  Put(static_cast<uint8_t>(opcode), &record);
  Put(uint64_t{content.size()}, &record);
  return absl::StrCat(record, content);
}

void Widen(uint64_t time, bool first, uint64_t* from, uint64_t* to) {
  *from = first ? time : std::min(*from, time);
  *to = first ? time : std::max(*to, time);
}

}  // namespace

absl::StatusOr<std::unique_ptr<McapWriter>> McapWriter::Create(const std::string& path, absl::string_view profile,
                                                               Compression compression) {
  GLINT_ASSIGN_OR_RETURN(AtomicFile created, AtomicFile::Create(path));
  const auto file = std::make_shared<AtomicFile>(std::move(created));
  const auto write = [file](absl::string_view piece) {
    file->Append(piece.data(), piece.size());
    return absl::OkStatus();
  };
  return Create({write, [file] { return file->Commit(); }}, profile, compression);
}

absl::StatusOr<std::unique_ptr<McapWriter>> McapWriter::Create(Sink sink, absl::string_view profile,
                                                               Compression compression) {
  std::unique_ptr<McapWriter> writer(new McapWriter(std::move(sink), compression));
  writer->Append({reinterpret_cast<const char*>(mcap::kMagic), sizeof(mcap::kMagic)});
  std::string header;
  PutText(profile, &header);
  PutText(kLibrary, &header);
  writer->Append(RecordOf(mcap::kHeader, header));
  GLINT_RETURN_IF_ERROR(writer->Flush());
  return writer;
}

absl::Status McapWriter::Flush() {
  if (failed_.ok()) failed_ = sink_.write(piece_);
  piece_.clear();
  return failed_;
}

void McapWriter::Append(absl::string_view bytes) {
  piece_.append(bytes.data(), bytes.size());
  crc_ = mcap::Crc32(AsBytes(bytes), crc_);
  size_ += bytes.size();
}

uint16_t McapWriter::AddSchema(const McapChannel& channel) {
  if (channel.schema_name.empty() && channel.schema_encoding.empty() && channel.schema.empty()) return 0;
  const auto [at, is_new] = schema_ids_.try_emplace({channel.schema_name, channel.schema_encoding, channel.schema},
                                                    static_cast<uint16_t>(schema_ids_.size() + 1));
  if (is_new) {
    std::string content;
    Put(at->second, &content);
    PutText(channel.schema_name, &content);
    PutText(channel.schema_encoding, &content);
    PutText(channel.schema, &content);
    const std::string record = RecordOf(mcap::kSchema, content);
    chunk_ += record;
    schemas_ += record;
  }
  return at->second;
}

absl::StatusOr<uint16_t> McapWriter::AddChannel(const McapChannel& channel) {
  constexpr size_t kMostChannels = std::numeric_limits<uint16_t>::max();
  if (written_.size() == kMostChannels) {
    return absl::ResourceExhaustedError(absl::StrCat("channel ", Echo(channel.topic), ": more than ", kMostChannels));
  }
  std::string metadata;
  for (const auto& [key, value] : channel.metadata) {
    PutText(key, &metadata);
    PutText(value, &metadata);
  }
  for (const size_t size : {channel.topic.size(), channel.encoding.size(), channel.schema_name.size(),
                            channel.schema_encoding.size(), channel.schema.size(), metadata.size()}) {
    if (size > std::numeric_limits<uint32_t>::max()) return TooLargeError("channel", size, 0xFFFFFFFF);
  }
  const uint16_t schema = AddSchema(channel);
  written_.emplace_back();
  const auto id = static_cast<uint16_t>(written_.size());
  std::string content;
  Put(id, &content);
  Put(schema, &content);
  PutText(channel.topic, &content);
  PutText(channel.encoding, &content);
  PutText(metadata, &content);
  const std::string record = RecordOf(mcap::kChannel, content);
  chunk_ += record;
  channels_ += record;
  return id;
}

absl::Status McapWriter::Write(uint16_t channel, int64_t recorded_ns, int64_t published_ns,
                               absl::Span<const uint8_t> data) {
  GLINT_RETURN_IF_ERROR(CheckRange<int64_t>("channel", channel, 1, static_cast<int64_t>(written_.size())));
  for (const int64_t time : {recorded_ns, published_ns}) {
    GLINT_RETURN_IF_ERROR(CheckRange<int64_t>("time_ns", time, 0, std::numeric_limits<int64_t>::max()));
  }
  if (data.size() > size_t{Bag::kLargestMessage}) return TooLargeError("data", data.size(), Bag::kLargestMessage);
  const auto time = static_cast<uint64_t>(recorded_ns);
  Written& written = written_[channel - 1];
  written.index.emplace_back(time, chunk_.size());
  Widen(time, chunk_messages_ == 0, &chunk_first_ns_, &chunk_last_ns_);
  Widen(time, messages_ == 0, &first_ns_, &last_ns_);
  Put(static_cast<uint8_t>(mcap::kMessage), &chunk_);
  Put(uint64_t{mcap::kMessageHeader + data.size()}, &chunk_);
  Put(channel, &chunk_);
  Put(written.sequence++, &chunk_);
  Put(time, &chunk_);
  Put(static_cast<uint64_t>(published_ns), &chunk_);
  chunk_.append(reinterpret_cast<const char*>(data.data()), data.size());
  ++written.messages;
  ++chunk_messages_;
  ++messages_;
  return chunk_.size() < kChunkBytes ? absl::OkStatus() : EndChunk();
}

absl::Status McapWriter::EndChunk() {
  if (chunk_.empty()) return absl::OkStatus();
  const bool zstd = compression_ == Compression::kZstd;
  if (zstd) GLINT_RETURN_IF_ERROR(CompressZstd(AsBytes(chunk_), &compressed_));
  const absl::string_view stored =
      zstd ? absl::string_view(reinterpret_cast<const char*>(compressed_.data()), compressed_.size()) : chunk_;
  const absl::string_view name = zstd ? "zstd" : "";
  const uint64_t begin = size_;
  std::string head;
  Put(static_cast<uint8_t>(mcap::kChunk), &head);
  Put(uint64_t{40 + name.size() + stored.size()}, &head);  // all fields but the two have 40 bytes
  Put(chunk_first_ns_, &head);
  Put(chunk_last_ns_, &head);
  Put(uint64_t{chunk_.size()}, &head);
  Put(mcap::Crc32(AsBytes(chunk_)), &head);
  PutText(name, &head);
  Put(uint64_t{stored.size()}, &head);
  Append(head);
  Append(stored);

  const uint64_t end = size_;
  std::string offsets;
  for (size_t i = 0; i < written_.size(); ++i) {
    if (written_[i].index.empty()) continue;
    const auto id = static_cast<uint16_t>(i + 1);
    Put(id, &offsets);
    Put(size_, &offsets);
    std::string entries, content;
    for (const auto& [time, offset] : written_[i].index) {
      Put(time, &entries);
      Put(offset, &entries);
    }
    Put(id, &content);
    PutText(entries, &content);
    Append(RecordOf(mcap::kMessageIndex, content));
    written_[i].index.clear();
  }
  std::string index;
  Put(chunk_first_ns_, &index);
  Put(chunk_last_ns_, &index);
  Put(begin, &index);
  Put(end - begin, &index);
  PutText(offsets, &index);
  Put(size_ - end, &index);
  PutText(name, &index);
  Put(uint64_t{stored.size()}, &index);
  Put(uint64_t{chunk_.size()}, &index);
  chunk_indexes_ += RecordOf(mcap::kChunkIndex, index);
  ++chunks_;
  chunk_.clear();
  chunk_messages_ = chunk_first_ns_ = chunk_last_ns_ = 0;
  return Flush();
}

void McapWriter::AppendSummary() {
  std::string statistics, counts;
  Put(messages_, &statistics);
  Put(static_cast<uint16_t>(schema_ids_.size()), &statistics);
  Put(static_cast<uint32_t>(written_.size()), &statistics);
  Put(uint32_t{0}, &statistics);  // attachments
  Put(uint32_t{0}, &statistics);  // metadata
  Put(chunks_, &statistics);
  Put(first_ns_, &statistics);
  Put(last_ns_, &statistics);
  for (size_t i = 0; i < written_.size(); ++i) {
    if (written_[i].messages == 0) continue;
    Put(static_cast<uint16_t>(i + 1), &counts);
    Put(written_[i].messages, &counts);
  }
  PutText(counts, &statistics);

  crc_ = 0;
  const uint64_t begin = size_;
  std::string offsets;
  const auto append = [&](mcap::Opcode opcode, const std::string& records) {
    if (records.empty()) return;
    std::string offset;
    Put(static_cast<uint8_t>(opcode), &offset);
    Put(size_, &offset);
    Put(uint64_t{records.size()}, &offset);
    offsets += RecordOf(mcap::kSummaryOffset, offset);
    Append(records);
  };
  append(mcap::kSchema, schemas_);
  append(mcap::kChannel, channels_);
  append(mcap::kStatistics, RecordOf(mcap::kStatistics, statistics));
  append(mcap::kChunkIndex, chunk_indexes_);
  const uint64_t offsets_begin = size_;
  Append(offsets);
  std::string footer;
  Put(static_cast<uint8_t>(mcap::kFooter), &footer);
  Put(uint64_t{mcap::kFooterContent}, &footer);
  Put(begin, &footer);
  Put(offsets_begin, &footer);
  Append(footer);
  std::string end;
  Put(crc_, &end);
  end.append(reinterpret_cast<const char*>(mcap::kMagic), sizeof(mcap::kMagic));
  Append(end);
}

absl::Status McapWriter::Close() {
  GLINT_RETURN_IF_ERROR(EndChunk());
  std::string data_end;
  Put(crc_, &data_end);
  Append(RecordOf(mcap::kDataEnd, data_end));
  AppendSummary();
  GLINT_RETURN_IF_ERROR(Flush());
  return sink_.close();
}

}  // namespace glint::bag
