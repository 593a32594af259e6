#include "bag/mcap_scanner.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bag/bag.h"
#include "features/error.h"

namespace glint::bag::mcap {
namespace {

constexpr uint64_t kWindow = 1 << 14;
constexpr uint64_t kMostContent = 1 << 25;  // of a record that is read as a whole; no message and no chunk
constexpr uint64_t kMostChunkHeader = 256;
constexpr uint64_t kMostRow = 1 << 20;  // of records outside of chunks that are taken together
constexpr size_t kMostText = 1 << 26;
constexpr size_t kMostListed = 1 << 24;
constexpr size_t kMostNotes = 200;

}  // namespace

void Scanner::Note(std::string note) {
  if (index_.notes.size() < kMostNotes) index_.notes.push_back(std::move(note));
}

Bytes Scanner::Peek(uint64_t offset, uint64_t count) {
  if (offset < window_at_ || offset + count > window_at_ + window_.size()) {
    const auto size = static_cast<uint64_t>(file_.size());
    window_.resize(std::min(std::max(count, kWindow), size - std::min(offset, size)));
    window_at_ = offset;
    const absl::Status status = file_.Read(static_cast<int64_t>(offset), absl::MakeSpan(window_));
    if (!status.ok()) {
      Note(absl::StrCat("cannot be read at byte ", offset, ": ", status.message()));
      window_.clear();
    }
  }
  const Bytes from = Bytes(window_).subspan(std::min<uint64_t>(offset - window_at_, window_.size()));
  return from.subspan(0, count);
}

uint32_t Scanner::Checksum(uint64_t begin, uint64_t end) {
  uint32_t crc = 0;
  for (uint64_t at = begin; at < end;) {
    const Bytes bytes = Peek(at, std::min(kWindow, end - at));
    if (bytes.empty()) break;
    crc = Crc32(bytes, crc);
    at += bytes.size();
  }
  return crc;
}

std::optional<Scanner::Head> Scanner::HeadAt(uint64_t at, uint64_t end) {
  if (end - at < kRecordHeader) return std::nullopt;
  Fields fields(Peek(at, kRecordHeader));
  Head head;
  head.opcode = fields.Number<uint8_t>();
  const auto length = fields.Number<uint64_t>();
  if (!fields.ok() || head.opcode == 0 || length > end - at - kRecordHeader) return std::nullopt;
  head.bytes = kRecordHeader + length;
  return head;
}

Bytes Scanner::Content(uint64_t at, const Head& head) {
  if (head.bytes <= kMostContent) return Peek(at + kRecordHeader, head.bytes - kRecordHeader);
  Note(absl::StrCat("record at byte ", at, " is left out: ", head.bytes, " bytes"));
  return {};
}

void Scanner::Define(uint8_t opcode, Bytes content) {
  const auto take = [&](absl::string_view text) {
    text_bytes_ += text.size();
    return std::string(text);
  };
  if (text_bytes_ + content.size() > kMostText) return Note("definitions: too many bytes; the others are left out");
  bool other = false;
  if (opcode == kSchema) {
    const std::optional<Schema> schema = ReadSchema(content);
    if (!schema.has_value()) return Note("a damaged schema is left out");
    const auto at = index_.schemas.find(schema->id);
    if (at == index_.schemas.end()) {
      index_.schemas[schema->id] = {take(schema->name), take(schema->encoding), take(schema->definition)};
    } else {
      const Index::Schema& known = at->second;
      other =
          known.name != schema->name || known.encoding != schema->encoding || known.definition != schema->definition;
    }
    if (other) Note(absl::StrCat("schema ", schema->id, " is there twice, with other contents: the first counts"));
  } else {
    const std::optional<Channel> channel = ReadChannel(content);
    if (!channel.has_value()) return Note("a damaged channel is left out");
    const auto at = index_.channels.find(channel->id);
    if (at == index_.channels.end()) {
      index_.channels[channel->id] = {channel->schema, take(channel->topic), take(channel->encoding)};
    } else {
      const Index::Channel& known = at->second;
      other = known.schema != channel->schema || known.topic != channel->topic || known.encoding != channel->encoding;
    }
    if (other) Note(absl::StrCat("channel ", channel->id, " is there twice, with other contents: the first counts"));
  }
}

void Scanner::AddTally(uint16_t channel, uint64_t messages, int64_t first_ns, int64_t last_ns) {
  Tally& tally = index_.TallyOf(channel);
  tally.messages += static_cast<int64_t>(messages);
  tally.first_ns = std::min(tally.first_ns, first_ns);
  tally.last_ns = std::max(tally.last_ns, last_ns);
}

void Scanner::SetChannels(absl::Span<const uint16_t> channels, Part* part) {
  std::vector<uint16_t>& lists = index_.channel_lists;
  part->channel_count = static_cast<uint32_t>(channels.size());
  // Mostly those of the part before.
  if (lists.size() >= channels.size() &&
      std::equal(channels.begin(), channels.end(), lists.end() - part->channel_count)) {
    part->channels = static_cast<uint32_t>(lists.size() - channels.size());
  } else if (lists.size() + channels.size() <= kMostListed) {
    part->channels = static_cast<uint32_t>(lists.size());
    lists.insert(lists.end(), channels.begin(), channels.end());
  } else {
    part->channel_count = 0;  // not known
  }
}

void Scanner::AddPart(const Part& part) {
  if (index_.parts.size() < kMostParts) {
    index_.parts.push_back(part);
  } else {
    Note(absl::StrCat("more than ", kMostParts, " chunks: the others are left out"));
  }
}

bool Scanner::Walk(uint64_t* at, uint64_t end) {
  while (*at < end) {
    const std::optional<Head> head = HeadAt(*at, end);
    if (!head.has_value() || head->opcode != kMessageIndex) FinishChunk(head.has_value());
    if (!head.has_value()) {
      Stop(*at, end);
      return false;
    }
    Visit(*at, *head);
    content_before_ = *at + kRecordHeader;
    *at += head->bytes;
  }
  FinishChunk(end < static_cast<uint64_t>(file_.size()));
  return true;
}

uint64_t Scanner::FindChunk(uint64_t begin, uint64_t end) {
  for (uint64_t window = begin; window < end; window += kWindow) {
    const Bytes peeked = Peek(window, std::min(kWindow, end - window));
    const std::vector<uint8_t> bytes(peeked.begin(), peeked.end());
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] != kChunk) continue;
      const uint64_t at = window + i;
      const std::optional<Head> head = HeadAt(at, end);
      if (!head.has_value()) continue;
      const uint64_t length = head->bytes - kRecordHeader;
      const auto header = ReadChunkHeader(Peek(at + kRecordHeader, std::min(kMostChunkHeader, length)));
      if (!header.has_value() || header->stored_size != length - header->bytes) continue;
      if (header->first_ns > header->last_ns || header->uncompressed_size > uint64_t{Bag::kLargestChunk}) continue;
      const absl::string_view compression = header->compression;
      if (compression == "lz4" || compression == "zstd") return at;
      if (compression.empty() && header->uncompressed_size == header->stored_size) return at;
    }
  }
  return end;
}

