// Contrast limited adaptive histogram equalisation (Zuiderveld 1994) as cv::createCLAHE() of OpenCV 4.6 with its
// defaults, byte for byte: 8 by 8 tiles, clip limit 40.
#ifndef GLINT_DECODE_CLAHE_H_
#define GLINT_DECODE_CLAHE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "features/types.h"

namespace glint::decode {

// Each tile has a table from grey to grey, the sum of its histogram, whose bins are cut at the limit and which gets
// what was cut off evenly; a pixel takes the four nearest tiles' values, bilinearly. Sides that eight does not divide
// are lengthened by reflection. IEEE floats in one order, so that all machines agree. Thread-compatible; keeps its
// memory.
class Clahe {
 public:
  // `to` gets the shape of `image`, which is not empty and not `to`.
  void Apply(const ImageView& image, Image* to);

 private:
  // Of one column: its tiles to the left and right, and how near the right one is.
  struct Column {
    int left, right;
    float weight;
  };

  std::array<std::array<uint8_t, 256>, 64> tables_;
  std::vector<Column> columns_;
};

}  // namespace glint::decode

#endif  // GLINT_DECODE_CLAHE_H_
