// RenderedPictures that glint doctor makes itself, with integers alone: the same bytes on every machine.
#ifndef GLINT_CLIENT_CLI_DOCTOR_PICTURES_H_
#define GLINT_CLIENT_CLI_DOCTOR_PICTURES_H_

#include <array>
#include <cstddef>

#include "features/types.h"

namespace glint::cli {

// A rectified stereo camera that moves to its right, by a quarter of its baseline each frame, before walls of random
// blocks at three distances, whose disparities are 4, 8 and 16 pixels.
inline constexpr Shape kPictureShape = {480, 360};
inline constexpr double kFocalLength = 400;  // pixels
inline constexpr double kBaseline = 0.1;     // metres
inline constexpr int kPictureFrames = 10;

class RenderedPictures {
 public:
  RenderedPictures();
  const Image& left(int frame) const { return from_[static_cast<size_t>(frame)]; }
  const Image& right(int frame) const { return from_[static_cast<size_t>(frame + 4)]; }
  // A part of a picture whose sides are odd, and whose rows are aligned to nothing.
  ImageView odd_part() const { return {left(0).row(3) + 5, 317, 229, left(0).stride()}; }

 private:
  std::array<Image, kPictureFrames + 4> from_;  // quarters of the baseline from the first left camera
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_DOCTOR_PICTURES_H_
