// A root folder with limits of control groups, for what takes a prefix of /proc and /sys.
#ifndef GLINT_TESTS_SUPPORT_LIMITS_ROOT_H_
#define GLINT_TESTS_SUPPORT_LIMITS_ROOT_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace glint::testing {

// With `groups` as /proc/self/cgroup. One at a time.
class LimitsRoot {
 public:
  explicit LimitsRoot(const std::string& groups)
      : path_(absl::StrCat(::testing::TempDir(), "glint-limits-", getpid())) {
    std::filesystem::remove_all(path_);
    Write("/proc/self/cgroup", groups);
  }
  ~LimitsRoot() { std::filesystem::remove_all(path_); }
  LimitsRoot(const LimitsRoot&) = delete;
  LimitsRoot& operator=(const LimitsRoot&) = delete;

  void Write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = path_ + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

}  // namespace glint::testing

#endif  // GLINT_TESTS_SUPPORT_LIMITS_ROOT_H_
