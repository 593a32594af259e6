#include "bench/jpeg_input.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "bench/picture.h"
#include "decode/decode.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::bench {
namespace {

constexpr int kQuality = 80;

// Evenly distributed, 0..255, by place and layer.
int Random(int x, int y, int layer) {
  auto h = static_cast<uint32_t>(x) * 0x9e3779b1u ^ static_cast<uint32_t>(y) * 0x85ebca77u ^
           static_cast<uint32_t>(layer) * 0xc2b2ae3du;
  h = (h ^ h >> 15) * 0x2c1b3c6du;
  h = (h ^ h >> 12) * 0x297a2d39u;
  return static_cast<int>((h ^ h >> 15) & 255);
}

// Random values on a grid of `cell` pixels, linear between its points.
int Smooth(int x, int y, int cell) {
  const int column = x / cell, row = y / cell, right = x % cell, down = y % cell;
  const auto along = [&](int r) {
    return Random(column, r, cell) * (cell - right) + Random(column + 1, r, cell) * right;
  };
  return (along(row) * (cell - down) + along(row + 1) * down) / (cell * cell);
}

// Chroma of a grey picture: itself, mirrored, at a quarter of its contrast.
Image ChromaOf(const ImageView& luma, bool across) {
  Image chroma(luma.width, luma.height);
  for (int y = 0; y < luma.height; ++y) {
    const uint8_t* from = luma.row(across ? y : luma.height - 1 - y);
    uint8_t* to = chroma.row(y);
    for (int x = 0; x < luma.width; ++x) {
      to[x] = static_cast<uint8_t>(128 + (from[across ? luma.width - 1 - x : x] - 128) / 4);
    }
  }
  return chroma;
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": ", std::strerror(errno)));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

bool IsJpegFile(const std::string& file) {
  return decode::IsJpeg({reinterpret_cast<const uint8_t*>(file.data()), file.size()});
}

absl::StatusOr<std::vector<JpegInput>> Encode(const JpegInputOptions& options, const std::string& source,
                                              const ImageView& luma) {
  decode::JpegWriterOptions writer;
  writer.sampling = options.sampling.value_or(decode::JpegSampling::k420);
  writer.restart_rows = options.restart_rows.value_or(0);
  decode::JpegPlanes planes = {luma, {}, {}};
  Image cb, cr;
  if (writer.sampling != decode::JpegSampling::kGrey) {
    cb = ChromaOf(luma, true);
    cr = ChromaOf(luma, false);
    planes.cb = cb;
    planes.cr = cr;
  }
  std::vector<JpegInput> inputs;
  for (const int quality : options.qualities.empty() ? std::vector<int>{kQuality} : options.qualities) {
    writer.quality = quality;
    GLINT_ASSIGN_OR_RETURN(auto file, decode::WriteJpeg(planes, writer));
    inputs.push_back({source, quality, std::move(file)});
  }
  return inputs;
}

}  // namespace

absl::StatusOr<decode::JpegSampling> JpegSamplingNamed(const std::string& name) {
  using decode::JpegSampling;
  const std::map<std::string, JpegSampling> samplings = {{"420", JpegSampling::k420},
                                                         {"422", JpegSampling::k422},
                                                         {"440", JpegSampling::k440},
                                                         {"444", JpegSampling::k444},
                                                         {"grey", JpegSampling::kGrey}};
  const auto found = samplings.find(name);
  if (found == samplings.end()) return NotOneOfError("sampling", name, "420, 422, 440, 444, grey");
  return found->second;
}

Image RenderPicture(Shape shape) {
  constexpr struct {
    int cell, contrast;  // pixels; of 256 grey levels
  } kLayers[] = {{128, 90}, {32, 50}, {8, 50}, {3, 70}};
  constexpr int kBlock = 24, kBlockContrast = 80;  // edges
  constexpr int kGrain = 24;
  Image picture(shape.width, shape.height);
  for (int y = 0; y < shape.height; ++y) {
    uint8_t* row = picture.row(y);
    for (int x = 0; x < shape.width; ++x) {
      int sum = (Random(x / kBlock, y / kBlock, 0) - 128) * kBlockContrast + (Random(x, y, 1) - 128) * kGrain;
      for (const auto& layer : kLayers) sum += (Smooth(x, y, layer.cell) - 128) * layer.contrast;
      row[x] = static_cast<uint8_t>(std::clamp(128 + sum / 256, 0, 255));
    }
  }
  return picture;
}

absl::StatusOr<std::vector<JpegInput>> MakeJpegInputs(const JpegInputOptions& options) {
  if (!options.size.empty()) {
    if (!options.picture.empty()) return ContradictionError("size", "is of a rendered picture, and there is an image");
    GLINT_ASSIGN_OR_RETURN(const Shape shape, ParseSize(options.size));
    return Encode(options, "rendered", RenderPicture(shape));
  }
  if (options.picture.empty()) return ContradictionError("image", "no file was given, and no size to render");
  if (options.qualities.empty()) {
    auto file = ReadFile(options.picture);
    if (file.ok() && IsJpegFile(*file)) {
      if (options.sampling.has_value() || options.restart_rows.has_value()) {
        return ContradictionError(options.sampling.has_value() ? "sampling" : "restart-rows",
                                  "needs qualities: without them the file stays as it is");
      }
      return std::vector<JpegInput>{{options.picture, 0, *std::move(file)}};
    }
  }
  GLINT_ASSIGN_OR_RETURN(const Image picture, LoadPicture(options.picture));
  return Encode(options, options.picture, picture);
}

}  // namespace glint::bench
