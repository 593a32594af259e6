#include "bag/mcap_index.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bag/mcap_records.h"
#include "bag/mcap_scanner.h"

namespace glint::bag::mcap {
namespace {

constexpr uint64_t kMagicBytes = sizeof(kMagic);
constexpr uint64_t kFooterBytes = kRecordHeader + kFooterContent;
constexpr int kNamedChannels = 5;
constexpr int kMostDamages = 100;  // behind which a chunk is looked for

struct IndexedChunk {
  Part part;
  uint64_t index_bytes = 0;  // of the message indexes behind it
};

struct Summary {
  bool has_statistics = false;
  Statistics statistics;
  std::vector<IndexedChunk> chunks;  // by their places in the file
  uint64_t begin = 0;
};

// Nothing: there is none, or not all of it. Its schemas and channels go to `scanner`.
std::optional<Summary> ReadSummary(uint64_t size, Scanner* scanner) {
  if (size < 2 * kMagicBytes + kFooterBytes) return std::nullopt;
  const uint64_t footer = size - kMagicBytes - kFooterBytes;
  const std::optional<Scanner::Head> head = scanner->HeadAt(footer, size - kMagicBytes);
  if (!head.has_value() || head->opcode != kFooter || head->bytes != kFooterBytes) return std::nullopt;
  Fields fields(scanner->Content(footer, *head));
  Summary summary;
  summary.begin = fields.Number<uint64_t>();
  const auto offsets = fields.Number<uint64_t>();
  const auto crc = fields.Number<uint32_t>();
  const uint64_t end = offsets == 0 ? footer : offsets;
  if (summary.begin < kMagicBytes || summary.begin > end || end > footer) return std::nullopt;
  if (crc != 0 && scanner->Checksum(summary.begin, footer + kFooterBytes - sizeof(crc)) != crc) {
    scanner->Note("the index has a wrong checksum: it is not used");
    return std::nullopt;
  }
  for (uint64_t at = summary.begin; at < end;) {
    const std::optional<Scanner::Head> record = scanner->HeadAt(at, end);
    if (!record.has_value()) return std::nullopt;
    if (record->opcode == kSchema || record->opcode == kChannel) {
      scanner->Define(record->opcode, scanner->Content(at, *record));
    } else if (record->opcode == kStatistics) {
      auto statistics = ReadStatistics(scanner->Content(at, *record));
      if (!statistics.has_value()) return std::nullopt;
      summary.statistics = *std::move(statistics);
      summary.has_statistics = true;
    } else if (record->opcode == kChunkIndex) {
      const auto index = ReadChunkIndex(scanner->Content(at, *record));
      if (!index.has_value() || summary.chunks.size() == kMostParts) return std::nullopt;
      IndexedChunk chunk;
      chunk.part.offset = index->offset;
      chunk.part.bytes = index->bytes;
      chunk.part.first_ns = index->first_ns;
      chunk.part.last_ns = index->last_ns;
      chunk.index_bytes = index->index_bytes;
      scanner->SetChannels(index->channels, &chunk.part);
      summary.chunks.push_back(chunk);
    }
    at += record->bytes;
  }
  std::sort(summary.chunks.begin(), summary.chunks.end(),
            [](const IndexedChunk& a, const IndexedChunk& b) { return a.part.offset < b.part.offset; });
  return summary;
}

absl::Span<const uint16_t> ChannelsOf(const Index& index, const Part& part) {
  return absl::MakeConstSpan(index.channel_lists).subspan(part.channels, part.channel_count);
}

// The times of messages in the message indexes of `chunk`. False: they are not those of its channels, or of other
// times.
bool ReadTimes(const IndexedChunk& chunk, Scanner* scanner) {
  const uint64_t begin = chunk.part.offset + chunk.part.bytes, end = begin + chunk.index_bytes;
  uint32_t channels = 0;
  for (uint64_t at = begin; at < end;) {
    const std::optional<Scanner::Head> head = scanner->HeadAt(at, end);
    if (!head.has_value()) return false;
    if (head->opcode == kMessageIndex) {
      const std::optional<MessageIndex> index = ReadMessageIndex(scanner->Content(at, *head));
      if (!index.has_value()) return false;
      if (index->messages > 0) {
        if (index->first_ns < chunk.part.first_ns || index->last_ns > chunk.part.last_ns) return false;
        scanner->AddTally(index->channel, 0, index->first_ns, index->last_ns);
        ++channels;
      }
    }
    at += head->bytes;
  }
  return channels == chunk.part.channel_count;
}

// Reads the message indexes of those chunks alone that can have a channel's first or last message.
bool ReadFirstAndLastTimes(std::vector<IndexedChunk> chunks, Scanner* scanner) {
  Index& index = scanner->index();
  const auto read_if = [&](const IndexedChunk& chunk, const auto& may_be) {
    for (const uint16_t channel : ChannelsOf(index, chunk.part)) {
      if (may_be(index.TallyOf(channel))) return ReadTimes(chunk, scanner);
    }
    return true;
  };
  std::sort(chunks.begin(), chunks.end(),
            [](const IndexedChunk& a, const IndexedChunk& b) { return a.part.first_ns < b.part.first_ns; });
  for (const IndexedChunk& chunk : chunks) {
    if (!read_if(chunk, [&](const Tally& tally) { return tally.first_ns > chunk.part.first_ns; })) return false;
  }
  std::sort(chunks.begin(), chunks.end(),
            [](const IndexedChunk& a, const IndexedChunk& b) { return a.part.last_ns > b.part.last_ns; });
  for (const IndexedChunk& chunk : chunks) {
    if (!read_if(chunk, [&](const Tally& tally) { return tally.last_ns < chunk.part.last_ns; })) return false;
  }
  return true;
}

bool KnowsAll(const Index& index) {
  for (size_t channel = 0; channel < index.tallies.size(); ++channel) {
    if (index.tallies[channel].messages > 0 && !index.Knows(static_cast<uint16_t>(channel))) return false;
  }
  return std::all_of(index.channels.begin(), index.channels.end(),
                     [&](const auto& channel) { return index.Knows(channel.first); });
}

// Whether the summary says all that the file has. Its chunks and counts then go to `scanner`.
bool UseSummary(const Summary& summary, Scanner* scanner) {
  if (!summary.has_statistics) return false;
  const Statistics& statistics = summary.statistics;
  uint64_t at = kMagicBytes, entries = 0;  // of message indexes, in bytes
  std::vector<bool> has_messages(kChannels);
  for (const IndexedChunk& chunk : summary.chunks) {
    const Part& part = chunk.part;
    if (part.offset < at || part.offset >= summary.begin || part.bytes > summary.begin - part.offset) return false;
    if (!scanner->Walk(&at, part.offset)) return false;
    at += part.bytes;
    if (chunk.index_bytes > summary.begin - at) return false;
    at += chunk.index_bytes;
    const uint64_t heads = part.channel_count * (kRecordHeader + kMessageIndexHeader);
    if (part.channel_count == 0 || chunk.index_bytes < heads) return false;
    entries += chunk.index_bytes - heads;
    for (const uint16_t channel : ChannelsOf(scanner->index(), part)) has_messages[channel] = true;
    scanner->AddPart(part);
  }
  if (!scanner->Walk(&at, summary.begin)) return false;
  const Index& index = scanner->index();
  for (const Tally& tally : index.tallies) {
    if (tally.messages > 0) return false;  // in no chunk of the index
  }
  if (statistics.chunks != summary.chunks.size() || statistics.channel_count != index.channels.size()) return false;
  if (!ReadFirstAndLastTimes(summary.chunks, scanner)) return false;
  uint64_t messages = 0;
  for (const auto& [channel, count] : statistics.channels) {
    if (count > entries || count > statistics.messages - messages || (count > 0) != has_messages[channel]) return false;
    has_messages[channel] = false;
    messages += count;
    scanner->index().TallyOf(channel).messages = static_cast<int64_t>(count);
  }
  return messages == statistics.messages && messages * kMessageIndexEntry == entries && KnowsAll(index) &&
         std::find(has_messages.begin(), has_messages.end(), true) == has_messages.end();
}

void NoteUnknownChannels(Index* index) {
  int64_t messages = 0;
  int channels = 0;
  std::string ids;
  for (size_t channel = 0; channel < index->tallies.size(); ++channel) {
    if (index->tallies[channel].messages == 0) continue;
    if (index->channels.find(static_cast<uint16_t>(channel)) != index->channels.end()) continue;
    messages += index->tallies[channel].messages;
    if (++channels <= kNamedChannels) absl::StrAppend(&ids, channels == 1 ? "" : ", ", channel);
  }
  if (channels > kNamedChannels) absl::StrAppend(&ids, ", ...");
  if (channels > 0) index->notes.push_back(absl::StrCat(messages, " messages of unknown channels are left out: ", ids));
}

// By reading. `chunks`: of the summary, where to go on after damage; else behind a chunk that looks like one.
Index Read(const File& file, bool closed, const std::vector<IndexedChunk>& chunks, bool trust) {
  Scanner scanner(file, trust);
  const uint64_t end = static_cast<uint64_t>(file.size()) - (closed ? kMagicBytes : 0);
  int damages = 0;
  for (uint64_t at = kMagicBytes; !scanner.Walk(&at, end);) {
    const auto next = std::upper_bound(chunks.begin(), chunks.end(), at,
                                       [](uint64_t a, const IndexedChunk& chunk) { return a < chunk.part.offset; });
    if (next != chunks.end() && next->part.offset < end) {
      at = next->part.offset;
    } else {
      at = ++damages <= kMostDamages ? scanner.FindChunk(std::max(scanner.content_before(), kMagicBytes), end) : end;
      if (at == end) break;
    }
    scanner.Note(absl::StrCat("read on from the chunk at byte ", at));
  }
  return scanner.Finish();
}

}  // namespace

Index ReadIndex(const File& file) {
  const auto size = static_cast<uint64_t>(file.size());
  uint8_t magic[kMagicBytes] = {};
  const bool closed = size >= 2 * kMagicBytes &&
                      file.Read(static_cast<int64_t>(size - kMagicBytes), absl::MakeSpan(magic)).ok() &&
                      std::memcmp(magic, kMagic, kMagicBytes) == 0;
  std::vector<IndexedChunk> chunks;
  std::vector<std::string> notes;
  if (closed) {
    Scanner scanner(file, true);
    std::optional<Summary> summary = ReadSummary(size, &scanner);
    notes = scanner.index().notes;
    if (summary.has_value() && UseSummary(*summary, &scanner)) return scanner.Finish();
    if (summary.has_value()) chunks = std::move(summary->chunks);
  }
  Index index = Read(file, closed, chunks, true);
  if (!KnowsAll(index)) index = Read(file, closed, chunks, false);
  NoteUnknownChannels(&index);
  if (!closed && index.whole) {
    index.notes.push_back("cut off: it has no end");
    index.whole = false;
  }
  index.notes.insert(index.notes.begin(), notes.begin(), notes.end());
  return index;
}

}  // namespace glint::bag::mcap
