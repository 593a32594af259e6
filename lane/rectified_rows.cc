#include "lane/rectified_rows.h"

namespace glint {

void RectifiedRows::Use(const Pixels& source, const RemapTable& table) {
  source_ = source;
  table_ = &table;
  view_ = source.view;
}

void RectifiedRows::CopyRows(int first, int count, uint8_t* to, ptrdiff_t stride) const {
  if (view_.empty()) view_ = ViewOf(source_, &memory_);
  remap_(view_, *table_, first, count, to, stride);
}

}  // namespace glint
