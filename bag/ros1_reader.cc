#include "bag/ros1_reader.h"

#include <algorithm>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::bag {
namespace {

constexpr int64_t kMostLoaded = int64_t{1} << 28;  // bytes of chunks that overlap in time
// Bytes that may be decompressed without a message that is wanted: so many, and so many times the file's.
constexpr int64_t kVainBytes = int64_t{1} << 29;
constexpr int64_t kVainRatio = 64;

constexpr size_t kMostAhead = 8;
// Who reads no further than the first messages has nothing of what is read ahead.
constexpr size_t kLoadsBeforeAhead = 2;

size_t ChunksAhead() {
  const size_t processors = std::thread::hardware_concurrency();
  return processors > 1 ? std::min(processors, kMostAhead) : 0;
}

}  // namespace

Ros1Reader::Ros1Reader(File file) : file_(std::move(file)), ahead_(file_, ChunksAhead()) {}

bool IsRos1(absl::string_view beginning) {
  return absl::StartsWith(beginning, "#ROSBAG V") || absl::StartsWith(beginning, "#ROSRECORD V");
}

absl::StatusOr<std::unique_ptr<Bag>> OpenRos1(const std::string& path) {
  GLINT_ASSIGN_OR_RETURN(File file, File::Open(path));
  const std::string beginning = file.ReadText(0, 32);
  const std::string line = beginning.substr(0, beginning.find('\n'));
  if (!absl::StartsWith(beginning, kRos1Magic)) {
    return absl::InvalidArgumentError(absl::StrCat(Echo(path), ": begins with \"", Echo(line),
                                                   "\", not \"#ROSBAG V2.0\"",
                                                   IsRos1(beginning) ? ": `rosbag fix` of ROS 1 rewrites it" : ""));
  }
  auto reader = std::make_unique<Ros1Reader>(std::move(file));
  if (const absl::Status status = reader->Survey(); !status.ok()) return InFile(path, status);
  return reader;
}

// Decompresses a chunk and calls `each` with its records, as far as they are whole.
void Ros1Reader::Load(const Ros1Chunk& chunk, std::vector<uint8_t>* data,
                      absl::FunctionRef<void(const Ros1Record&)> each) {
  data->clear();
  if (vain_bytes_ > kVainBytes + kVainRatio * file_.size()) {
    return Note(absl::StrCat(vain_bytes_, " bytes in chunks hold no message that is wanted; the chunks from byte ",
                             chunk.offset, " on are left out"));
  }
  absl::Status status;
  if (auto loaded = ahead_.Take(chunk)) {
    status = std::move(loaded->status);
    *data = std::move(loaded->data);
  } else {
    status = LoadRos1Chunk(file_, chunk, &scratch_, data);
  }
  vain_bytes_ += static_cast<int64_t>(data->size());
  const absl::Status records = ForEachRos1Record(*data, each);
  if (status.ok()) status = records;
  if (status.ok() || chunk.is_open) return;
  Note(absl::StrCat("the chunk at byte ", chunk.offset, " is damaged: ", status.message()));
}

absl::Status Ros1Reader::Select(absl::Span<const int> topics) {
  GLINT_RETURN_IF_ERROR(SetSelected(topics));
  next_chunk_ = next_ahead_ = loads_ = 0;
  ahead_.Clear();
  loaded_.clear();
  loaded_bytes_ = vain_bytes_ = 0;
  front_is_given_ = false;
  return absl::OkStatus();
}

bool Ros1Reader::HasSelected(const Ros1Chunk& chunk) const {
  return std::any_of(chunk.topics.begin(), chunk.topics.end(), [&](uint16_t topic) { return IsSelected(topic); });
}

// What comes behind the next chunk.
void Ros1Reader::BeginAhead() {
  for (next_ahead_ = std::max(next_ahead_, next_chunk_ + 1); next_ahead_ < chunks_.size(); ++next_ahead_) {
    const Ros1Chunk& chunk = chunks_[next_ahead_];
    if (HasSelected(chunk) && Ros1Ahead::IsWorth(chunk) && !ahead_.Begin(chunk)) return;
  }
}

// Adds a chunk to those that are loaded, unless none of its messages is wanted.
void Ros1Reader::LoadSelected(const Ros1Chunk& chunk) {
  if (!HasSelected(chunk)) return;
  if (++loads_ > kLoadsBeforeAhead) BeginAhead();
  std::unique_ptr<Loaded> loaded = spare_ != nullptr ? std::move(spare_) : std::make_unique<Loaded>();
  loaded->entries.clear();
  Load(chunk, &loaded->data, [&](const Ros1Record& record) {
    const std::optional<Ros1Message> message = ParseRos1Message(record);
    const int topic = message ? TopicOf(message->connection) : -1;
    if (IsSelected(topic)) loaded->entries.push_back({message->time_ns, message->data, topic});
  });
  if (loaded->entries.empty()) {
    spare_ = std::move(loaded);
    return;
  }
  std::stable_sort(loaded->entries.begin(), loaded->entries.end(),
                   [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  loaded->offset = chunk.offset;
  loaded->bytes = chunk.size;
  loaded->next = 0;
  vain_bytes_ -= static_cast<int64_t>(loaded->data.size());
  loaded_bytes_ += loaded->bytes;
  loaded_.push_back(std::move(loaded));
  std::push_heap(loaded_.begin(), loaded_.end(), IsLater);
}

bool Ros1Reader::IsLater(const std::unique_ptr<Loaded>& a, const std::unique_ptr<Loaded>& b) {
  const int64_t time_a = a->entries[a->next].time_ns, time_b = b->entries[b->next].time_ns;
  return time_a != time_b ? time_a > time_b : a->offset > b->offset;
}

// Goes beyond the message that was given last.
void Ros1Reader::LeaveFront() {
  if (!std::exchange(front_is_given_, false)) return;
  std::pop_heap(loaded_.begin(), loaded_.end(), IsLater);
  if (++loaded_.back()->next < loaded_.back()->entries.size()) {
    std::push_heap(loaded_.begin(), loaded_.end(), IsLater);
    return;
  }
  loaded_bytes_ -= loaded_.back()->bytes;
  spare_ = std::move(loaded_.back());
  loaded_.pop_back();
}

absl::Status Ros1Reader::Next(Message* message) {
  LeaveFront();
  for (; next_chunk_ < chunks_.size(); ++next_chunk_) {
    const Ros1Chunk& chunk = chunks_[next_chunk_];
    if (!loaded_.empty()) {
      const Loaded& front = *loaded_.front();
      if (chunk.first_ns > front.entries[front.next].time_ns) break;
      if (loaded_bytes_ + chunk.size > kMostLoaded) {
        Note(absl::StrCat("chunks of over ", kMostLoaded,
                          " bytes are of the same time: their messages are not in order"));
        break;
      }
    }
    LoadSelected(chunk);
  }
  if (loaded_.empty()) {
    if (missing_ > 0) Note(absl::StrCat(missing_, " messages of the index are not in their chunks"));
    if (missing_ < 0) Note(absl::StrCat("the index is of ", -missing_, " messages less than its chunks have"));
    return absl::OutOfRangeError("the end of the recording");
  }
  const Loaded::Entry& entry = loaded_.front()->entries[loaded_.front()->next];
  message->topic = entry.topic;
  message->time_ns = entry.time_ns;
  message->data = entry.data;
  front_is_given_ = true;
  --missing_;
  return absl::OkStatus();
}

}  // namespace glint::bag
