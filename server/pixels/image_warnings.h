// What makes an image or a mask doubtful. What a warning allocates does not count as the frame path's.
#ifndef GLINT_SERVER_PIXELS_IMAGE_WARNINGS_H_
#define GLINT_SERVER_PIXELS_IMAGE_WARNINGS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "features/pixels.h"
#include "features/types.h"
#include "features/warning.h"
#include "server/pixels/image_source.h"

namespace glint {

// Warns if all grey values of `pixels`, which are of `source`, lie in under a sixteenth of the range: none is 16 above
// another. Stops at the first pixels that tell otherwise. `field` begins the text, unless it is empty. `*row` is
// scratch memory.
void WarnOfNarrowRange(absl::string_view field, const ImageSource& source, const Pixels& pixels, Image* row,
                       std::vector<Warning>* warnings);

// The share of a mask's pixels that are neither 0 nor 255.
double ShareOfOtherMaskValues(const Pixels& mask, Image* row);
void WarnOfMaskValues(double share, std::vector<Warning>* warnings);

}  // namespace glint

#endif  // GLINT_SERVER_PIXELS_IMAGE_WARNINGS_H_
