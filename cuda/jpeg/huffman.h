// Huffman tables of JPEG: as files have them, and as look-ups. Pure functions.
#ifndef GLINT_CUDA_JPEG_HUFFMAN_H_
#define GLINT_CUDA_JPEG_HUFFMAN_H_

#include <cstdint>

#include "cuda/jpeg/jpeg_plan.h"

namespace glint::cuda {

struct HuffmanTable {
  uint8_t counts[16];    // of codes of 1..16 bits
  uint8_t symbols[256];  // in the order of their codes
};

enum class HuffmanClass { kDc, kAc };

// The tables of ITU T.81, annex K.3: `index` 0 for luma, 1 for chroma.
const HuffmanTable& StandardTable(HuffmanClass table_class, int index);

// Fills look-up `to` of `tables`, of which those below it are filled. false: no code of T.81, or more long codes than
// the look-ups hold.
bool MakeLookup(const HuffmanTable& table, HuffmanClass table_class, int to, JpegTables* tables);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_JPEG_HUFFMAN_H_
