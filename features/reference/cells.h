// Selections that divide an image into cells.
#ifndef GLINT_FEATURES_REFERENCE_CELLS_H_
#define GLINT_FEATURES_REFERENCE_CELLS_H_

#include <vector>

#include "features/reference/corner.h"
#include "features/types.h"

namespace glint::reference {

// A corner on its level and where it lies in the image.
struct LevelCorner {
  int octave = 0;
  Corner corner;
  int image_x = 0;  // pixel of the image
  int image_y = 0;
};

// Selection::kGrid: of the corners in each cell of the image the one with the greatest response; among equals the one
// of the lowest octave, then the smallest y, then x. Their order is that of `corners`.
std::vector<LevelCorner> BestOfCells(const std::vector<LevelCorner>& corners, int cell_width, int cell_height);

// The first half of Selection::kPyca: of the corners in each cell of a level the one with the greatest response; among
// equals the smallest y, then x.
std::vector<Corner> CullCells(const std::vector<Corner>& corners, int cell_width, int cell_height);

// The second half, pyramidal feature aggregation. Corners that fall on the same pixel of the image become one: the
// number of them and the sum of their responses are the pixel's, octave and position those of the strongest (among
// equals the lowest octave). A pixel survives if no other within the window, `window` pixels a side around it, precedes
// it: more levels first, then the greater sum, then the smaller y, then x. The paper suppresses what is smaller in both
// numbers, which leaves open what happens when one is and the other is not; levels count more here because being found
// on several levels is what the paper aggregates for. Response: the sum. In the order of `corners`.
std::vector<LevelCorner> Aggregate(const std::vector<LevelCorner>& corners, int window);

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_CELLS_H_
