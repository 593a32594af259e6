// What an MCAP file has, and where: of its own index if that holds together, otherwise found by reading.
#ifndef GLINT_BAG_MCAP_INDEX_H_
#define GLINT_BAG_MCAP_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "bag/file.h"
#include "bag/mcap_part.h"

namespace glint::bag::mcap {

inline constexpr size_t kChannels = 1 << 16;  // that ids can tell apart
inline constexpr size_t kMostParts = 1 << 21;

struct Tally {
  int64_t messages = 0;
  int64_t first_ns = std::numeric_limits<int64_t>::max(), last_ns = 0;
};

struct Index {
  struct Schema {
    std::string name, encoding, definition;
  };
  struct Channel {
    uint16_t schema = 0;
    std::string topic, encoding;
  };
  // Whether this channel is there with its schema, if it has one.
  bool Knows(uint16_t channel) const {
    const auto at = channels.find(channel);
    return at != channels.end() && (at->second.schema == 0 || schemas.find(at->second.schema) != schemas.end());
  }

  Tally& TallyOf(uint16_t channel) {
    if (channel >= tallies.size()) tallies.resize(channel + 1U);
    return tallies[channel];
  }

  std::map<uint16_t, Schema> schemas;
  std::map<uint16_t, Channel> channels;
  std::vector<Part> parts;  // with messages, by their first times, then by their places in the file
  std::vector<uint16_t> channel_lists;
  std::vector<Tally> tallies;  // of channels, whether they are in `channels` or not, up to the last that has one
  std::vector<std::string> notes;
  bool whole = true;  // the file has its end, and every record before it
};

// In this order, the next one where the one before does not do:
// - the summary, if all of it agrees: chunk indexes that leave no gap but for other records, statistics, all channels;
//   first and last times are those of some message indexes;
// - chunks' headers and their message indexes; chunks whose do not agree, or have channels not seen yet, are read;
// - all records. Behind damage it is read on from the next chunk of the summary, or one that is found by its fields.
// A damaged chunk is known only where chunks are read. `file` begins with the magic number. Memory: kMostParts, 64 MiB
// of definitions and names, and the largest chunk.
Index ReadIndex(const File& file);

}  // namespace glint::bag::mcap

#endif  // GLINT_BAG_MCAP_INDEX_H_
