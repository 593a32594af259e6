// Sources of pixels that are not an image in memory yet.
#ifndef GLINT_FEATURES_PIXELS_H_
#define GLINT_FEATURES_PIXELS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "features/limits.h"
#include "features/types.h"

namespace glint {

struct RemapSource;
struct RemapTable;

// A source that writes grey pixels where they are needed, for example from the slices of a message or from colours. A
// backend has them written straight into the memory that its device reads, a band of rows at a time.
class PixelRows {
 public:
  virtual ~PixelRows() = default;
  virtual Shape shape() const = 0;
  // Writes the `count` rows from `first` on, shape().width bytes each, `stride` bytes apart. Thread-compatible.
  virtual void CopyRows(int first, int count, uint8_t* to, ptrdiff_t stride) const = 0;
  // What the rows are remapped from, for backends that can remap it themselves; null where they come otherwise. Valid
  // as long as the rows, until the next call of CopyRows().
  virtual const RemapSource* remap() const { return nullptr; }
};

// An image or a mask: a view, a source of rows, or both; empty for an absent mask. Borrowed.
struct Pixels {
  ImageView view;                   // the pixels in memory, or empty
  const PixelRows* rows = nullptr;  // writes the pixels, or null; with both, the backend chooses

  Pixels() = default;
  Pixels(const ImageView& image) : view(image) {}            // NOLINT(google-explicit-constructor)
  Pixels(const Image& image) : view(image.view()) {}         // NOLINT(google-explicit-constructor)
  Pixels(const PixelRows* image_rows) : rows(image_rows) {}  // NOLINT(google-explicit-constructor)

  bool empty() const { return view.empty() && rows == nullptr; }
  Shape shape() const { return view.empty() && rows != nullptr ? rows->shape() : view.shape(); }
};

// An image whose rows are those of `source`, of the shape table->source, remapped by `table` (reference::Remap), which
// has its blocks. Borrowed.
struct RemapSource {
  Pixels source;
  const RemapTable* table = nullptr;
};

// Both images of a pair, of one shape, and their masks, which have it, too, or are absent.
struct PixelPair {
  Pixels left, right;
  Pixels left_mask{}, right_mask{};
};

// The view if there is one; else the rows, written into `*memory`.
inline ImageView ViewOf(const Pixels& pixels, Image* memory) {
  if (!pixels.view.empty() || pixels.rows == nullptr) return pixels.view;
  memory->Resize(pixels.shape());
  pixels.rows->CopyRows(0, memory->height(), memory->row(0), memory->stride());
  return memory->view();
}

// The rows of a mask, in which every value but 0 has become 255 (AnyMaskValueIsSet()). Borrows the mask.
class SetMaskRows final : public PixelRows {
 public:
  explicit SetMaskRows(const Pixels& mask) : mask_(mask) {}
  Shape shape() const override { return mask_.shape(); }
  void CopyRows(int first, int count, uint8_t* to, ptrdiff_t stride) const override;

 private:
  const Pixels mask_;
};

// OK if `image` has 1..max_pixels pixels with sides of 1..kMaxImageSide, and `mask` is empty or has its shape. Strides
// are not checked.
absl::Status ValidatePixels(const Pixels& image, const Pixels& mask, int64_t max_pixels = kMaxImagePixels);

}  // namespace glint

#endif  // GLINT_FEATURES_PIXELS_H_
