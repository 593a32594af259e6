#include "bag/ros1_ahead.h"

#include <algorithm>
#include <system_error>

namespace glint::bag {

bool Ros1Ahead::IsWorth(const Ros1Chunk& chunk) {
  return chunk.compression == Ros1Compression::kBzip2 && std::max(chunk.size, chunk.data_size) <= kLargest;
}

bool Ros1Ahead::Begin(const Ros1Chunk& chunk) {
  if (begun_.size() >= most_) return false;
  const auto load = [this, chunk] {
    Loaded loaded;
    std::vector<uint8_t> compressed;
    loaded.status = LoadRos1Chunk(file_, chunk, &compressed, &loaded.data);
    return loaded;
  };
  try {
    begun_.emplace_back(chunk.offset, std::async(std::launch::async, load));
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

std::optional<Ros1Ahead::Loaded> Ros1Ahead::Take(const Ros1Chunk& chunk) {
  const auto at =
      std::find_if(begun_.begin(), begun_.end(), [&](const auto& begun) { return begun.first == chunk.offset; });
  if (at == begun_.end()) return std::nullopt;
  Loaded loaded = at->second.get();
  begun_.erase(begun_.begin(), at + 1);
  return loaded;
}

}  // namespace glint::bag
