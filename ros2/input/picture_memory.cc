#include "ros2/input/picture_memory.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"

namespace glint::ros2 {

void PictureMemory::UseRing(std::shared_ptr<client::SharedMemoryRing> ring) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ring_.swap(ring);
}

client::SharedSlot PictureMemory::TakeSlot(size_t bytes) {
  size_t largest = largest_;
  while (bytes > largest && !largest_.compare_exchange_weak(largest, bytes)) {
  }
  std::shared_ptr<client::SharedMemoryRing> ring;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ring = ring_;
  }
  if (ring == nullptr || ring->slot_bytes() < bytes) return {};
  return ring->Acquire(absl::ZeroDuration());
}

std::vector<uint8_t> PictureMemory::Take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (kept_.empty()) return {};
  std::vector<uint8_t> bytes = std::move(kept_.back());
  kept_.pop_back();
  kept_bytes_ -= bytes.capacity();
  return bytes;
}

void PictureMemory::GiveBack(std::vector<uint8_t> bytes) {
  const size_t capacity = bytes.capacity();
  if (capacity == 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (kept_.size() >= kMostKept || kept_bytes_ + capacity > kMostKeptBytes) return;
  kept_bytes_ += capacity;
  kept_.push_back(std::move(bytes));
}

void PictureMemory::Drop(Picture* picture) {
  picture->image = {};
  GiveBack(std::exchange(picture->bytes, {}));
}

std::shared_ptr<const Frame> PictureMemory::Share(Frame frame) {
  const auto give_back = [memory = shared_from_this()](Frame* done) {
    const std::unique_ptr<Frame> owner(done);
    for (Picture* picture : {&done->left, &done->right, &done->depth}) memory->Drop(picture);
  };
  return {new Frame(std::move(frame)), give_back};
}

size_t PictureMemory::kept_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return kept_bytes_;
}

}  // namespace glint::ros2
