// Running a test at every SIMD target of this build and this processor.
#ifndef GLINT_TESTS_CPU_SIMD_H_
#define GLINT_TESTS_CPU_SIMD_H_

#include <cstdlib>
#include <string>
#include <vector>

#include "cpu/stages.h"
#include "gtest/gtest.h"

namespace glint::testing {

inline std::vector<std::string> TargetNames() {
  std::vector<std::string> names;
  for (const int64_t target : cpu::SimdTargets()) names.push_back(cpu::SimdTargetName(target));
  return names;
}

// Sets GLINT_SIMD while it lives. Not thread-safe.
class ForcedSimd {
 public:
  explicit ForcedSimd(const std::string& name) { setenv("GLINT_SIMD", name.c_str(), 1); }
  ~ForcedSimd() { unsetenv("GLINT_SIMD"); }
};

inline std::string ParamName(const ::testing::TestParamInfo<std::string>& info) { return info.param; }

}  // namespace glint::testing

#endif  // GLINT_TESTS_CPU_SIMD_H_
