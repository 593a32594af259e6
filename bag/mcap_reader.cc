#include "bag/mcap_reader.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bag/file.h"
#include "bag/mcap_index.h"
#include "bag/mcap_part.h"
#include "bag/mcap_records.h"
#include "bag/reader.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::bag {
namespace {

using mcap::Bytes;
using mcap::Part;

constexpr size_t kLargestKept = size_t{1} << 24;  // bytes of buffers that are kept for another part

// A part of the file whose messages are being given.
struct OpenPart {
  mcap::PartBuffer buffer;
  Bytes records;                   // in `buffer`
  std::vector<uint32_t> messages;  // where in `records` each that is selected begins, by time, then by place
  size_t next = 0;                 // of `messages`

  mcap::MessageRecord MessageAt(size_t begin) const {
    Bytes rest = records.subspan(begin);
    return *mcap::ReadMessage(mcap::TakeRecord(&rest)->content);
  }
  size_t bytes() const { return sizeof(OpenPart) + buffer.bytes() + messages.capacity() * sizeof(uint32_t); }
};

// An open part and its next message. The first of a heap is the one whose message is the earliest.
struct Head {
  int64_t time_ns = 0;
  uint64_t offset = 0;  // of the part in the file
  std::unique_ptr<OpenPart> part;

  bool operator<(const Head& other) const { return std::tie(time_ns, offset) > std::tie(other.time_ns, other.offset); }
};

class McapBag : public Reader {
 public:
  explicit McapBag(File file) : file_(std::move(file)) {}

  // INVALID_ARGUMENT: nothing can be read.
  absl::Status ReadIndex();
  std::string format() const override { return "MCAP"; }
  absl::Status Select(absl::Span<const int> topics) override;
  absl::Status Next(Message* message) override;

 private:
  bool HasSelected(const Part& part) const;
  absl::Status Open(const Part& part);
  void FindMessages(OpenPart* open) const;
  // Puts it among heads_, or closes it if it has no more messages.
  void Keep(uint64_t offset, std::unique_ptr<OpenPart> open);

  const File file_;
  mcap::Index index_;
  std::vector<int> topic_of_channel_ = std::vector<int>(mcap::kChannels, -1);

