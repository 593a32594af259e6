// Geometry of Selection::kQuadtree, the extractor of ORB-SLAM2 and 3 (Mur-Artal, Tardos 2017; Campos et al. 2021): the
// cells that FAST searches and the roots of the quadtree over them. Shared by all backends. Pure functions:
// thread-safe.
//
// On each level a rectangle is divided that leaves kQuadtreeBorder pixels free on each side. FAST's ring needs
// kFastRadius more, so that the centres of corners keep kQuadtreeEdge away. The centres' columns, counted from the
// first, are divided among cells without a rest: FAST searches each cell as if nothing were around its rings.
#ifndef GLINT_FEATURES_QUADTREE_H_
#define GLINT_FEATURES_QUADTREE_H_

#include "features/math.h"
#include "features/types.h"

namespace glint {

constexpr int kQuadtreeBorder = 16;                           // pixels of the level
constexpr int kQuadtreeEdge = kQuadtreeBorder + kFastRadius;  // likewise
constexpr int kQuadtreeCell = 30;                             // pixels, the least side of a cell
constexpr int kQuadtreePatch = 31;                            // pixels, patch_size

// How one axis of a level is divided.
struct QuadtreeAxis {
  int size = 0;   // of the rectangle, pixels; 0 if nothing is left
  int cells = 0;  // 0: no corners on this level
  int cell = 0;   // pixels of centres in each cell but the last ones, which may have fewer or none
};
GLINT_HD inline QuadtreeAxis DivideQuadtreeAxis(int side) {
  QuadtreeAxis axis;
  axis.size = Max(side - 2 * kQuadtreeBorder, 0);
  axis.cells = axis.size / kQuadtreeCell;
  if (axis.cells > 0) axis.cell = (axis.size + axis.cells - 1) / axis.cells;
  return axis;
}

// Root nodes stand side by side. Positions are counted from the rectangle's corner; floats as ORB-SLAM2 has them.
struct QuadtreeRoots {
  int count = 1;
  float width = 0;

  // Columns [Edge(i), Edge(i + 1)) are root i's node. The root of a column may end one column before it.
  GLINT_HD int Edge(int i) const { return static_cast<int>(width * static_cast<float>(i)); }
  GLINT_HD int Of(int x) const { return static_cast<int>(static_cast<float>(x) / width); }
};
// Of a rectangle: width / height, rounded, halves up, but at least one.
GLINT_HD inline QuadtreeRoots MakeQuadtreeRoots(int width, int height) {
  QuadtreeRoots roots;
  roots.count = Max((2 * width + height) / (2 * Max(height, 1)), 1);
  roots.width = static_cast<float>(width) / static_cast<float>(roots.count);
  return roots;
}

// Where a node of this side is split: the first half gets so many pixels.
GLINT_HD inline int QuadtreeHalf(int side) { return (side + 1) / 2; }

}  // namespace glint

#endif  // GLINT_FEATURES_QUADTREE_H_
