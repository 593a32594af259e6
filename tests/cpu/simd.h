// Running a test at every SIMD target that this build has and this processor can run.
#ifndef GLINT_TESTS_CPU_SIMD_H_
#define GLINT_TESTS_CPU_SIMD_H_

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "cpu/common/stages.h"
#include "cpu/pipeline.h"
#include "gtest/gtest.h"

namespace glint::testing {

inline std::vector<std::string> TargetNames() {
  std::vector<std::string> names;
  for (const int64_t target : cpu::SimdTargets()) names.emplace_back(cpu::SimdTargetName(target));
  return names;
}

// Sets GLINT_SIMD while it lives, and puts back what it was. Not thread-safe.
class ForcedSimd {
 public:
  explicit ForcedSimd(const std::string& name) {
    const char* before = std::getenv(kName);
    was_set_ = before != nullptr;
    if (was_set_) before_ = before;
    setenv(kName, name.c_str(), 1);
  }
  ~ForcedSimd() {
    if (was_set_) {
      setenv(kName, before_.c_str(), 1);
    } else {
      unsetenv(kName);
    }
  }
  ForcedSimd(const ForcedSimd&) = delete;
  ForcedSimd& operator=(const ForcedSimd&) = delete;

 private:
  static constexpr char kName[] = "GLINT_SIMD";
  bool was_set_ = false;
  std::string before_;
};

// The parameter is the name of a target.
class SimdTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<cpu::Pipeline> MakePipeline(int threads = 1) const {
    const ForcedSimd forced(GetParam());
    return std::make_unique<cpu::Pipeline>(threads);
  }
  cpu::Stages MakeStages() const {
    const ForcedSimd forced(GetParam());
    return cpu::StagesFor(cpu::BestSimdTarget());
  }
};

inline std::string ParamName(const ::testing::TestParamInfo<std::string>& info) { return info.param; }

}  // namespace glint::testing

#endif  // GLINT_TESTS_CPU_SIMD_H_
