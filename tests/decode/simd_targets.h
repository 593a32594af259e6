// Tests of vectorised code at each of its instruction sets.
#ifndef GLINT_TESTS_DECODE_SIMD_TARGETS_H_
#define GLINT_TESTS_DECODE_SIMD_TARGETS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "hwy/highway.h"

namespace glint::decode::testing {

// Runs with every SIMD target that this build and this processor have.
class AtEverySimdTarget : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { Use(GetParam()); }
  void TearDown() override { Use(0); }

 private:
  static void Use(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

inline std::vector<int64_t> SimdTargets() {
  std::vector<int64_t> targets;
  for (int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1)
    targets.push_back(left & -left);
  return targets;
}

}  // namespace glint::decode::testing

#endif  // GLINT_TESTS_DECODE_SIMD_TARGETS_H_
