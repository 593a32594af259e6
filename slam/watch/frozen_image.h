// A camera of a pair that sends the same image again while the other one goes on.
#ifndef GLINT_SLAM_WATCH_FROZEN_IMAGE_H_
#define GLINT_SLAM_WATCH_FROZEN_IMAGE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "features/types.h"
#include "features/warning.h"

namespace glint::slam {

// Not thread-safe. Keeps 64 bits of each image.
class FrozenImageWatch {
 public:
  // A pair of images of one shape. True: one of them has the very pixels of the last pair's, and the other one has not,
  // so that they are of two moments. A camera's noise makes sure that a new image differs, unless it is of one value,
  // which is never taken for frozen.
  bool Look(const ImageView& left, const ImageView& right);
  // Such pairs in a row, with the last one.
  int count() const { return count_; }
  // Of the last pair: empty unless it was such a pair.
  std::vector<Warning> Warnings() const;

 private:
  std::array<uint64_t, 2> last_ = {};
  bool has_last_ = false;
  bool is_left_ = false;
  int count_ = 0;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_WATCH_FROZEN_IMAGE_H_
