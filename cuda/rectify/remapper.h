// Rectification on a device: raw images, and the tables that they are remapped by. Not for a build without CUDA.
//
// Thread-compatible; belongs to one stream. Memory grows to the largest image seen, and that of tables as TablePlaces
// says, and stays.
#ifndef GLINT_CUDA_RECTIFY_REMAPPER_H_
#define GLINT_CUDA_RECTIFY_REMAPPER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "cuda/rectify/table_places.h"
#include "cuda/runtime/owners.h"
#include "features/camera/remap_table.h"

namespace glint::cuda {

class Remapper {
 public:
  // Chooses the table for the image that comes next; once for each. False: the host has to remap it.
  bool Choose(const RemapTable& table) { return tables_.Choose(table.id); }

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
  TablePlaces tables_;
  MappedBuffer staging_;
  DeviceBuffer source_;
  Shape source_shape_, shape_;  // of the prepared table
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RECTIFY_REMAPPER_H_
