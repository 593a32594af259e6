// Tables on a device, of streams that take turns. Not for a build without CUDA. Thread-compatible; belongs to one
// stream. Memory grows to the largest table seen in each place, and stays.
#ifndef GLINT_CUDA_RECTIFY_TABLE_PLACES_H_
#define GLINT_CUDA_RECTIFY_TABLE_PLACES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "absl/status/status.h"
#include "cuda/runtime/owners.h"

namespace glint::cuda {

// Makes `buffer` one of at least `bytes`; what it had is lost if it grows.
absl::Status Grow(StreamView stream, size_t bytes, DeviceBuffer* buffer);
absl::Status Grow(StreamView stream, size_t bytes, MappedBuffer* buffer);

class TablePlaces {
 public:
  // That are on the device at the same time: of a lane whose streams take turns.
  static constexpr int kTables = 2;
  // Images that a table may miss before another takes its place. Where more tables take turns than there are places,
  // those without one are for the host: to pack and copy a table takes longer than to do an image there.
  static constexpr uint64_t kImagesKept = 64;

  struct Part {
    const void* data;
    size_t bytes;  // a multiple of 4
  };

  // Chooses the table for the image that comes next; once for each. False: the host has to do it, as with an `id` of 0.
  bool Choose(uint64_t id);
  // Whether the chosen table, which is `id`, is on the device.
  bool Has(uint64_t id) const { return chosen_->table == id; }
  // Copies the chosen table, whose parts follow each other at data() then. Waits for the device.
  absl::Status Put(StreamView stream, uint64_t id, std::initializer_list<Part> parts);
  const uint8_t* data() const { return chosen_->memory.data(); }

 private:
  struct Place {
    uint64_t table = 0;  // its id; 0: none
    uint64_t used = 0;   // images_ when it was chosen
    DeviceBuffer memory;
  };

  std::array<Place, kTables> places_;
  Place* chosen_ = nullptr;
  uint64_t images_ = 0;
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RECTIFY_TABLE_PLACES_H_
