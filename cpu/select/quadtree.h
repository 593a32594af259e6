// Selection::kQuadtree: which corners of a level a quadtree keeps (features/reference/quadtree.h has the rules).
#ifndef GLINT_CPU_SELECT_QUADTREE_H_
#define GLINT_CPU_SELECT_QUADTREE_H_

#include <cstddef>
#include <cstdint>

#include "cpu/common/buffer.h"
#include "features/quadtree.h"
#include "features/types.h"

namespace glint::cpu {

// Thread-compatible. Scratch grows to the largest list seen.
class QuadtreeSelection {
 public:
  // For lists of up to `count` corners and trees of up to about `share` nodes.
  void Prepare(size_t count, int share);

  // Leaves in `where`, in raster order, the corners that a quadtree with about `share` nodes over a level of this shape
  // keeps, and in `response` their scores. Returns their number. The list's order does not matter.
  size_t Keep(Shape level, int share, uint32_t* where, const uint8_t* score, size_t count, float* response);

 private:
  // A corner: score, row, column from the corner of the divided rectangle.
  using Key = uint64_t;
  struct Node {
    int left;
    int top;
    int right;
    int bottom;
    uint32_t first;  // of its corners in corners_
    uint32_t count;
    uint32_t number;  // nodes made later have greater ones
  };

  void MakeRoots(Shape level);
  void SplitAll();
  void SplitInOrder(size_t share);
  void Add(const Node& node);
  void Split(const Node& node);
  Key BestOf(const Node& node) const;
  bool IsBetter(Key a, Key b) const;
  size_t nodes() const { return kept_count_ + open_count_ + made_count_; }

  QuadtreeAxis across_;
  QuadtreeAxis down_;
  Buffer<Key> corners_;
  Buffer<Key> sorted_;  // of the node that is being split
  size_t count_ = 0;
  // As many as there can be nodes.
  Buffer<Key> kept_;  // of nodes with one corner, and in the end of all
  size_t kept_count_ = 0;
  // Nodes with several corners: still to be split, and those made meanwhile.
  Buffer<Node> open_;
  Buffer<Node> made_;
  size_t open_count_ = 0;
  size_t made_count_ = 0;
  uint32_t numbers_ = 0;
};

}  // namespace glint::cpu

#endif  // GLINT_CPU_SELECT_QUADTREE_H_
