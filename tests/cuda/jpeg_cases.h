// Random JPEG files, written by libjpeg, and what decode/ makes of them.
#ifndef GLINT_TESTS_CUDA_JPEG_CASES_H_
#define GLINT_TESTS_CUDA_JPEG_CASES_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "cuda/jpeg/jpeg_plan.h"
#include "decode/decode.h"
#include "features/types.h"

namespace glint::cuda {

struct JpegCase {
  Shape shape = {1, 1};
  int columns = 0, rows = 0;  // sampling of luma, 0: grey
  int quality = 90;
  bool optimised = false;
  int restart_units = 0;
  bool with_tables = true;  // else without Huffman tables, as frames of motion JPEG
  bool progressive = false;
  int noise = 0;  // amplitude over smooth waves
  uint32_t seed = 0;

  std::string Name() const;
};

// Sides of 1..max_side, every kind that the device decodes.
JpegCase RandomCase(std::mt19937* random, int max_side);
std::vector<uint8_t> WriteJpeg(const JpegCase& spec);
// Changes, removes, adds or repeats bytes, most often of the scan.
void Damage(std::mt19937* random, std::vector<uint8_t>* file);

// By libjpeg, as a server does.
struct Expected {
  absl::Status inspected;  // the header's
  absl::Status decoded;
  Image luma;
};
Expected DecodeByLibjpeg(decode::Decoder* decoder, const std::vector<uint8_t>& file);

// The first difference in words, or empty.
std::string Difference(const ImageView& wanted, const ImageView& found);

// From an environment variable, or else `otherwise`.
int CountFrom(const char* variable, int otherwise);

}  // namespace glint::cuda

#endif  // GLINT_TESTS_CUDA_JPEG_CASES_H_
