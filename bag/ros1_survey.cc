#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bag/ros1_reader.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::bag {
namespace {

constexpr int64_t kPadded = 4096;  // the bag's header ends here or, as most writers count, up to 21 bytes later
constexpr int64_t kLargestConnection = int64_t{1} << 24;
constexpr int64_t kLargestChunkInfo = int64_t{1} << 24;
constexpr size_t kMostConnections = 1 << 16;
constexpr size_t kMostChunks = size_t{1} << 21;
constexpr int kMostDamages = 100;  // behind which it is read on

}  // namespace

absl::Status Ros1Reader::Survey() {
  Ros1FileRecord header;
  GLINT_RETURN_IF_ERROR(ReadHeader(&header));
  const int64_t begin = header.end();
  const uint64_t index = header.header.Number<uint64_t>("index_pos").value_or(0);
  const auto chunks = header.header.Number<uint32_t>("chunk_count");
  const auto connections = header.header.Number<uint32_t>("conn_count");
  std::vector<Place> places;
  if (index >= static_cast<uint64_t>(begin) && index <= static_cast<uint64_t>(file_.size()) && connections && chunks &&
      ReadIndex(static_cast<int64_t>(index), *connections, *chunks, &places)) {
    AddPlaces(begin, places);
  } else {
    Note(index == 0 ? "not closed by its recorder: there is no index" : "the index is damaged");
    ReadWholeFile(begin);
  }
  if (topics_.empty() && !notes_.empty() && file_.size() > begin) {
    return absl::InvalidArgumentError(absl::StrCat("nothing of this ROS 1 bag can be read: ", notes_.back()));
  }
  std::sort(chunks_.begin(), chunks_.end(), [](const Ros1Chunk& a, const Ros1Chunk& b) {
    return a.first_ns != b.first_ns ? a.first_ns < b.first_ns : a.offset < b.offset;
  });
  vain_bytes_ = 0;
  return absl::OkStatus();
}

absl::Status Ros1Reader::ReadHeader(Ros1FileRecord* header) {
  const absl::Status status = ReadRos1Record(file_, static_cast<int64_t>(kRos1Magic.size()), header);
  if (!status.ok() || header->header.op() != kRos1BagHeader) {
    Note("the bag's header is damaged");
    header->header = Ros1Fields();
    const std::string padding = file_.ReadText(kPadded, 32);
    header->data_offset = kPadded + static_cast<int64_t>(std::min(padding.find_first_not_of(' '), padding.size()));
    header->data_size = 0;
    return absl::OkStatus();
  }
  const absl::string_view encryptor = header->header.Text("encryptor");
  if (encryptor.empty() || encryptor == "rosbag/NoEncryptor") return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("encrypted by ", Echo(encryptor), ": only plain bags are read"));
}

void Ros1Reader::AddPlaces(int64_t begin, const std::vector<Place>& places) {
  int64_t end = begin;
  Ros1FileRecord record;
  for (const Place& place : places) {
    // Chunks that lie in one another would be read many times.
    if (place.offset >= end && ReadRos1Record(file_, place.offset, &record).ok()) {
      end = AddChunk(record, place);
    } else {
      Note(absl::StrCat("the chunk at byte ", place.offset, " is not there"));
    }
  }
}

// Connections and chunks, from the index at `offset`. False: damaged.
bool Ros1Reader::ReadIndex(int64_t offset, uint32_t connections, uint32_t chunks, std::vector<Place>* places) {
  const int64_t begin = offset;
  Ros1FileRecord record;
  uint32_t connections_there = 0;
  for (; offset < file_.size(); offset = record.end()) {
    if (!ReadRos1Record(file_, offset, &record).ok() || record.end() > file_.size()) return false;
    if (record.header.op() == kRos1Connection) {
      ++connections_there;
      AddConnection(record);
    } else if (record.header.op() == kRos1ChunkInfo) {
      const auto at = record.header.Number<uint64_t>("chunk_pos");
      if (!at || *at >= static_cast<uint64_t>(begin) || places->size() == kMostChunks) return false;
      Place place = {static_cast<int64_t>(*at), 0};
      std::vector<uint8_t> counts(static_cast<size_t>(std::min(record.data_size, kLargestChunkInfo)));
      if (counts.size() % 8 != 0 || !file_.Read(record.data_offset, absl::MakeSpan(counts)).ok()) return false;
      for (size_t i = 0; i < counts.size(); i += 8) place.messages += LittleEndian32(&counts[i + 4]);
      places->push_back(place);
    }
  }
  std::sort(places->begin(), places->end(), [](const Place& a, const Place& b) { return a.offset < b.offset; });
  return connections_there == connections && places->size() == chunks;
}

