// A matcher of warnings.
#ifndef GLINT_TESTS_SLAM_IS_WARNING_H_
#define GLINT_TESTS_SLAM_IS_WARNING_H_

#include <gmock/gmock.h>

#include <string>

#include "features/warning.h"

namespace glint::slam {

// With that figure, and a text that has `text` in it.
inline auto IsWarning(WarningKind kind, double figure, const std::string& unit, const std::string& text) {
  return ::testing::AllOf(::testing::Field("kind", &Warning::kind, kind),
                          ::testing::Field("figure", &Warning::figure, ::testing::DoubleEq(figure)),
                          ::testing::Field("unit", &Warning::unit, ::testing::StrEq(unit)),
                          ::testing::Field("text", &Warning::text, ::testing::HasSubstr(text)));
}

}  // namespace glint::slam

#endif  // GLINT_TESTS_SLAM_IS_WARNING_H_
