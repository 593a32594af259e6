// Rectification on a device: raw images, and the tables that they are remapped by. Not for a build without CUDA.
//
// Thread-compatible; belongs to one stream. Memory grows to the largest image seen, and that of each of kTables tables
// to the largest seen in its place, and stays.
#ifndef GLINT_CUDA_RECTIFY_REMAPPER_H_
#define GLINT_CUDA_RECTIFY_REMAPPER_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "cuda/rectify/packed_table.h"
#include "cuda/runtime/owners.h"
#include "features/camera/remap_table.h"

namespace glint::cuda {

class Remapper {
 public:
  // That are on the device at the same time: of a lane whose streams take turns.
  static constexpr int kTables = 2;
  // Images that a table may miss before another takes its place. Where more tables take turns than there are places,
  // those without one are for the host: to pack and copy a table takes longer than to remap an image there.
  static constexpr uint64_t kImagesKept = 64;

  // Chooses the table for the image that comes next; once for each. False: the host has to remap it.
  bool Choose(const RemapTable& table);

  // Makes room for the chosen table, which is `table`, and its images; copies the table unless it is there. The last
  // image must be done. Waits for the device for a table that is new. RESOURCE_EXHAUSTED: out of memory.
  absl::Status Prepare(StreamView stream, const RemapTable& table);
  // For the raw image, whose rows follow each other: pinned memory to copy it from, and where it has to be on the
  // device.
  uint8_t* staging() const { return staging_.data(); }
  uint8_t* source() const { return source_.data(); }
  // Enqueues the kernel. `to`, rows `pitch` bytes apart: as RemapParams has them.
  absl::Status Enqueue(StreamView stream, uint8_t* to, int pitch) const;

  // After an error on the stream: all is as new.
  void Drop() { *this = Remapper(); }

 private:
  struct Place {
    uint64_t table = 0;  // its id; 0: none
    uint64_t used = 0;   // images_ when it was chosen
    DeviceBuffer memory;
    PackedLayout layout;
  };

  std::array<Place, kTables> places_;
  Place* chosen_ = nullptr;
  uint64_t images_ = 0;
  MappedBuffer staging_;
  DeviceBuffer source_;
  Shape source_shape_, shape_;  // of the prepared table
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RECTIFY_REMAPPER_H_
