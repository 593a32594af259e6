// Rows of a rectified image, computed where a lane wants them.
#ifndef GLINT_LANE_RECTIFIED_ROWS_H_
#define GLINT_LANE_RECTIFIED_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "cpu/rectify/remap.h"
#include "features/camera/remap_table.h"
#include "features/pixels.h"
#include "features/types.h"

namespace glint {

// Remaps an image row by row, straight into the memory that the rows are asked for; or lets a backend do it. Keeps its
// memory from image to image. Thread-compatible: CopyRows() is one call at a time.
class RectifiedRows final : public PixelRows {
 public:
  // Sets the image, which must have table.source's shape, and the table. Both must outlive the use of this. An image
  // without a view is written to memory of this object, once, by the first CopyRows().
  void Use(const Pixels& source, const RemapTable& table);

  // Puts a source without a view into memory of this object, where remap() then has it.
  void LoadSource() { remapped_.source.view = ViewOf(remapped_.source, &memory_); }

  Shape shape() const override { return remapped_.table->shape; }
  void CopyRows(int first, int count, uint8_t* to, ptrdiff_t stride) const override;
  const RemapSource* remap() const override { return &remapped_; }

 private:
  const cpu::RemapRows remap_ = cpu::BestRemapRows();
  mutable RemapSource remapped_;  // the source gets a view once it is in memory
  mutable Image memory_;
};

}  // namespace glint

#endif  // GLINT_LANE_RECTIFIED_ROWS_H_
