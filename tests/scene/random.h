// Numbers that look random and are the same everywhere: PCG-RXS-M-XS with 32 bits of state (O'Neill 2014).
#ifndef GLINT_TESTS_SCENE_RANDOM_H_
#define GLINT_TESTS_SCENE_RANDOM_H_

#include <cstdint>

namespace glint::scene {

inline uint32_t Hash(uint32_t x) {
  x = x * 747796405u + 2891336453u;
  x = ((x >> ((x >> 28) + 4)) ^ x) * 277803737u;
  return (x >> 22) ^ x;
}

// About normal with deviation 1: four bytes added up.
inline double Normal(uint32_t index, uint32_t seed) {
  const uint32_t word = Hash(index ^ Hash(seed));
  const auto sum = static_cast<int>((word & 255) + (word >> 8 & 255) + (word >> 16 & 255) + (word >> 24));
  return (sum - 510) / 147.8;
}

// One call per expression: arguments are evaluated in no fixed order.
class Random {
 public:
  explicit Random(uint32_t seed) : state_(Hash(seed)) {}
  // Uniform in low..high (the bias of the modulus is below 2^-16 for the small ranges used here).
  int Between(int low, int high) {
    state_ = state_ * 747796405u + 2891336453u;
    const uint32_t word = ((state_ >> ((state_ >> 28) + 4)) ^ state_) * 277803737u;
    return low + static_cast<int>(((word >> 22) ^ word) % static_cast<uint32_t>(high - low + 1));
  }
  // In steps of 1/1000 of the range.
  double Real(double low, double high) { return low + (high - low) * Between(0, 1000) / 1000; }

 private:
  uint32_t state_;
};

}  // namespace glint::scene

#endif  // GLINT_TESTS_SCENE_RANDOM_H_
