// Chunks of ROS 1's bags that threads decompress before they are wanted: bzip2 gives some 20 MB a second on a
// processor.
#ifndef GLINT_BAG_ROS1_AHEAD_H_
#define GLINT_BAG_ROS1_AHEAD_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "bag/file.h"
#include "bag/ros1_chunk.h"

namespace glint::bag {

// Thread-compatible. Its end waits for the chunks that are begun.
class Ros1Ahead {
 public:
  // As LoadRos1Chunk() gives it.
  struct Loaded {
    absl::Status status;
    std::vector<uint8_t> data;
  };

  // `file` outlives it. `most`: chunks at a time, each in a thread of its own.
  Ros1Ahead(const File& file, size_t most) : file_(file), most_(most) {}
  Ros1Ahead(const Ros1Ahead&) = delete;
  Ros1Ahead& operator=(const Ros1Ahead&) = delete;

  // Whether a chunk is worth a thread: compressed by bzip2, and of at most kLargest bytes.
  static bool IsWorth(const Ros1Chunk& chunk);
  // False: as many as there may be are begun, or there is no thread for it.
  bool Begin(const Ros1Chunk& chunk);
  // Waits for it. Nothing: it was not begun. Those begun before it are forgotten.
  std::optional<Loaded> Take(const Ros1Chunk& chunk);
  void Clear() { begun_.clear(); }

  static constexpr int64_t kLargest = int64_t{1} << 22;  // also decompressed

 private:
  const File& file_;
  const size_t most_;
  std::deque<std::pair<int64_t, std::future<Loaded>>> begun_;  // by offsets of chunks, in the order of Begin()
};

}  // namespace glint::bag

#endif  // GLINT_BAG_ROS1_AHEAD_H_