  size_t next_part_ = 0;  // of index_.parts
  std::vector<Head> heads_;
  size_t open_bytes_ = 0;  // of heads_
  Head given_;             // whose message was the last one; its part is none before the first
  std::unique_ptr<OpenPart> spare_;
  int64_t last_ns_ = 0;
  bool left_out_ = false;  // a chunk, with messages that were counted
};

absl::Status McapBag::ReadIndex() {
  index_ = mcap::ReadIndex(file_);
  for (std::string& note : index_.notes) Note(std::move(note));
  for (const auto& [id, channel] : index_.channels) {
    Topic topic;
    topic.name = channel.topic;
    topic.encoding = channel.encoding;
    const auto schema = index_.schemas.find(channel.schema);
    if (channel.schema != 0 && schema == index_.schemas.end()) {
      Note(absl::StrCat("topic ", Echo(topic.name), ": its schema, ", channel.schema, ", is not there"));
    } else if (channel.schema != 0) {
      topic.type = schema->second.name;
      topic.definition_encoding = schema->second.encoding;
      topic.definition = schema->second.definition;
    }
    const mcap::Tally& tally = index_.TallyOf(id);
    topic_of_channel_[id] = AddTopic(std::move(topic));
    Count(topic_of_channel_[id], tally.messages, tally.first_ns, tally.last_ns);
  }
  if (topics_.empty() && !index_.whole) {
    return absl::InvalidArgumentError(
        absl::StrCat("nothing can be read: ", notes_.empty() ? "no records" : notes_.front()));
  }
  index_.schemas.clear();
  return absl::OkStatus();
}

absl::Status McapBag::Select(absl::Span<const int> topics) {
  GLINT_RETURN_IF_ERROR(SetSelected(topics));
  next_part_ = 0;
  heads_.clear();
  open_bytes_ = 0;
  given_ = {};
  last_ns_ = 0;
  left_out_ = false;
  return absl::OkStatus();
}

bool McapBag::HasSelected(const Part& part) const {
  if (part.channel_count == 0) return true;  // not known
  const auto channels = absl::MakeConstSpan(index_.channel_lists).subspan(part.channels, part.channel_count);
  return std::any_of(channels.begin(), channels.end(),
                     [&](uint16_t channel) { return IsSelected(topic_of_channel_[channel]); });
}

void McapBag::FindMessages(OpenPart* open) const {
  open->messages.clear();
  open->next = 0;
  bool sorted = true;
  int64_t last = 0;
  Bytes rest = open->records;
  while (true) {
    const size_t begin = open->records.size() - rest.size();
    const std::optional<mcap::Record> record = mcap::TakeRecord(&rest);
    if (!record.has_value()) break;
    if (record->opcode != mcap::kMessage) continue;
    const std::optional<mcap::MessageRecord> message = mcap::ReadMessage(record->content);
    if (!message.has_value() || message->data.size() > kLargestMessage) continue;
    if (!IsSelected(topic_of_channel_[message->channel])) continue;
    sorted = sorted && message->time_ns >= last;
    last = message->time_ns;
    open->messages.push_back(static_cast<uint32_t>(begin));
  }
  if (sorted) return;
  const auto key = [&](uint32_t begin) { return std::make_pair(open->MessageAt(begin).time_ns, begin); };
  std::sort(open->messages.begin(), open->messages.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
}

absl::Status McapBag::Open(const Part& part) {
  std::unique_ptr<OpenPart> open = spare_ != nullptr ? std::move(spare_) : std::make_unique<OpenPart>();
  const absl::StatusOr<Bytes> records = open->buffer.Load(file_, part);
  if (absl::IsInvalidArgument(records.status())) {
    Note(absl::StrCat("chunk at byte ", part.offset, " is left out: ", records.status().message()));
    left_out_ = true;
    return absl::OkStatus();
  }
  if (!records.ok()) return records.status();
  open->records = *records;
  FindMessages(open.get());
  Keep(part.offset, std::move(open));
  return absl::OkStatus();
}

void McapBag::Keep(uint64_t offset, std::unique_ptr<OpenPart> open) {
  if (open->next == open->messages.size()) {
    if (open->bytes() <= kLargestKept) spare_ = std::move(open);
    return;
  }
  open_bytes_ += open->bytes();
  heads_.push_back({open->MessageAt(open->messages[open->next]).time_ns, offset, std::move(open)});
  std::push_heap(heads_.begin(), heads_.end());
}

absl::Status McapBag::Next(Message* message) {
  if (given_.part != nullptr) {
    ++given_.part->next;
    Keep(given_.offset, std::move(given_.part));
  }
  for (; next_part_ < index_.parts.size(); ++next_part_) {
    const Part& part = index_.parts[next_part_];
    if (!heads_.empty() && (heads_.front().time_ns < part.first_ns || open_bytes_ >= kMcapOpenBytes)) break;
    if (HasSelected(part)) GLINT_RETURN_IF_ERROR(Open(part));
  }
  if (heads_.empty()) {
    // Damage that no checksum tells.
    if (missing_ > 0 && !left_out_) Note(absl::StrCat(missing_, " messages of the index are not in their chunks"));
    if (missing_ < 0) Note(absl::StrCat("the index is of ", -missing_, " messages less than its chunks have"));
    return absl::OutOfRangeError("the recording ends");
  }
  std::pop_heap(heads_.begin(), heads_.end());
  given_ = std::move(heads_.back());
  heads_.pop_back();
  open_bytes_ -= given_.part->bytes();

  const mcap::MessageRecord record = given_.part->MessageAt(given_.part->messages[given_.part->next]);
  if (record.time_ns < last_ns_) {
    Note(absl::StrCat("messages are not in the order of their times: more than ", kMcapOpenBytes >> 20,
                      " MiB of chunks overlap, or the index has wrong times"));
  }
  last_ns_ = record.time_ns;
  --missing_;
  message->topic = topic_of_channel_[record.channel];
  message->time_ns = record.time_ns;
  message->data = record.data;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Bag>> OpenMcap(const std::string& path) {
  GLINT_ASSIGN_OR_RETURN(File file, File::Open(path));
  uint8_t magic[sizeof(mcap::kMagic)] = {};
  const absl::Status read = file.Read(0, absl::MakeSpan(magic));
  if (!read.ok() && !absl::IsOutOfRange(read)) return read;
  if (!read.ok() || std::memcmp(magic, mcap::kMagic, sizeof(magic)) != 0) {
    constexpr size_t kVersion = 5;  // where it is, a digit
    const bool other =
        read.ok() && std::memcmp(magic, mcap::kMagic, kVersion) == 0 && magic[6] == '\r' && magic[7] == '\n';
    return InFile(
        path, absl::InvalidArgumentError(other ? absl::StrCat("MCAP of version ",
                                                              Echo(std::string(1, static_cast<char>(magic[kVersion]))),
                                                              ": only version 0 is read")
                                               : "not an MCAP file"));
  }
  auto bag = std::make_unique<McapBag>(std::move(file));
  if (const absl::Status status = bag->ReadIndex(); !status.ok()) return InFile(path, status);
  return bag;
}

}  // namespace glint::bag
