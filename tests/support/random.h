// Random numbers that are the same on every machine (the standard's distributions are not).
#ifndef GLINT_TESTS_SUPPORT_RANDOM_H_
#define GLINT_TESTS_SUPPORT_RANDOM_H_

#include <cstdint>
#include <random>

namespace glint::testing {

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}

  uint32_t Bits() { return engine_(); }
  // low..high, both included.
  int Uniform(int low, int high) { return low + static_cast<int>(Bits() % static_cast<uint32_t>(high - low + 1)); }
  float Uniform(float low, float high) { return low + (high - low) * static_cast<float>(Bits() >> 8) * 0x1p-24f; }
  bool OneIn(int n) { return Uniform(1, n) == 1; }

 private:
  std::mt19937 engine_;
};

}  // namespace glint::testing

#endif  // GLINT_TESTS_SUPPORT_RANDOM_H_
