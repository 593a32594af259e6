#include "tests/decode/files.h"

#include <jpeglib.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace glint::decode::testing {
namespace {

constexpr uint8_t kGuard = 0xa5;

void Append(Bytes* to, const Bytes& more) { to->insert(to->end(), more.begin(), more.end()); }

void AppendBigEndian(Bytes* to, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) to->push_back(static_cast<uint8_t>(value >> shift));
}

int Samples(int colour_type) {
  switch (colour_type) {
    case 2:
      return 3;
    case 4:
      return 2;
    case 6:
      return 4;
    default:
      return 1;
  }
}

int Paeth(int left, int up, int corner) {
  const int p = left + up - corner;
  const int dl = std::abs(p - left), du = std::abs(p - up), dc = std::abs(p - corner);
  return dl <= du && dl <= dc ? left : du <= dc ? up : corner;
}

// The rows of one pass with a filter each, as they go into the compressed stream.
void AppendPass(const PngSpec& spec, int width, int height, std::mt19937* random, Bytes* stream) {
  if (width == 0 || height == 0) return;
  const int bits = Samples(spec.colour_type) * spec.depth;
  const int pixel = std::max(1, bits / 8);
  const int row_bytes = (width * bits + 7) / 8;
  Bytes up(static_cast<size_t>(row_bytes), 0), row(up);
  for (int y = 0; y < height; ++y) {
    for (auto& byte : row) {
      byte = static_cast<uint8_t>((*random)());
      if (spec.colour_type == 3) {  // every index of the byte below palette_entries
        int packed = 0;
        for (int b = 0; b < 8; b += spec.depth) {
          packed |= static_cast<int>((*random)() % static_cast<unsigned>(spec.palette_entries)) << b;
        }
        byte = static_cast<uint8_t>(packed);
      }
    }
    const int filter = y % 5;
    stream->push_back(static_cast<uint8_t>(filter));
    for (int i = 0; i < row_bytes; ++i) {
      const int left = i >= pixel ? row[i - pixel] : 0;
      const int above = up[i];
      const int corner = i >= pixel ? up[i - pixel] : 0;
      const int guess[] = {0, left, above, (left + above) / 2, Paeth(left, above, corner)};
      stream->push_back(static_cast<uint8_t>(row[i] - guess[filter]));
    }
    up = row;
  }
}

}  // namespace

Bytes RandomBytes(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(count);
  for (auto& b : bytes) b = static_cast<uint8_t>(random());
  return bytes;
}

Bytes Picture(int width, int height, int channels, uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes;
  bytes.reserve(static_cast<size_t>(width) * height * channels);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const double wave =
            128 + 90 * std::sin(0.11 * x + c) * std::cos(0.07 * y - c) + static_cast<int>(random() % 21);
        bytes.push_back(static_cast<uint8_t>(std::clamp(wave, 0.0, 255.0)));
      }
    }
  }
  return bytes;
}

Bytes PngChunk(const std::string& type, const Bytes& data) {
  Bytes chunk;
  AppendBigEndian(&chunk, static_cast<uint32_t>(data.size()));
  Append(&chunk, Bytes(type.begin(), type.end()));
  Append(&chunk, data);
  AppendBigEndian(&chunk, static_cast<uint32_t>(crc32(0, chunk.data() + 4, static_cast<uInt>(chunk.size() - 4))));
  return chunk;
}

Bytes Deflate(const Bytes& data) {
  uLongf size = compressBound(data.size());
  Bytes packed(size);
  if (compress(packed.data(), &size, data.data(), data.size()) != Z_OK) std::abort();
  packed.resize(size);
  return packed;
}

Bytes WritePng(const PngSpec& spec, uint32_t seed) {
  std::mt19937 random(seed);
  Bytes header;
  AppendBigEndian(&header, static_cast<uint32_t>(spec.width));
  AppendBigEndian(&header, static_cast<uint32_t>(spec.height));
  for (int v : {spec.depth, spec.colour_type, 0, 0, spec.interlaced ? 1 : 0}) header.push_back(static_cast<uint8_t>(v));

  Bytes stream;
  if (spec.interlaced) {
    constexpr int kPasses[7][4] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                   {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};  // x, y, step in x, step in y
    for (const auto& p : kPasses) {
      const int width = (spec.width - p[0] + p[2] - 1) / p[2];
      const int height = (spec.height - p[1] + p[3] - 1) / p[3];
      AppendPass(spec, std::max(width, 0), std::max(height, 0), &random, &stream);
    }
  } else {
    AppendPass(spec, spec.width, spec.height, &random, &stream);
  }

  Bytes file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  Append(&file, PngChunk("IHDR", header));
  if (spec.palette_entries > 0) {
    Append(&file, PngChunk("PLTE", RandomBytes(3 * static_cast<size_t>(spec.palette_entries), seed + 1)));
    Append(&file, PngChunk("tRNS", RandomBytes(static_cast<size_t>(spec.palette_entries), seed + 2)));
  }
  Append(&file, PngChunk("IDAT", Deflate(stream)));
  Append(&file, PngChunk("IEND", {}));
  return file;
}

