// Encodings: https://github.com/ros2/common_interfaces, sensor_msgs/image_encodings.hpp.
#include "ros/image.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "features/error.h"
#include "features/limits.h"
#include "features/status_macros.h"

namespace glint::ros {
namespace {

enum class Samples { kAsTheyAre, k16Bits, kFloats, kOddBytes };

struct Encoding {
  absl::string_view name;
  PixelFormat format;
  size_t pixel_bytes;  // in the message
  Samples samples;
  bool picture, depth;
};

constexpr Encoding kEncodings[] = {
    {"mono8", PixelFormat::kGray8, 1, Samples::kAsTheyAre, true, false},
    {"8UC1", PixelFormat::kGray8, 1, Samples::kAsTheyAre, true, false},
    {"mono16", PixelFormat::kGray16, 2, Samples::k16Bits, true, true},
    {"16UC1", PixelFormat::kGray16, 2, Samples::k16Bits, true, true},
    {"32FC1", PixelFormat::kGray16, 4, Samples::kFloats, false, true},
    {"bgr8", PixelFormat::kBgr8, 3, Samples::kAsTheyAre, true, false},
    {"rgb8", PixelFormat::kRgb8, 3, Samples::kAsTheyAre, true, false},
    {"bgra8", PixelFormat::kBgra8, 4, Samples::kAsTheyAre, true, false},
    {"rgba8", PixelFormat::kRgba8, 4, Samples::kAsTheyAre, true, false},
    {"bayer_rggb8", PixelFormat::kBayerRggb8, 1, Samples::kAsTheyAre, true, false},
    {"yuv422_yuy2", PixelFormat::kYuyv, 2, Samples::kAsTheyAre, true, false},
    {"yuyv", PixelFormat::kYuyv, 2, Samples::kAsTheyAre, true, false},
    {"yuv422", PixelFormat::kGray8, 2, Samples::kOddBytes, true, false},
    {"uyvy", PixelFormat::kGray8, 2, Samples::kOddBytes, true, false},
    // Luma, then chroma.
    {"nv12", PixelFormat::kGray8, 1, Samples::kAsTheyAre, true, false},
    {"nv21", PixelFormat::kGray8, 1, Samples::kAsTheyAre, true, false},
    {"nv24", PixelFormat::kGray8, 1, Samples::kAsTheyAre, true, false},
};

std::string FieldOf(absl::string_view field) { return absl::StrCat(Image::kName, ".", field); }

absl::Status EncodingError(const std::string& name, ImageUse use) {
  if (use == ImageUse::kPicture && absl::StartsWith(name, "bayer_")) {
    return ContradictionError(FieldOf("encoding"),
                              absl::StrCat("\"", Echo(name), "\": of mosaics only bayer_rggb8 is taken; image_proc's ",
                                           "debayer node publishes mono8 and colours"));
  }
  std::string names;
  for (const Encoding& encoding : kEncodings) {
    if (use == ImageUse::kPicture ? encoding.picture : encoding.depth) {
      absl::StrAppend(&names, names.empty() ? "" : ", ", encoding.name);
    }
  }
  return NotOneOfError(FieldOf("encoding"), name, names);
}

// 2 bytes, the lower one first, of the metres in 4.
void WriteMillimetres(const uint8_t* from, bool big_endian, uint8_t* to) {
  uint32_t bits = 0;
  for (int i = 0; i < 4; ++i) bits |= static_cast<uint32_t>(from[big_endian ? 3 - i : i]) << (8 * i);
  float metres;
  static_assert(sizeof(metres) == sizeof(bits) && std::numeric_limits<float>::is_iec559);
  std::memcpy(&metres, &bits, sizeof(bits));
  const double rounded = std::floor(static_cast<double>(metres) * 1000 + 0.5);
  const auto sample = static_cast<uint16_t>(rounded >= 1 && rounded <= 65535 ? rounded : 0);  // NaN is not
  to[0] = static_cast<uint8_t>(sample);
  to[1] = static_cast<uint8_t>(sample >> 8);
}

void ConvertRow(Samples samples, bool big_endian, const uint8_t* from, size_t width, uint8_t* to) {
  for (size_t x = 0; x < width; ++x) {
    if (samples == Samples::kOddBytes) {
      to[x] = from[2 * x + 1];
    } else if (samples == Samples::k16Bits) {
      to[2 * x] = from[2 * x + 1];
      to[2 * x + 1] = from[2 * x];
    } else {
      WriteMillimetres(from + 4 * x, big_endian, to + 2 * x);
    }
  }
}

}  // namespace

absl::Status PixelsOf(const Image& image, ImageUse use, ImagePixels* pixels) {
  const auto* const encoding = std::find_if(std::begin(kEncodings), std::end(kEncodings), [&](const Encoding& e) {
    return e.name == image.encoding && (use == ImageUse::kPicture ? e.picture : e.depth);
  });
  if (encoding == std::end(kEncodings)) return EncodingError(image.encoding, use);
  GLINT_RETURN_IF_ERROR(CheckRange<int64_t>(FieldOf("width"), image.width, 1, kMaxImageSide));
  GLINT_RETURN_IF_ERROR(CheckRange<int64_t>(FieldOf("height"), image.height, 1, kMaxImageSide));
  const size_t width = image.width, height = image.height, row = width * encoding->pixel_bytes;
  if (image.step < row) {
    return ContradictionError(FieldOf("step"), absl::StrCat(image.step, " is less than the row of ", row, " bytes"));
  }
  const size_t bytes = size_t{image.step} * height;
  if (image.data.size() < bytes) {
    return ContradictionError(FieldOf("data"), absl::StrCat(image.data.size(), " bytes are less than ", height,
                                                            " rows of ", image.step, " bytes"));
  }
  pixels->format = encoding->format;
  pixels->shape = {static_cast<int>(width), static_cast<int>(height)};
  pixels->data = image.data.data();
  pixels->stride = image.step;
  pixels->row_bytes = row;
  const bool big_endian = image.is_bigendian != 0;
  if (encoding->samples == Samples::kAsTheyAre || (encoding->samples == Samples::k16Bits && !big_endian)) {
    return absl::OkStatus();
  }
  pixels->stride = pixels->row_bytes = width * (encoding->format == PixelFormat::kGray16 ? 2 : 1);
  pixels->converted.resize(pixels->stride * height);
  for (size_t y = 0; y < height; ++y) {
    ConvertRow(encoding->samples, big_endian, image.data.data() + y * image.step, width,
               pixels->converted.data() + y * pixels->stride);
  }
  pixels->data = pixels->converted.data();
  return absl::OkStatus();
}

absl::StatusOr<absl::Span<const uint8_t>> FileOf(const CompressedImage& image) {
  constexpr uint8_t kJpeg[] = {0xff, 0xd8, 0xff}, kPng[] = {0x89, 'P', 'N', 'G'};
  for (const absl::Span<const uint8_t> begin : {absl::MakeConstSpan(kJpeg), absl::MakeConstSpan(kPng)}) {
    if (image.data.subspan(0, begin.size()) == begin) return image.data;
  }
  return ContradictionError(
      absl::StrCat(CompressedImage::kName, ".data"),
      absl::StrCat(image.data.size(), " bytes of format \"", Echo(image.format),
                   "\" do not begin as JPEG or PNG; depths are taken as Image of 16UC1 or 32FC1"));
}

}  // namespace glint::ros
