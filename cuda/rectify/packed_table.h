// A table of rectification in one piece of memory, as it is copied to a device.
#ifndef GLINT_CUDA_RECTIFY_PACKED_TABLE_H_
#define GLINT_CUDA_RECTIFY_PACKED_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cuda/rectify/remap_params.h"
#include "features/camera/remap_table.h"

namespace glint::cuda {

// Where the parts of such a piece are.
struct PackedLayout {
  int segments = 0;                       // of a row
  size_t origins_at = 0, entries_at = 0;  // in words of 8 bytes

  // Of a table with this shape.
  static PackedLayout Of(Shape shape);
  // Sets what `params` has of the table, which is at `words`, a multiple of 16.
  void Place(const uint64_t* words, RemapParams* params) const;
};

// Packs a table with blocks. Takes 2.5 bytes for each of its pixels, rows being multiples of kSegment, and 8 for those
// of wide blocks: along the outline of the source, and where places are so far apart that RemapBlocks has exceptions.
// Thread-safe.
PackedLayout PackRemapTable(const RemapTable& table, std::vector<uint64_t>* words);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RECTIFY_PACKED_TABLE_H_
