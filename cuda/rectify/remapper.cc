#include "cuda/rectify/remapper.h"

#include <vector>

#include "cuda/rectify/remap_stages.h"
#include "cuda/runtime/error.h"

namespace glint::cuda {
namespace {

absl::Status Grow(StreamView stream, size_t bytes, DeviceBuffer* buffer) {
  if (bytes <= buffer->bytes()) return absl::OkStatus();
  *buffer = DeviceBuffer();
  GLINT_ASSIGN_OR_RETURN(*buffer, DeviceBuffer::Create(stream, bytes));
  return absl::OkStatus();
}

}  // namespace

bool Remapper::Choose(const RemapTable& table) {
  ++images_;
  chosen_ = nullptr;
  if (table.id == 0) return false;
  Place* oldest = &places_[0];
  for (Place& place : places_) {
    if (place.table == table.id) chosen_ = &place;
    if (place.used < oldest->used) oldest = &place;
  }
  if (chosen_ == nullptr && (oldest->table == 0 || images_ - oldest->used > kImagesKept)) chosen_ = oldest;
  if (chosen_ != nullptr) chosen_->used = images_;
  return chosen_ != nullptr;
}

absl::Status Remapper::Prepare(StreamView stream, const RemapTable& table) {
  source_shape_ = table.source;
  shape_ = table.shape;
  const auto bytes = static_cast<size_t>(table.source.pixels());
  GLINT_RETURN_IF_ERROR(Grow(stream, bytes, &source_));
  if (bytes > staging_.bytes()) {
    staging_ = MappedBuffer();
    GLINT_ASSIGN_OR_RETURN(staging_, MappedBuffer::Create(stream.api, bytes));
  }
  if (chosen_->table == table.id) return absl::OkStatus();
  chosen_->table = 0;
  std::vector<uint64_t> words;
  chosen_->layout = PackRemapTable(table, &words);
  const size_t packed = words.size() * sizeof(words[0]);
  GLINT_RETURN_IF_ERROR(Grow(stream, packed, &chosen_->memory));
  GLINT_RETURN_IF_ERROR(ToStatus(
      stream.api->MemcpyAsync(chosen_->memory.data(), words.data(), packed, cudaMemcpyHostToDevice, stream.stream),
      "copying a table of rectification to the device"));
  GLINT_RETURN_IF_ERROR(ToStatus(stream.api->StreamSynchronize(stream.stream), "waiting for a table of rectification"));
  chosen_->table = table.id;
  return absl::OkStatus();
}

absl::Status Remapper::Enqueue(StreamView stream, uint8_t* to, int pitch) const {
  RemapParams params{};
  chosen_->layout.Place(reinterpret_cast<const uint64_t*>(chosen_->memory.data()), &params);
  params.source = source_.data();
  params.source_shape = source_shape_;
  params.to = to;
  params.to_pitch = pitch;
  params.shape = shape_;
  return RemapImage(stream, params);
}

}  // namespace glint::cuda
