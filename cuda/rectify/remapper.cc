#include "cuda/rectify/remapper.h"

#include <cstddef>
#include <vector>

#include "cuda/rectify/packed_table.h"
#include "cuda/rectify/remap_stages.h"

namespace glint::cuda {

absl::Status Remapper::Prepare(StreamView stream, const RemapTable& table) {
  source_shape_ = table.source;
  shape_ = table.shape;
  const auto bytes = static_cast<size_t>(table.source.pixels());
  GLINT_RETURN_IF_ERROR(Grow(stream, bytes, &source_));
  GLINT_RETURN_IF_ERROR(Grow(stream, bytes, &staging_));
  if (tables_.Has(table.id)) return absl::OkStatus();
  std::vector<uint64_t> words;
  PackRemapTable(table, &words);
  return tables_.Put(stream, table.id, {{words.data(), words.size() * sizeof(words[0])}});
}

absl::Status Remapper::Enqueue(StreamView stream, uint8_t* to, int pitch) const {
  RemapParams params{};
  PackedLayout::Of(shape_).Place(reinterpret_cast<const uint64_t*>(tables_.data()), &params);
  params.source = source_.data();
  params.source_shape = source_shape_;
  params.to = to;
  params.to_pitch = pitch;
  params.shape = shape_;
  return RemapImage(stream, params);
}

}  // namespace glint::cuda
