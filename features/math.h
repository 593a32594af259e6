// Per-pixel and per-keypoint arithmetic that every backend shares, so that reference, CPU and CUDA run the same text.
// Each function states its source, most of them a function of OpenCV 4.6 that it equals bit for bit; tests/conformance
// shows it. All of it needs floating-point contraction off (-ffp-contract=off, --fmad=false) and round to nearest, ties
// to even. Pure functions: thread-safe.
#ifndef GLINT_FEATURES_MATH_H_
#define GLINT_FEATURES_MATH_H_

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define GLINT_HD __host__ __device__
#else
#define GLINT_HD
#endif

namespace glint {

GLINT_HD inline int Min(int a, int b) { return a < b ? a : b; }
GLINT_HD inline int Max(int a, int b) { return a < b ? b : a; }
GLINT_HD inline int Clamp(int v, int low, int high) { return Min(Max(v, low), high); }

// cvRound: to the nearest integer, halves to the even one. |v| < 2^22.
GLINT_HD inline int RoundHalfEven(float v) {
  // Adding 1.5 * 2^23 leaves no fraction bits: the addition itself rounds, and the sum's low bits are the integer.
  constexpr float kMagic = 12582912.0f;
  return static_cast<int>((v + kMagic) - kMagic);
}

// Index into 0..n-1 for any i: the line mirrored at its first and last element, which are not repeated
// (cv::BORDER_REFLECT_101). n >= 1.
GLINT_HD inline int Reflect101(int i, int n) {
  if (n == 1) return 0;
  while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
  return i;
}

// ---- colour

// cv::cvtColor, COLOR_RGB2GRAY and its kin on 8 bits: 0.299, 0.587, 0.114 in 15 fraction bits, rounded.
GLINT_HD inline uint8_t GrayFromRgb(uint8_t r, uint8_t g, uint8_t b) {
  return static_cast<uint8_t>((r * 9798 + g * 19235 + b * 3735 + (1 << 14)) >> 15);
}

// ---- pyramid: cv::resize, INTER_LINEAR_EXACT, to the same size or smaller

// Output pixel i of an axis mixes input pixels `at` (weight 256 - next_weight) and at + 1 (weight next_weight). When
// next_weight is 0, at + 1 may not exist and must not be read.
struct ResizeTap {
  int at = 0;
  int next_weight = 0;  // 0..256
};

// to <= from. Divisions and products are IEEE doubles, as OpenCV's softdouble.
GLINT_HD inline ResizeTap MakeResizeTap(int i, int from, int to) {
  const double step = 1.0 / (static_cast<double>(to) / static_cast<double>(from));
  const double position = step * (i + 0.5) - 0.5;
  const double cell = floor(position);
  ResizeTap tap;
  tap.at = static_cast<int>(cell);
  if (tap.at < 0) return {0, 0};
  if (tap.at >= from - 1) return {from - 1, 0};
  // Halves to even, by the addition of 1.5 * 2^52.
  constexpr double kMagic = 6755399441055744.0;
  tap.next_weight = static_cast<int>((256.0 * (position - cell) + kMagic) - kMagic);
  return tap;
}

// Row pass, 0..65280.
GLINT_HD inline int ResizeRow(int next_weight, uint8_t at, uint8_t next) {
  return (256 - next_weight) * at + next_weight * next;
}
// Column pass over two results of the row pass.
GLINT_HD inline uint8_t ResizeColumn(int next_weight, int at, int next) {
  return static_cast<uint8_t>(((256 - next_weight) * at + next_weight * next + (1 << 15)) >> 16);
}

// A level of half the size (Pyramid::kHalf): the mean of 2x2 pixels, halves up.
GLINT_HD inline uint8_t MeanOfFour(int a, int b, int c, int d) {
  return static_cast<uint8_t>((a + b + c + d + 2) >> 2);
}

// Where pixel `at` of an axis of a level with this scale lies in the image, whose axis has `size` pixels.
GLINT_HD inline int ImagePosition(int at, float scale, int size) {
  return Min(RoundHalfEven(static_cast<float>(at) * scale), size - 1);
}

// A mask's levels hold only 255 and 0: what interpolation made smaller is cut (cv::threshold 254, THRESH_TOZERO).
GLINT_HD inline uint8_t CutMask(uint8_t v) { return v == 255 ? 255 : 0; }

// ---- FAST (Rosten, Drummond 2006), ring of 16 pixels at radius 3

constexpr int kFastRadius = 3;

// Offset of ring pixel i, 0..15, clockwise in image coordinates from the one below the centre.
GLINT_HD inline int FastRingX(int i) {
  constexpr signed char kX[16] = {0, 1, 2, 3, 3, 3, 2, 1, 0, -1, -2, -3, -3, -3, -2, -1};
  return kX[i];
}
GLINT_HD inline int FastRingY(int i) { return FastRingX((i + 4) & 15); }

// The largest t for which `arc` contiguous pixels of the ring are all > centre + t or all < centre - t; below 0 if
// there is none. The pixel is a corner at threshold t iff score >= t, and the score is cv::FAST's response.
GLINT_HD inline int FastScore(int centre, const uint8_t ring[16], int arc) {
  int brightest = 0;  // max over arcs of the arc's minimum
  int darkest = 255;  // min over arcs of the arc's maximum
  for (int first = 0; first < 16; ++first) {
    int low = 255;
    int high = 0;
    for (int i = 0; i < arc; ++i) {
      const int p = ring[(first + i) & 15];
      low = Min(low, p);
      high = Max(high, p);
    }
    brightest = Max(brightest, low);
    darkest = Min(darkest, high);
  }
  return Max(brightest - centre, centre - darkest) - 1;
}

// ---- Harris measure (cv::ORB's HarrisResponses)

constexpr int kHarrisBlock = 7;                      // pixels, side of the window of gradients
constexpr int kHarrisRadius = kHarrisBlock / 2 + 1;  // pixels read around the corner: window and 3x3 Sobel

// The fourth power of what cv::cornerHarris scales derivatives by: 3x3 Sobel, `block` pixels a side, 8 bits.
GLINT_HD inline float HarrisScale4(int block) {
  const float scale = 1.0f / (4 * block * 255.0f);
  return scale * scale * scale * scale;
}

// From the window's sums of Ix*Ix, Iy*Iy and Ix*Iy, where Ix and Iy are unscaled 3x3 Sobel derivatives; or those sums
// rounded to floats.
GLINT_HD inline float HarrisResponse(float a, float b, float c, float k, float scale4) {
  return (a * b - c * c - k * (a + b) * (a + b)) * scale4;
}
GLINT_HD inline float HarrisResponse(int xx, int yy, int xy, float k, float scale4) {
  return HarrisResponse(static_cast<float>(xx), static_cast<float>(yy), static_cast<float>(xy), k, scale4);
}

// As cv::ORB has it.
GLINT_HD inline float HarrisResponse(int xx, int yy, int xy) {
  constexpr float kScale = 1.0f / (4 * kHarrisBlock * 255.0f);
  constexpr float kScale4 = kScale * kScale * kScale * kScale;
  return HarrisResponse(xx, yy, xy, 0.04f, kScale4);
}

// ---- orientation

// cv::fastAtan2: degrees in [0, 360], within 0.3 degrees of the true angle; 0 for (0, 0).
GLINT_HD inline float FastAtan2(float y, float x) {
  constexpr float kP1 = 0x1.ca44dep+5f;
  constexpr float kP3 = -0x1.2aaddcp+4f;
  constexpr float kP5 = 0x1.1d3f7ep+3f;
  constexpr float kP7 = -0x1.4515b2p+1f;
  constexpr float kEpsilon = 0x1p-52f;
  const float ax = fabsf(x);
  const float ay = fabsf(y);
  const float small = ax < ay ? ax : ay;
  const float large = ax < ay ? ay : ax;
  const float c = small / (large + kEpsilon);
  const float c2 = c * c;
  float angle = (((kP7 * c2 + kP5) * c2 + kP3) * c2 + kP1) * c;
  if (ax < ay) angle = 90.0f - angle;
  if (x < 0) angle = 180.0f - angle;
  if (y < 0) angle = 360.0f - angle;
  return angle;
}

// ---- steered BRIEF

struct SinCos {
  float sin;
  float cos;
};

// Sine and cosine of `degrees` in [0, 360] as cv::ORB steers with them: the angle in float radians, then what glibc's
// sincosf gives, which is not always the nearest float. Its method, in plain double: the angle less the nearest
// multiple of pi/2, odd and even minimax polynomials of degree 7 and 8 on [-pi/4, pi/4], rounded once at the end.
// tests/conformance compares all floats of the range.
GLINT_HD inline SinCos SteeringSinCos(float degrees) {
  constexpr float kRadians = 0x1.1df46ap-6f;  // (float)(pi / 180)
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kHalfPi = 0x1.921fb54442d18p0;
  const double angle = degrees * kRadians;
  const int quadrant =
      static_cast<int>(angle * kTwoOverPi + 0.5);  // NOLINT(bugprone-incorrect-roundings): not negative
  const double x = angle - quadrant * kHalfPi;
  const double x2 = x * x;
  const double x3 = x * x2;
  const double x4 = x2 * x2;
  const double odd = (x - 0x1.555545995a603p-3 * x3) + x3 * x2 * (0x1.1107605230bc4p-7 - 0x1.994eb3774cf24p-13 * x2);
  const double even = ((1.0 - 0x1.ffffffd0c621cp-2 * x2) + 0x1.55553e1068f19p-5 * x4) +
                      x4 * x2 * (0x1.99343027bf8c3p-16 * x2 - 0x1.6c087e89a359dp-10);
  const float s = static_cast<float>(odd);
  const float c = static_cast<float>(even);
  switch (quadrant & 3) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}

// Where a point of the BRIEF pattern falls, relative to the keypoint, once turned.
GLINT_HD inline int SteeredX(int x, int y, SinCos r) { return RoundHalfEven(x * r.cos - y * r.sin); }
GLINT_HD inline int SteeredY(int x, int y, SinCos r) { return RoundHalfEven(x * r.sin + y * r.cos); }

// ---- Gaussian 7x7, sigma 2, as cv::GaussianBlur computes it on a sub-matrix with AVX2 and FMA: in float, row then
// column. On a whole matrix it is another function (8-bit fixed point) that differs by 1 in some pixels; ORB's levels
// are sub-matrices. The kernel is symmetric: weight i of 0..6 is kGaussian[i < 4 ? i : 6 - i].

constexpr int kGaussianRadius = 3;

GLINT_HD inline float GaussianWeight(int i) {
  constexpr float kWeight[4] = {0x1.1f5f62p-4f, 0x1.0c70fcp-3f, 0x1.869472p-3f, 0x1.ba95cp-3f};
  return kWeight[i < 4 ? i : 6 - i];
}

// p[i * step], i = 0..6: seven pixels of a row, left to right.
GLINT_HD inline float GaussianRow(const uint8_t* p, int step = 1) {
  float sum = GaussianWeight(0) * static_cast<float>(p[0]);
  for (int i = 1; i < 7; ++i) sum = fmaf(GaussianWeight(i), static_cast<float>(p[i * step]), sum);
  return sum;
}

// r[i * step], i = 0..6: seven results of GaussianRow, top to bottom.
GLINT_HD inline uint8_t GaussianColumn(const float* r, int step = 1) {
  float sum = GaussianWeight(3) * r[3 * step];
  for (int k = 1; k < 4; ++k) sum = fmaf(GaussianWeight(3 + k), r[(3 + k) * step] + r[(3 - k) * step], sum);
  return static_cast<uint8_t>(Clamp(RoundHalfEven(sum), 0, 255));
}

// ---- the same blur of a whole matrix: in 8 fraction bits, both passes exact, rounded once at the end (ORB-SLAM2,
// which blurs a copy of each level). Symmetric as above; the weights add up to 256.

GLINT_HD inline int FixedGaussianWeight(int i) {
  constexpr unsigned char kWeight[4] = {18, 34, 48, 56};
  return kWeight[i < 4 ? i : 6 - i];
}

// p[i * step], i = 0..6: seven pixels of a row, left to right. 0..65280.
GLINT_HD inline int FixedGaussianRow(const uint8_t* p, int step = 1) {
  int sum = 0;
  for (int i = 0; i < 7; ++i) sum += FixedGaussianWeight(i) * p[i * step];
  return sum;
}

// r[i * step], i = 0..6: seven results of FixedGaussianRow, top to bottom.
GLINT_HD inline uint8_t FixedGaussianColumn(const int* r, int step = 1) {
  int sum = 1 << 15;
  for (int i = 0; i < 7; ++i) sum += FixedGaussianWeight(i) * r[i * step];
  return static_cast<uint8_t>(sum >> 16);
}

}  // namespace glint

#endif  // GLINT_FEATURES_MATH_H_
