// Calibrations of several files.
#ifndef GLINT_TESTS_CALIBRATION_WRITTEN_FILES_H_
#define GLINT_TESTS_CALIBRATION_WRITTEN_FILES_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "calibration/calibration.h"
#include "calibration/formats/format.h"

namespace glint::testing {

// What `files` say together, given in their order.
inline absl::StatusOr<calibration::Calibration> ReadTogether(const std::vector<calibration::NamedText>& files,
                                                             const calibration::ReadOptions& options = {}) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) /
      absl::StrCat("calibration-", getpid(), "-", test->test_suite_name(), "-", test->name());
  std::filesystem::create_directories(folder);
  std::vector<std::string> paths;
  for (const calibration::NamedText& file : files) {
    paths.push_back((folder / file.name).string());
    std::ofstream(paths.back()) << file.text;
  }
  auto read = calibration::ReadCalibration(paths, options);
  std::filesystem::remove_all(folder);
  return read;
}

}  // namespace glint::testing

#endif  // GLINT_TESTS_CALIBRATION_WRITTEN_FILES_H_
