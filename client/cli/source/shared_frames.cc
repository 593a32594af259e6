#include "client/cli/source/shared_frames.h"

#include <cstring>
#include <utility>

#include "features/status_macros.h"

namespace glint::cli {

absl::StatusOr<client::ImageInput> SharedFrames::Put(const client::ImageInput& image) {
  if (image.kind != client::ImageInput::Kind::kRaw) return image;
  const size_t row = static_cast<size_t>(image.width) * static_cast<size_t>(client::BytesPerPixel(image.format));
  const int rows = client::RowsOf(image.format, image.height);
  const size_t bytes = row * static_cast<size_t>(rows);
  if (ring_ == nullptr || ring_->slot_bytes() < bytes) {
    client::RingOptions options;
    options.slots = slots_;
    options.slot_bytes = bytes;
    GLINT_ASSIGN_OR_RETURN(ring_, client_->ShareMemory(options));
  }
  client::SharedSlot slot = ring_->Acquire();
  for (int y = 0; y < rows; ++y) {
    std::memcpy(slot.data() + static_cast<size_t>(y) * row, image.data + y * image.stride, row);
  }
  client::ImageInput shared =
      client::ImageInput::Shared(std::move(slot), image.format, image.width, image.height, static_cast<ptrdiff_t>(row));
  shared.region = image.region;
  return shared;
}

}  // namespace glint::cli
