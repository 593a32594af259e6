#include "cuda/rectify/table_places.h"

#include "cuda/runtime/error.h"

namespace glint::cuda {

absl::Status Grow(StreamView stream, size_t bytes, DeviceBuffer* buffer) {
  if (bytes <= buffer->bytes()) return absl::OkStatus();
  *buffer = DeviceBuffer();
  GLINT_ASSIGN_OR_RETURN(*buffer, DeviceBuffer::Create(stream, bytes));
  return absl::OkStatus();
}

absl::Status Grow(StreamView stream, size_t bytes, MappedBuffer* buffer) {
  if (bytes <= buffer->bytes()) return absl::OkStatus();
  *buffer = MappedBuffer();
  GLINT_ASSIGN_OR_RETURN(*buffer, MappedBuffer::Create(stream.api, bytes));
  return absl::OkStatus();
}

bool TablePlaces::Choose(uint64_t id) {
  ++images_;
  chosen_ = nullptr;
  if (id == 0) return false;
  Place* oldest = &places_[0];
  for (Place& place : places_) {
    if (place.table == id) chosen_ = &place;
    if (place.used < oldest->used) oldest = &place;
  }
  if (chosen_ == nullptr && (oldest->table == 0 || images_ - oldest->used > kImagesKept)) chosen_ = oldest;
  if (chosen_ != nullptr) chosen_->used = images_;
  return chosen_ != nullptr;
}

absl::Status TablePlaces::Put(StreamView stream, uint64_t id, std::initializer_list<Part> parts) {
  chosen_->table = 0;
  size_t bytes = 0;
  for (const Part& part : parts) bytes += part.bytes;
  GLINT_RETURN_IF_ERROR(Grow(stream, bytes, &chosen_->memory));
  uint8_t* to = chosen_->memory.data();
  for (const Part& part : parts) {
    GLINT_RETURN_IF_ERROR(
        ToStatus(stream.api->MemcpyAsync(to, part.data, part.bytes, cudaMemcpyHostToDevice, stream.stream),
                 "copying a table of rectification to the device"));
    to += part.bytes;
  }
  GLINT_RETURN_IF_ERROR(ToStatus(stream.api->StreamSynchronize(stream.stream), "waiting for a table of rectification"));
  chosen_->table = id;
  return absl::OkStatus();
}

}  // namespace glint::cuda
