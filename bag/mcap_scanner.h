// MCAP records in turn, from anywhere to anywhere in a file, and what they say put together.
#ifndef GLINT_BAG_MCAP_SCANNER_H_
#define GLINT_BAG_MCAP_SCANNER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "bag/file.h"
#include "bag/mcap_index.h"
#include "bag/mcap_part.h"
#include "bag/mcap_records.h"

namespace glint::bag::mcap {

// Ids, each once, in the order of their first Add().
class ChannelSet {
 public:
  void Add(uint16_t channel) {
    if (there_[channel]) return;
    there_[channel] = true;
    ids_.push_back(channel);
  }
  void Clear() {
    for (const uint16_t channel : ids_) there_[channel] = false;
    ids_.clear();
  }
  absl::Span<const uint16_t> ids() const { return ids_; }

 private:
  std::vector<bool> there_ = std::vector<bool>(kChannels);
  std::vector<uint16_t> ids_;
};

// Thread-compatible.
class Scanner {
 public:
  struct Head {
    uint8_t opcode = 0;
    uint64_t bytes = 0;  // of the record, with its header
  };

  // `trust`: chunks whose message indexes agree with them are not read.
  Scanner(const File& file, bool trust) : file_(file), trust_(trust) {}

  // Visits the records of [at, end). False: one of them is damaged or does not end there, which is noted; `at` is then
  // where it begins. The messages that a cut chunk at the end of the file has are taken.
  bool Walk(uint64_t* at, uint64_t end);
  // Where the record before the one that Walk() stopped at has its content: its length may be what is wrong.
  uint64_t content_before() const { return content_before_; }
  // The first chunk that begins in [begin, end) and ends there; `end`: none is found. By what its fields say.
  uint64_t FindChunk(uint64_t begin, uint64_t end);
  // After the last Walk(), once.
  Index Finish();

  // For a summary.
  Index& index() { return index_; }
  // The header of the record at `at`. Nothing: it is none, or ends beyond `end`.
  std::optional<Head> HeadAt(uint64_t at, uint64_t end);
  // What is behind the header; empty: more than any that is read as a whole, or it cannot be read. Valid until the next
  // call of any method.
  Bytes Content(uint64_t at, const Head& head);
  // A schema or a channel. Of several with one id, the first counts.
  void Define(uint8_t opcode, Bytes content);
  void AddTally(uint16_t channel, uint64_t messages, int64_t first_ns, int64_t last_ns);
  void SetChannels(absl::Span<const uint16_t> channels, Part* part);
  void AddPart(const Part& part);
  void Note(std::string note);
  uint32_t Checksum(uint64_t begin, uint64_t end);

 private:
  Bytes Peek(uint64_t offset, uint64_t count);
  void Visit(uint64_t at, const Head& head);
  void AddMessage(uint64_t at, const Head& head);
  // A chunk whose message indexes are over. `more`: the file goes on behind them.
  void FinishChunk(bool more);
  bool Agrees() const;
  void ReadChunk(Part part);  // with its messages, for which its times may be wrong
  void FinishRow();
  void Stop(uint64_t at, uint64_t end);

  const File& file_;
  const bool trust_;
  Index index_;
  std::vector<uint8_t> window_;  // bytes of the file from window_at_ on
  uint64_t window_at_ = 0;
  uint64_t content_before_ = 0;
  size_t text_bytes_ = 0;  // of all definitions and names

  std::optional<Part> chunk_;          // whose message indexes may still come
  std::vector<MessageIndex> indexes_;  // of it
  bool indexes_ok_ = true;
  PartBuffer buffer_;
  ChannelSet chunk_channels_;

  std::optional<Part> row_;  // of messages outside of chunks
  ChannelSet row_channels_;
};

}  // namespace glint::bag::mcap

#endif  // GLINT_BAG_MCAP_SCANNER_H_
