#include "bench/picture.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "decode/image_file.h"
#include "features/error.h"
#include "features/options.h"
#include "features/status_macros.h"

namespace glint::bench {
namespace {

constexpr char kMirror[] = "mirror4:";

}  // namespace

Image Mirrored2x2(const ImageView& image) {
  const int width = image.width, height = image.height;
  Image out(2 * width, 2 * height);
  for (int y = 0; y < height; ++y) {
    const uint8_t* in = image.row(y);
    uint8_t* upper = out.row(y);
    std::copy_n(in, width, upper);
    std::reverse_copy(in, in + width, upper + width);
    std::copy_n(upper, 2 * width, out.row(2 * height - 1 - y));
  }
  return out;
}

absl::StatusOr<Image> LoadPicture(const std::string& source) {
  if (!absl::StartsWith(source, kMirror)) return decode::ReadImageFile(source);
  GLINT_ASSIGN_OR_RETURN(auto image, decode::ReadImageFile(source.substr(sizeof kMirror - 1)));
  return Mirrored2x2(image);
}

absl::StatusOr<Shape> ParseSize(const std::string& size) {
  const std::vector<std::string> sides = absl::StrSplit(size, 'x');
  Shape shape{};
  if (sides.size() != 2 || !absl::SimpleAtoi(sides[0], &shape.width) || !absl::SimpleAtoi(sides[1], &shape.height)) {
    return ContradictionError("size", absl::StrCat("\"", size, "\" is not WIDTHxHEIGHT, as 640x480"));
  }
  GLINT_RETURN_IF_ERROR(ValidateShape(shape));
  return shape;
}

}  // namespace glint::bench