Bytes WriteJpegWithScans(int width, int height, int repeats) {
  jpeg_compress_struct info;
  jpeg_error_mgr error;
  info.err = jpeg_std_error(&error);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): libjpeg's type
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_scan_info scans[3] = {};
  for (int c = 0; c < 3; ++c) {
    scans[c].comps_in_scan = 1;
    scans[c].component_index[0] = c;
    scans[c].Se = 63;
  }
  info.scan_info = scans;
  info.num_scans = 3;
  jpeg_start_compress(&info, TRUE);
  Bytes pixels = Picture(width, height, 3, 5);
  for (int y = 0; y < height; ++y) {
    JSAMPROW row = pixels.data() + static_cast<size_t>(y) * width * 3;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  Bytes file(memory, memory + size);
  std::free(memory);

  // The last scan: from its start marker to the end marker.
  size_t start = file.size() - 2;
  while (!(file[start] == 0xff && file[start + 1] == 0xda)) --start;
  const Bytes scan(file.begin() + static_cast<ptrdiff_t>(start), file.end() - 2);
  file.resize(file.size() - 2);
  for (int i = 1; i < repeats; ++i) Append(&file, scan);
  Append(&file, {0xff, 0xd9});
  return file;
}

Bytes WriteJpegOf(const JpegSpec& spec) {
  const bool has_inks = spec.components != JpegComponents::kRgb;
  const int channels = has_inks ? 4 : 3;
  jpeg_compress_struct info;
  jpeg_error_mgr error;
  info.err = jpeg_std_error(&error);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): libjpeg's type
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(spec.width);
  info.image_height = static_cast<JDIMENSION>(spec.height);
  info.input_components = channels;
  info.in_color_space = has_inks ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, !has_inks ? JCS_RGB : spec.components == JpegComponents::kCmyk ? JCS_CMYK : JCS_YCCK);
  info.write_Adobe_marker = spec.adobe_marker ? TRUE : FALSE;
  info.restart_in_rows = spec.restart_rows;
  if (spec.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  Bytes pixels = Picture(spec.width, spec.height, channels, 9);
  for (int y = 0; y < spec.height; ++y) {
    JSAMPROW row = pixels.data() + static_cast<size_t>(y) * static_cast<size_t>(spec.width * channels);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  Bytes file(memory, memory + size);
  std::free(memory);
  return file;
}

std::vector<absl::Span<const uint8_t>> Cut(absl::Span<const uint8_t> bytes, size_t size) {
  std::vector<absl::Span<const uint8_t>> pieces(1);
  for (size_t at = 0; at < bytes.size(); at += size) pieces.push_back(bytes.subspan(at, size));
  return pieces;
}

GuardedImage::GuardedImage(Shape shape, int gap)
    : shape_(shape),
      stride_(static_cast<size_t>(shape.width + gap)),
      size_(stride_ * static_cast<size_t>(shape.height) - static_cast<size_t>(gap)),
      memory_(new uint8_t[size_]) {
  std::fill_n(memory_.get(), size_, kGuard);
}

Destination GuardedImage::destination() { return {memory_.get(), shape_, static_cast<ptrdiff_t>(stride_)}; }

Bytes GuardedImage::pixels() const {
  Bytes pixels;
  for (int y = 0; y < shape_.height; ++y) {
    const uint8_t* row = memory_.get() + static_cast<size_t>(y) * stride_;
    pixels.insert(pixels.end(), row, row + shape_.width);
  }
  return pixels;
}

bool GuardedImage::guards_intact() const {
  for (size_t i = 0; i < size_; ++i) {
    if (i % stride_ >= static_cast<size_t>(shape_.width) && memory_[i] != kGuard) return false;
  }
  return true;
}

Decoded Decode(Decoder* decoder, Encoding encoding, const Bytes& file, int64_t max_pixels) {
  const std::unique_ptr<uint8_t[]> exact(new uint8_t[file.size()]);
  std::copy(file.begin(), file.end(), exact.get());
  const absl::Span<const uint8_t> bytes(exact.get(), file.size());
  const auto shape = decoder->Inspect(encoding, bytes, max_pixels);
  if (!shape.ok()) return {shape.status(), {}, {}};
  GuardedImage image(*shape, 5);
  absl::Status status = decoder->DecodeInto(encoding, bytes, image.destination());
  if (!image.guards_intact()) status = absl::InternalError("bytes between rows were overwritten");
  return {status, *shape, image.pixels()};
}

}  // namespace glint::decode::testing
