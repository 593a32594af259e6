// The grey of a Bayer mosaic, vectorised. Thread-safe.
#ifndef GLINT_DECODE_BAYER_H_
#define GLINT_DECODE_BAYER_H_

#include <cstdint>

namespace glint::decode {

// cv::cvtColor(COLOR_BayerRGGB2GRAY) of OpenCV 4.6 on 8 bits, bit for bit. Colours are the means of the nearest
// samples, grey is (4899 R + 9617 G + 1868 B) / 2^14; the outermost pixels repeat their inner neighbours. It rounds in
// one of two ways, by column: OpenCV's vector code, which works on 14 columns at a time, cuts every product down to 16
// bits (and lets the highest bit of two samples slip into a sum); what is right of its last 14, and rows too short for
// it, are rounded to nearest. Both are reproduced, so that a picture has the same grey as in a program of OpenCV's.

// Columns first .. first + count - 1 of the grey of row `y`, 1 .. height - 2, of a mosaic whose row 0 begins with red.
// `above`, `row` and `below` are rows y - 1, y and y + 1 of `width` >= 3 samples.
void BayerRow(const uint8_t* above, const uint8_t* row, const uint8_t* below, int y, int width, int first, int count,
              uint8_t* gray);

}  // namespace glint::decode

#endif  // GLINT_DECODE_BAYER_H_
