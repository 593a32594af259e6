#include "decode/image_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "decode/decode.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::decode {
namespace {

// The next decimal number of a PNM header, after white space and comments; -1 if there is none below 1e9.
int64_t NextNumber(absl::Span<const uint8_t> file, size_t* at) {
  const auto space = [](uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (*at < file.size() && (space(file[*at]) || file[*at] == '#')) {
    if (file[*at] == '#') {
      while (*at < file.size() && file[*at] != '\n') ++*at;
    } else {
      ++*at;
    }
  }
  int64_t value = -1;
  for (; *at < file.size() && file[*at] >= '0' && file[*at] <= '9'; ++*at) {
    value = (value < 0 ? 0 : value * 10) + (file[*at] - '0');
    if (value >= 1'000'000'000) return -1;
  }
  return value;
}

bool IsPnm(absl::Span<const uint8_t> file) {
  return file.size() >= 2 && file[0] == 'P' && (file[1] == '5' || file[1] == '6');
}

absl::StatusOr<Image> Decode(absl::Span<const uint8_t> file, int64_t max_pixels) {
  if (IsPnm(file)) return DecodePnm(file, max_pixels);
  Decoder decoder;
  GLINT_ASSIGN_OR_RETURN(const auto shape, decoder.Inspect(Encoding::kDetect, file, max_pixels));
  Image image(shape.width, shape.height);
  GLINT_RETURN_IF_ERROR(decoder.DecodeInto(Encoding::kDetect, file, DestinationIn(&image)));
  return image;
}

}  // namespace

absl::StatusOr<Image> DecodePnm(absl::Span<const uint8_t> file, int64_t max_pixels) {
  if (!IsPnm(file)) return ContradictionError("image.data", "is not a binary PGM or PPM file");
  const PixelFormat format = file[1] == '5' ? PixelFormat::kGray8 : PixelFormat::kRgb8;
  size_t at = 2;
  const int64_t width = NextNumber(file, &at);
  const int64_t height = NextNumber(file, &at);
  const int64_t largest = NextNumber(file, &at);
  if (width < 0 || height < 0 || largest < 0 || at == file.size()) {
    return ContradictionError("image.data", "PNM: bad header");
  }
  if (largest != 255)
    return ContradictionError("image.data", absl::StrCat("PNM: largest value ", largest, ", not 255"));
  ++at;  // the one white space before the pixels
  const RawLayout layout = {static_cast<int>(format), static_cast<uint32_t>(width), static_cast<uint32_t>(height), 0};
  GLINT_ASSIGN_OR_RETURN(const auto plan, InspectRaw(layout, file.size() - at, max_pixels));
  Image image(plan.shape.width, plan.shape.height);
  const absl::Span<const uint8_t> data = file.subspan(at);
  std::vector<uint8_t> scratch;
  RawToGray(plan, {&data, 1}, 0, 0, DestinationIn(&image), &scratch);
  return image;
}

absl::StatusOr<Image> ReadImageFile(const std::string& path, int64_t max_pixels) {
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::vector<uint8_t> file{std::istreambuf_iterator<char>(stream), {}};
  if (!stream.is_open() || stream.bad()) {
    return absl::NotFoundError(absl::StrCat(path, ": ", errno != 0 ? std::strerror(errno) : "cannot be read"));
  }
  auto image = Decode(file, max_pixels);
  if (!image.ok()) return absl::Status(image.status().code(), absl::StrCat(path, ": ", image.status().message()));
  return image;
}

}  // namespace glint::decode
