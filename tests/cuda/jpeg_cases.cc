#include "tests/cuda/jpeg_cases.h"

// jpeglib.h needs FILE and size_t, and does not include them.
#include <cstddef>
#include <cstdio>
//
#include <jpeglib.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace glint::cuda {
namespace {

int Below(std::mt19937* random, int bound) { return static_cast<int>((*random)() % static_cast<unsigned>(bound)); }

}  // namespace

std::string JpegCase::Name() const {
  return absl::StrCat(shape.width, "x", shape.height, " sampling ", columns, "x", rows, " quality ", quality,
                      optimised ? " optimised" : "", " restart ", restart_units, with_tables ? "" : " without tables",
                      progressive ? " progressive" : "", " noise ", noise, " seed ", seed);
}

JpegCase RandomCase(std::mt19937* random, int max_side) {
  JpegCase spec;
  spec.shape = {1 + Below(random, max_side), 1 + Below(random, max_side)};
  constexpr int kSamplings[][2] = {{0, 0}, {1, 1}, {2, 1}, {1, 2}, {2, 2}};
  const auto& sampling = kSamplings[Below(random, 5)];
  spec.columns = sampling[0];
  spec.rows = sampling[1];
  spec.quality = 1 + Below(random, 100);
  spec.optimised = Below(random, 3) == 0;
  spec.with_tables = spec.optimised || Below(random, 4) != 0;
  constexpr int kRestarts[] = {0, 0, 0, 1, 2, 7, 40, 1000};
  spec.restart_units = kRestarts[Below(random, 8)];
  constexpr int kNoises[] = {0, 4, 30, 255};
  spec.noise = kNoises[Below(random, 4)];
  spec.seed = static_cast<uint32_t>((*random)());
  return spec;
}

std::vector<uint8_t> WriteJpeg(const JpegCase& spec) {
  jpeg_compress_struct info;
  jpeg_error_mgr error;
  info.err = jpeg_std_error(&error);
  error.emit_message = [](j_common_ptr, int) {};
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): libjpeg's type
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(spec.shape.width);
  info.image_height = static_cast<JDIMENSION>(spec.shape.height);
  const bool grey = spec.columns == 0;
  info.input_components = grey ? 1 : 3;
  info.in_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, spec.quality, spec.seed % 2 == 0 ? TRUE : FALSE);
  info.optimize_coding = spec.optimised ? TRUE : FALSE;
  info.restart_interval = static_cast<unsigned>(spec.restart_units);
  if (!grey) {
    info.comp_info[0].h_samp_factor = spec.columns;
    info.comp_info[0].v_samp_factor = spec.rows;
  }
  if (spec.progressive) jpeg_simple_progression(&info);
  if (!spec.with_tables) {
    for (int i = 0; i < 2; ++i) info.dc_huff_tbl_ptrs[i]->sent_table = info.ac_huff_tbl_ptrs[i]->sent_table = TRUE;
  }
  jpeg_start_compress(&info, spec.with_tables ? TRUE : FALSE);
  std::mt19937 random(spec.seed);
  std::vector<uint8_t> row(static_cast<size_t>(spec.shape.width) * 3);
  const double step = 0.02 + 0.3 * (spec.seed % 17) / 17;
  for (int y = 0; y < spec.shape.height; ++y) {
    const size_t samples = static_cast<size_t>(spec.shape.width) * static_cast<size_t>(info.input_components);
    for (size_t i = 0; i < samples; ++i) {
      const double x = static_cast<double>(i) / info.input_components;
      const double wave = 128 + 90 * std::sin(step * x + static_cast<double>(i % 3)) * std::cos(step * 0.7 * y);
      const int noise = spec.noise == 0 ? 0 : Below(&random, 2 * spec.noise + 1) - spec.noise;
      row[i] = static_cast<uint8_t>(std::clamp(static_cast<int>(wave) + noise, 0, 255));
    }
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&info, rows, 1);
  }
  jpeg_finish_compress(&info);
  std::vector<uint8_t> file(memory, memory + size);
  jpeg_destroy_compress(&info);
  std::free(memory);
  return file;
}

void Damage(std::mt19937* random, std::vector<uint8_t>* file) {
  const int changes = 1 + Below(random, 3);
  for (int c = 0; c < changes && file->size() > 4; ++c) {
    const auto size = static_cast<int>(file->size());
    int at = Below(random, size);
    if (Below(random, 4) != 0) {
      // Behind the headers, if there is anything.
      constexpr uint8_t kSos[] = {0xff, 0xda};
      const auto scan = std::search(file->begin(), file->end(), kSos, kSos + 2);
      const auto first = static_cast<int>(scan - file->begin());
      if (first < size) at = first + Below(random, size - first);
    }
    const auto place = file->begin() + at;
    switch (Below(random, 7)) {
      case 0:
        *place = static_cast<uint8_t>((*random)());
        break;
      case 1:
        *place = static_cast<uint8_t>(*place ^ 1u << Below(random, 8));
        break;
      case 2:
        file->erase(place, place + std::min(1 + Below(random, 8), size - at));
        break;
      case 3:
        file->insert(place, static_cast<size_t>(1 + Below(random, 4)), static_cast<uint8_t>((*random)()));
        break;
      case 4:
        *place = 0xff;
        break;
      case 5: {
        // A restart marker, where one may be.
        constexpr int kMarker = 2;
        if (at + kMarker > size) break;
        *place = 0xff;
        *(place + 1) = static_cast<uint8_t>(0xd0 + Below(random, 16));
        break;
      }
      default:
        if (Below(random, 4) == 0) file->resize(static_cast<size_t>(at));
        break;
    }
  }
}

Expected DecodeByLibjpeg(decode::Decoder* decoder, const std::vector<uint8_t>& file) {
  Expected expected;
  const auto shape = decoder->Inspect(decode::Encoding::kJpeg, file, kMaxImagePixels);
  expected.inspected = expected.decoded = shape.status();
  if (!shape.ok()) return expected;
  expected.luma.Resize(*shape);
  expected.decoded = decoder->DecodeInto(decode::Encoding::kJpeg, file, decode::DestinationIn(&expected.luma));
  return expected;
}

std::string Difference(const ImageView& wanted, const ImageView& found) {
  if (wanted.shape() != found.shape()) return "other shapes";
  for (int y = 0; y < wanted.height; ++y) {
    for (int x = 0; x < wanted.width; ++x) {
      if (wanted.at(x, y) == found.at(x, y)) continue;
      return absl::StrCat("(", x, ", ", y, "): ", wanted.at(x, y), " wanted, ", found.at(x, y), " found");
    }
  }
  return "";
}

int CountFrom(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

}  // namespace glint::cuda
