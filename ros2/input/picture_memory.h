// Memory that pictures are put in.
#ifndef GLINT_ROS2_INPUT_PICTURE_MEMORY_H_
#define GLINT_ROS2_INPUT_PICTURE_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "client/shared_memory.h"
#include "ros2/input/frame.h"

namespace glint::ros2 {

// Slots of a ring, and memory of its own that goes round. Thread-safe.
class PictureMemory : public std::enable_shared_from_this<PictureMemory> {
 public:
  // What is kept for pictures to come.
  static constexpr size_t kMostKept = 24;
  static constexpr size_t kMostKeptBytes = size_t{256} << 20;

  void UseRing(std::shared_ptr<client::SharedMemoryRing> ring);
  // For raw pixels; empty: there is no ring, none of its slots is free, or these are too small.
  client::SharedSlot TakeSlot(size_t bytes);
  // With whatever is in it.
  std::vector<uint8_t> Take();
  void GiveBack(std::vector<uint8_t> bytes);
  // Gives its memory back, and its slot.
  void Drop(Picture* picture);
  // A frame whose memory comes back when the last that has it is done.
  std::shared_ptr<const Frame> Share(Frame frame);

  // The most that TakeSlot() was asked for.
  size_t largest() const { return largest_; }
  size_t kept_bytes() const;

 private:
  std::atomic<size_t> largest_{0};
  mutable std::mutex mutex_;
  std::shared_ptr<client::SharedMemoryRing> ring_;
  std::vector<std::vector<uint8_t>> kept_;
  size_t kept_bytes_ = 0;
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_INPUT_PICTURE_MEMORY_H_
