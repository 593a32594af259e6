#include "lane/rectified_rows.h"

namespace glint {

void RectifiedRows::Use(const Pixels& source, const RemapTable& table) { remapped_ = {source, &table}; }

void RectifiedRows::CopyRows(int first, int count, uint8_t* to, ptrdiff_t stride) const {
  ImageView& view = remapped_.source.view;
  view = ViewOf(remapped_.source, &memory_);
  remap_(view, *remapped_.table, first, count, to, stride);
}

}  // namespace glint
