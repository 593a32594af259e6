#include "bag/ros1_chunk.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "bag/bag.h"
#include "bag/compression.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::bag {
namespace {

constexpr int64_t kIndexEntryBytes = 12;  // time, offset
constexpr size_t kMostCounts = 1 << 16;

absl::Status Damaged(absl::string_view problem) { return absl::InvalidArgumentError(problem); }

}  // namespace

std::optional<Ros1Message> ParseRos1Message(const Ros1Record& record) {
  if (record.header.op() != kRos1Message || record.data.size() > Bag::kLargestMessage) return std::nullopt;
  const auto connection = record.header.Number<uint32_t>("conn");
  const auto time = record.header.Number<uint64_t>("time");
  if (!connection || !time) return std::nullopt;
  return Ros1Message{*connection, Ros1Time(static_cast<uint32_t>(*time), static_cast<uint32_t>(*time >> 32)),
                     record.data};
}

void Ros1Count::Add(int64_t time_ns) {
  first_ns = messages == 0 ? time_ns : std::min(first_ns, time_ns);
  last_ns = messages == 0 ? time_ns : std::max(last_ns, time_ns);
  ++messages;
}

absl::Status ParseRos1Chunk(const Ros1FileRecord& record, int64_t offset, Ros1Chunk* chunk) {
  if (record.header.op() != kRos1Chunk) return Damaged("no chunk");
  const absl::string_view compression = record.header.Text("compression");
  if (compression == "none") {
    chunk->compression = Ros1Compression::kNone;
  } else if (compression == "bz2") {
    chunk->compression = Ros1Compression::kBzip2;
  } else if (compression == "lz4") {
    chunk->compression = Ros1Compression::kLz4;
  } else {
    return NotOneOfError("compression", compression, "none, bz2, lz4");
  }
  const auto size = record.header.Number<uint32_t>("size");
  chunk->offset = offset;
  chunk->data_offset = record.data_offset;
  chunk->data_size = record.data_size;
  chunk->size = chunk->compression == Ros1Compression::kNone ? chunk->data_size : int64_t{size.value_or(0)};
  if (!size) return Damaged("its size is missing");
  return CheckRange<int64_t>("size", std::max(chunk->size, chunk->data_size), 0, Bag::kLargestChunk);
}

bool ExtendOpenRos1Chunk(const File& file, Ros1Chunk* chunk) {
  const int64_t there = file.size() - chunk->data_offset;
  if (chunk->size != 0 || chunk->data_size != 0 || there <= 0 || there > Bag::kLargestChunk) return false;
  Ros1FileRecord next;
  const bool is_record = ReadRos1Record(file, chunk->data_offset, &next).ok();
  const bool is_plain = chunk->compression == Ros1Compression::kNone;
  // Otherwise what lies outside of chunks is no message, and no connection but of the index.
  const int op = is_record ? next.header.op() : 0;
  if (is_plain ? op != kRos1Message && op != kRos1Connection : is_record) return false;
  chunk->data_size = there;
  chunk->size = is_plain ? there : Bag::kLargestChunk;
  chunk->is_open = true;
  return true;
}

int64_t FindRos1Chunk(const File& file, int64_t offset) {
  constexpr char kField[] = "compression=";
  constexpr size_t kFieldBytes = sizeof(kField) - 1;
  // Lengths of header and field, and behind the first one other fields, as may be: op, size, both.
  constexpr int64_t kBefore[] = {8, 8 + 8, 8 + 13, 8 + 8 + 13};
  constexpr size_t kWindow = 1 << 20;
  constexpr int kMostTries = 100000;
  Ros1FileRecord record;
  Ros1Chunk chunk;
  int tries = 0;
  for (int64_t at = offset; at < file.size();) {
    const std::string window = file.ReadText(at, kWindow);
    if (window.size() < kFieldBytes) break;
    for (size_t i = window.find(kField); i != std::string::npos; i = window.find(kField, i + 1)) {
      if (++tries > kMostTries) return file.size();
      for (const int64_t before : kBefore) {
        const int64_t begin = at + static_cast<int64_t>(i) - before;
        if (begin < offset || !ReadRos1Record(file, begin, &record).ok()) continue;
        if (ParseRos1Chunk(record, begin, &chunk).ok()) return begin;
      }
    }
    at += static_cast<int64_t>(window.size() - kFieldBytes + 1);
  }
  return file.size();
}

absl::Status ReadRos1Counts(const File& file, int64_t offset, std::vector<Ros1Count>* counts, int64_t* end) {
  counts->clear();
  Ros1FileRecord record;
  std::vector<uint8_t> entries;
  for (*end = offset;; *end = record.end()) {
    if (!ReadRos1Record(file, *end, &record).ok()) return Damaged("no record behind the index records");
    const int op = record.header.op();
    if (op == kRos1Chunk || op == kRos1Connection || op == kRos1ChunkInfo) return absl::OkStatus();
    if (op != kRos1Index) return Damaged("index record");
    const auto connection = record.header.Number<uint32_t>("conn");
    const auto count = record.header.Number<uint32_t>("count");
    if (counts->size() == kMostCounts || record.header.Number<uint32_t>("ver") != 1u || !connection || !count ||
        record.data_size != int64_t{*count} * kIndexEntryBytes || record.end() > file.size()) {
      return Damaged("index record");
    }
    Ros1Count counted;
    counted.connection = *connection;
    for (int64_t at = record.data_offset; at < record.end(); at += static_cast<int64_t>(entries.size())) {
      entries.resize(static_cast<size_t>(std::min(record.end() - at, int64_t{4096} * kIndexEntryBytes)));
      GLINT_RETURN_IF_ERROR(file.Read(at, absl::MakeSpan(entries)));
      for (size_t i = 0; i < entries.size(); i += kIndexEntryBytes) {
        counted.Add(Ros1Time(LittleEndian32(&entries[i]), LittleEndian32(&entries[i + 4])));
      }
    }
    counts->push_back(counted);
  }
}

absl::Status LoadRos1Chunk(const File& file, const Ros1Chunk& chunk, std::vector<uint8_t>* scratch,
                           std::vector<uint8_t>* out) {
  std::vector<uint8_t>* const read = chunk.compression == Ros1Compression::kNone ? out : scratch;
  out->clear();
  const int64_t there = std::clamp<int64_t>(file.size() - chunk.data_offset, 0, chunk.data_size);
  read->resize(static_cast<size_t>(there));
  GLINT_RETURN_IF_ERROR(file.Read(chunk.data_offset, absl::MakeSpan(*read)));
  const auto size = static_cast<size_t>(chunk.size);
  if (chunk.compression == Ros1Compression::kBzip2) GLINT_RETURN_IF_ERROR(DecompressBzip2(*scratch, size, out));
  if (chunk.compression == Ros1Compression::kLz4) GLINT_RETURN_IF_ERROR(DecompressLz4Frame(*scratch, size, out));
  return there == chunk.data_size ? absl::OkStatus() : Damaged("cut off");
}

absl::Status ForEachRos1Record(absl::Span<const uint8_t> chunk, absl::FunctionRef<void(const Ros1Record&)> each) {
  const size_t size = chunk.size();
  Ros1Record record;
  while (!chunk.empty()) {
    const size_t at = size - chunk.size();
    if (!TakeRos1Record(&chunk, &record)) {
      return Damaged(absl::StrCat("no whole record at byte ", at, " of ", size, " of its data"));
    }
    each(record);
  }
  return absl::OkStatus();
}

}  // namespace glint::bag