void Scanner::Visit(uint64_t at, const Head& head) {
  switch (head.opcode) {
    case kSchema:
    case kChannel:
      return Define(head.opcode, Content(at, head));
    case kMessage:
      return AddMessage(at, head);
    case kMessageIndex: {
      if (!chunk_.has_value()) return;
      const std::optional<MessageIndex> index = ReadMessageIndex(Content(at, head));
      indexes_ok_ = indexes_ok_ && index.has_value();
      if (index.has_value() && index->messages > 0) indexes_.push_back(*index);
      return;
    }
    case kChunk: {
      const uint64_t most = std::min(kMostChunkHeader, head.bytes - kRecordHeader);
      const std::optional<ChunkHeader> header = ReadChunkHeader(Peek(at + kRecordHeader, most));
      chunk_.emplace();
      chunk_->offset = at;
      chunk_->bytes = head.bytes;
      chunk_->first_ns = header.has_value() ? header->first_ns : 0;
      chunk_->last_ns = header.has_value() ? header->last_ns : 0;
      indexes_ok_ = header.has_value();
      return;
    }
    default:
      return;
  }
}

bool Scanner::Agrees() const {
  if (!indexes_ok_ || indexes_.empty()) return false;
  int64_t first = indexes_[0].first_ns, last = indexes_[0].last_ns;
  for (const MessageIndex& index : indexes_) {
    if (!index_.Knows(index.channel)) return false;
    first = std::min(first, index.first_ns);
    last = std::max(last, index.last_ns);
  }
  return first == chunk_->first_ns && last == chunk_->last_ns;
}

