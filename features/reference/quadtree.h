// Selection::kQuadtree: FAST in cells at two thresholds, and the distribution of corners by a quadtree, as the
// extractor of ORB-SLAM2 has them. Geometry: features/quadtree.h.
#ifndef GLINT_FEATURES_REFERENCE_QUADTREE_H_
#define GLINT_FEATURES_REFERENCE_QUADTREE_H_

#include <vector>

#include "features/reference/corner.h"
#include "features/types.h"

namespace glint::reference {

// Each cell, with kFastRadius pixels around it for the rings, is searched alone: DetectFast with `ini_threshold`, then
// 3x3 suppression; if nothing is left, both again with `min_threshold`. Order: cells row by row, within each cell
// raster order. Pixels of the level; response: FastScore. None on a level too small for a cell.
std::vector<Corner> DetectInCells(const ImageView& level, int ini_threshold, int min_threshold);

// The corners that a quadtree with about `share` nodes keeps: of each node the one with the greatest response, the
// first in `corners` of equals. `corners` are those of DetectInCells, or some of them, in that order.
//
// Nodes are split into four, those without corners dropped. First all nodes with several corners at once, until there
// are `share` nodes or their number no longer changes. As soon as the next pass could exceed the share (nodes + 3 x
// nodes with several corners > share), nodes are split one after another, until there are `share` of them: the one with
// the most corners first, of equals the larger left edge, then the larger upper edge, then the one made last. When all
// are split, those made meanwhile follow, until the number of nodes no longer changes. ORB-SLAM2 orders nodes with
// equally many corners by address in memory, which changes from call to call; ORB-SLAM3 by left edge alone.
std::vector<Corner> Distribute(const std::vector<Corner>& corners, Shape level, int share);

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_QUADTREE_H_
