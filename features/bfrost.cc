#include "features/bfrost.h"

#include <cmath>

namespace glint {
namespace {

// cos(step * 11.25 degrees). Literals, because libraries differ in the last bit and roundings follow.
double StepCos(int step) {
  constexpr double kFirstQuadrant[9] = {1.0,
                                        0.98078528040323044913,
                                        0.92387953251128675613,
                                        0.83146961230254523708,
                                        0.70710678118654752440,
                                        0.55557023301960222474,
                                        0.38268343236508977173,
                                        0.19509032201612826785,
                                        0.0};
  step = step % 32;
  if (step > 16) step = 32 - step;
  return step <= 8 ? kFirstQuadrant[step] : -kFirstQuadrant[16 - step];
}
double StepSin(int step) { return StepCos(step + 24); }

int16_t Round(double v) { return static_cast<int16_t>(std::lrint(v)); }

}  // namespace

BfrostPattern MakeBfrostPattern(float scale) {
  constexpr double kPi = 3.14159265358979323846;
  BfrostPattern pattern;
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < kBfrostRegions; ++i) {
      const double r = static_cast<double>(scale) * (4 << (i % kBfrostCircles));
      const int step = 2 * (i / kBfrostCircles) + half;
      pattern.regions[half][i] = {Round(r * StepCos(step)), Round(r * StepSin(step)), Round(kPi * r / 8)};
    }
  }
  return pattern;
}

}  // namespace glint