void Scanner::FinishChunk(bool more) {
  if (!chunk_.has_value()) return;
  if (trust_ && more && Agrees()) {
    chunk_channels_.Clear();
    for (const MessageIndex& index : indexes_) {
      AddTally(index.channel, index.messages, index.first_ns, index.last_ns);
      chunk_channels_.Add(index.channel);
    }
    SetChannels(chunk_channels_.ids(), &*chunk_);
    AddPart(*chunk_);
  } else {
    ReadChunk(*chunk_);
  }
  chunk_.reset();
  indexes_.clear();
}

void Scanner::ReadChunk(Part part) {
  const absl::StatusOr<Bytes> loaded = buffer_.Load(file_, part);
  if (!loaded.ok()) {
    return Note(absl::StrCat("chunk at byte ", part.offset, " is left out: ", loaded.status().message()));
  }
  chunk_channels_.Clear();
  part.first_ns = std::numeric_limits<int64_t>::max();
  part.last_ns = 0;
  Bytes rest = *loaded;
  while (const std::optional<Record> record = TakeRecord(&rest)) {
    if (record->opcode == kSchema || record->opcode == kChannel) Define(record->opcode, record->content);
    if (record->opcode != kMessage) continue;
    const std::optional<MessageRecord> message = ReadMessage(record->content);
    if (!message.has_value() || message->data.size() > Bag::kLargestMessage) {
      Note(
          absl::StrCat("chunk at byte ", part.offset, ": a message of ", record->content.size(), " bytes is left out"));
      continue;
    }
    AddTally(message->channel, 1, message->time_ns, message->time_ns);
    chunk_channels_.Add(message->channel);
    part.first_ns = std::min(part.first_ns, message->time_ns);
    part.last_ns = std::max(part.last_ns, message->time_ns);
  }
  if (!rest.empty()) {
    Note(absl::StrCat("chunk at byte ", part.offset, ": its last ", rest.size(), " bytes are no whole record"));
  }
  if (chunk_channels_.ids().empty()) return;
  SetChannels(chunk_channels_.ids(), &part);
  AddPart(part);
}

void Scanner::AddMessage(uint64_t at, const Head& head) {
  const uint64_t length = head.bytes - kRecordHeader;
  const std::optional<MessageRecord> message = ReadMessage(Peek(at + kRecordHeader, std::min(length, kMessageHeader)));
  if (!message.has_value() || length - kMessageHeader > Bag::kLargestMessage) {
    return Note(absl::StrCat("a message of ", length, " bytes at byte ", at, " is left out"));
  }
  AddTally(message->channel, 1, message->time_ns, message->time_ns);
  if (row_.has_value() && at + head.bytes - row_->offset > kMostRow) FinishRow();
  if (!row_.has_value()) {
    row_.emplace();
    row_->kind = Part::Kind::kRecords;
    row_->offset = at;
    row_->first_ns = row_->last_ns = message->time_ns;
  }
  row_->bytes = at + head.bytes - row_->offset;
  row_->first_ns = std::min(row_->first_ns, message->time_ns);
  row_->last_ns = std::max(row_->last_ns, message->time_ns);
  row_channels_.Add(message->channel);
}

void Scanner::FinishRow() {
  if (!row_.has_value()) return;
  SetChannels(row_channels_.ids(), &*row_);
  AddPart(*row_);
  row_.reset();
  row_channels_.Clear();
}

void Scanner::Stop(uint64_t at, uint64_t end) {
  Fields fields(Peek(at, std::min<uint64_t>(kRecordHeader, end - at)));
  const auto opcode = fields.Number<uint8_t>();
  const auto length = fields.Number<uint64_t>();
  index_.whole = false;
  if (fields.ok() && opcode == 0) return Note(absl::StrCat("damaged at byte ", at, ": no record is there"));
  Note(absl::StrCat("cut off in the record at byte ", at, ", which has ", end - at, " of ",
                    fields.ok() ? absl::StrCat(length) : "more", " bytes"));
  if (opcode != kChunk || end < static_cast<uint64_t>(file_.size())) return;
  Part part;
  part.kind = Part::Kind::kCutChunk;
  part.offset = at;
  part.bytes = end - at;
  ReadChunk(part);
}

Index Scanner::Finish() {
  FinishRow();
  std::sort(index_.parts.begin(), index_.parts.end(), [](const Part& a, const Part& b) {
    return std::tie(a.first_ns, a.offset) < std::tie(b.first_ns, b.offset);
  });
  return std::move(index_);
}

}  // namespace glint::bag::mcap