void Ros1Reader::ReadWholeFile(int64_t offset) {
  Ros1FileRecord record;
  int64_t behind = offset;  // the header of the record before, whose length may be what is wrong
  int damages = 0;
  while (offset < file_.size() && chunks_.size() < kMostChunks) {
    const absl::Status status = ReadRos1Record(file_, offset, &record);
    int64_t end = file_.size();
    bool is_whole = false;
    if (!status.ok()) {
      Note(absl::StrCat("cut off or damaged at byte ", offset, " of ", file_.size(), ": ", status.message()));
    } else {
      behind = record.data_offset;
      end = record.end();
      if (record.header.op() == kRos1Chunk) {
        end = AddChunk(record, Place{offset, -1});
      } else if (record.header.op() == kRos1Connection) {
        AddConnection(record);
      }
      is_whole = end <= file_.size();
      if (!is_whole) Note(absl::StrCat("cut off at byte ", file_.size(), " of ", end, " or more"));
    }
    offset = end;
    if (is_whole || ++damages > kMostDamages) continue;
    offset = FindRos1Chunk(file_, behind);
    behind = offset;
    if (offset < file_.size()) Note(absl::StrCat("read on from the chunk at byte ", offset));
  }
}

void Ros1Reader::AddConnection(const Ros1FileRecord& record) {
  std::vector<uint8_t> data(static_cast<size_t>(std::min(record.data_size, kLargestConnection)));
  if (!file_.Read(record.data_offset, absl::MakeSpan(data)).ok()) data.clear();
  AddConnection(record.header, data);
}

void Ros1Reader::AddConnection(const Ros1Fields& header, absl::Span<const uint8_t> data) {
  const auto connection = header.Number<uint32_t>("conn");
  Ros1Fields fields;
  if (!connection || !fields.Parse(data) || fields.Text("type").empty()) return Note("a connection record is damaged");
  if (connections_.count(*connection) != 0) return;
  if (connections_.size() == kMostConnections) {
    return Note(absl::StrCat("connections: more than ", kMostConnections, "; the others are left out"));
  }
  Topic topic;
  topic.name = std::string(header.Text("topic"));
  topic.type = std::string(fields.Text("type"));
  topic.encoding = "ros1";
  topic.definition = std::string(fields.Text("message_definition"));
  if (!topic.definition.empty()) topic.definition_encoding = "ros1msg";
  connections_[*connection] = AddTopic(std::move(topic));
}

int Ros1Reader::TopicOf(uint32_t connection) {
  const auto at = connections_.find(connection);
  if (at != connections_.end()) return at->second;
  Note(absl::StrCat("messages of connection ", connection, " are left out: the recording does not say what they are"));
  return -1;
}

// Counts the messages of a chunk and keeps it if it has any. Returns where the chunk and its index records end.
int64_t Ros1Reader::AddChunk(const Ros1FileRecord& record, const Place& place) {
  Ros1Chunk chunk;
  int64_t end = record.end();
  if (const absl::Status status = ParseRos1Chunk(record, place.offset, &chunk); !status.ok()) {
    Note(absl::StrCat("the chunk at byte ", place.offset, " is left out: ", status.message()));
    return end;
  }
  std::vector<Ros1Count> counts;
  const bool is_open = place.messages < 0 && ExtendOpenRos1Chunk(file_, &chunk);
  bool is_known = !is_open && chunk.end() <= file_.size() && ReadRos1Counts(file_, chunk.end(), &counts, &end).ok();
  int64_t messages = 0;
  for (const Ros1Count& count : counts) {
    messages += count.messages;
    is_known &= connections_.count(count.connection) != 0;
  }
  if (!is_known || (place.messages < 0 ? messages == 0 : messages != place.messages)) counts = CountMessages(chunk);
  for (const Ros1Count& count : counts) {
    const int topic = count.messages > 0 ? TopicOf(count.connection) : -1;
    if (topic < 0) continue;
    Count(topic, count.messages, count.first_ns, count.last_ns);
    chunk.first_ns = chunk.topics.empty() ? count.first_ns : std::min(chunk.first_ns, count.first_ns);
    chunk.topics.push_back(static_cast<uint16_t>(topic));
  }
  if (chunk.topics.empty()) return end;
  if (is_open) {
    Note(absl::StrCat("the last chunk, at byte ", place.offset, ", is not finished: what there is of it is read"));
    end = file_.size();
  }
  chunks_.push_back(std::move(chunk));
  return end;
}

// Decompresses it, for its connections and counts.
std::vector<Ros1Count> Ros1Reader::CountMessages(const Ros1Chunk& chunk) {
  std::map<uint32_t, Ros1Count> counts;
  std::vector<uint8_t> data;
  Load(chunk, &data, [&](const Ros1Record& record) {
    if (record.header.op() == kRos1Connection) AddConnection(record.header, record.data);
    const std::optional<Ros1Message> message = ParseRos1Message(record);
    if (!message) return;
    Ros1Count& count = counts[message->connection];
    count.connection = message->connection;
    count.Add(message->time_ns);
  });
  std::vector<Ros1Count> list;
  list.reserve(counts.size());
  for (const auto& count : counts) list.push_back(count.second);
  return list;
}

}  // namespace glint::bag
