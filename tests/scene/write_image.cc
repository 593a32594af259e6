#include "tests/scene/write_image.h"

#include <spng.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace glint::scene {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
struct FreeContext {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};

// Writes `head`, then `count` rows of `bytes` bytes each, row i from row(i).
template <typename Row>
absl::Status WriteRows(const std::string& path, const std::string& head, int count, size_t bytes, Row row) {
  std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "wb"));
  if (file == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot be written"));
  bool good = std::fwrite(head.data(), 1, head.size(), file.get()) == head.size();
  for (int i = 0; good && i < count; ++i) good = std::fwrite(row(i), 1, bytes, file.get()) == bytes;
  if (std::fclose(file.release()) != 0 || !good) {
    return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot be written"));
  }
  return absl::OkStatus();
}

// A PNG file; the bytes of each row are those of `rows`, samples of 16 bits with the upper byte first.
absl::Status Encode(const std::string& path, spng_ihdr header, const ImageView& rows) {
  std::unique_ptr<spng_ctx, FreeContext> context(spng_ctx_new(SPNG_CTX_ENCODER));
  if (context == nullptr) return absl::InternalError(absl::StrCat(path, ": no memory to encode"));
  spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1);
  spng_set_option(context.get(), SPNG_IMG_COMPRESSION_LEVEL, 3);
  int error = spng_set_ihdr(context.get(), &header);
  if (error == 0) {
    error = spng_encode_image(context.get(), nullptr, 0, SPNG_FMT_RAW, SPNG_ENCODE_PROGRESSIVE | SPNG_ENCODE_FINALIZE);
  }
  // The encoder says SPNG_EOI after the last row.
  for (int y = 0; error == 0 && y < rows.height; ++y) {
    error = spng_encode_row(context.get(), rows.row(y), static_cast<size_t>(rows.width));
  }
  if (error != SPNG_EOI) return absl::InternalError(absl::StrCat(path, ": PNG encoder: ", spng_strerror(error)));
  size_t bytes = 0;
  const std::unique_ptr<void, void (*)(void*)> png(spng_get_png_buffer(context.get(), &bytes, &error), std::free);
  if (png == nullptr) return absl::InternalError(absl::StrCat(path, ": PNG encoder: ", spng_strerror(error)));
  return WriteRows(path, "", 1, bytes, [&](int) { return png.get(); });
}

}  // namespace

absl::Status WritePng(const std::string& path, const ImageView& image, int channels) {
  spng_ihdr header = {};
  header.width = static_cast<uint32_t>(image.width / channels);
  header.height = static_cast<uint32_t>(image.height);
  header.bit_depth = 8;
  header.color_type = channels == 1 ? SPNG_COLOR_TYPE_GRAYSCALE : SPNG_COLOR_TYPE_TRUECOLOR;
  return Encode(path, header, image);
}

absl::Status WriteDepthPng(const std::string& path, const DepthImage& depth) {
  spng_ihdr header = {};
  header.width = static_cast<uint32_t>(depth.shape.width);
  header.height = static_cast<uint32_t>(depth.shape.height);
  header.bit_depth = 16;
  header.color_type = SPNG_COLOR_TYPE_GRAYSCALE;
  std::vector<uint8_t> upper_first = depth.bytes;
  for (size_t i = 0; i + 1 < upper_first.size(); i += 2) std::swap(upper_first[i], upper_first[i + 1]);
  const int bytes = 2 * depth.shape.width;
  return Encode(path, header, {upper_first.data(), bytes, depth.shape.height, bytes});
}

absl::Status WritePnm(const std::string& path, const ImageView& image, int channels) {
  const std::string head =
      absl::StrCat(channels == 1 ? "P5" : "P6", "\n", image.width / channels, " ", image.height, "\n255\n");
  return WriteRows(path, head, image.height, static_cast<size_t>(image.width), [&](int y) { return image.row(y); });
}

absl::Status WritePfm(const std::string& path, const std::vector<float>& values, Shape shape) {
  const std::string head = absl::StrCat("Pf\n", shape.width, " ", shape.height, "\n-1.0\n");
  return WriteRows(path, head, shape.height, sizeof(float) * static_cast<size_t>(shape.width), [&](int row) {
    return &values[static_cast<size_t>(shape.height - 1 - row) * static_cast<size_t>(shape.width)];
  });
}

absl::Status WriteText(const std::string& path, const std::string& text) {
  return WriteRows(path, text, 0, 0, [](int) { return nullptr; });
}

}  // namespace glint::scene
