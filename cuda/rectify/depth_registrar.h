// Registration of depth on a device: raw depths, the tables that they are registered by, and what comes of them. Not
// for a build without CUDA.
//
// Thread-compatible; belongs to one stream. Memory grows to the largest image seen, and that of tables as TablePlaces
// says, and stays.
#ifndef GLINT_CUDA_RECTIFY_DEPTH_REGISTRAR_H_
#define GLINT_CUDA_RECTIFY_DEPTH_REGISTRAR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "cuda/rectify/table_places.h"
#include "cuda/runtime/owners.h"
#include "features/camera/depth_table.h"
#include "features/depth.h"

namespace glint::cuda {

class DepthRegistrar {
 public:
  // Chooses the table for the image that comes next; once for each. False: the host has to register it.
  bool Choose(const DepthTable& table) { return tables_.Choose(table.id); }

  // Makes room for the chosen table, which is `table`, and its images; copies the table unless it is there. The last
  // image must be done. Waits for the device for a table that is new. `in_place`: the kernel reads staging().
  // RESOURCE_EXHAUSTED: out of memory.
  absl::Status Prepare(StreamView stream, const DepthTable& table, bool in_place);
  // For the raw samples, whose rows follow each other: pinned memory to copy them from, and where they have to be on
  // the device; null if in place.
  uint8_t* staging() const { return staging_.data(); }
  uint8_t* source() const { return in_place_ ? nullptr : source_.data(); }
  // Enqueues the kernels. `table` is the prepared one.
  absl::Status Enqueue(StreamView stream, const DepthTable& table, const DepthSensor& sensor) const;
  // What came of it, once all on the stream is done; until the next Enqueue(). Without limits: they have been applied.
  DepthView registered(double unit) const;

  // After an error on the stream: all is as new.
  void Drop() { *this = DepthRegistrar(); }

 private:
  TablePlaces tables_;
  bool in_place_ = false;
  Shape shape_;  // of the prepared table
  MappedBuffer staging_, result_;
  DeviceBuffer source_, nearest_;
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RECTIFY_DEPTH_REGISTRAR_H_
