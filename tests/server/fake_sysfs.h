// A folder that stands for /sys.
#ifndef GLINT_TESTS_SERVER_FAKE_SYSFS_H_
#define GLINT_TESTS_SERVER_FAKE_SYSFS_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace glint {

class Sysfs {
 public:
  Sysfs() : root_(absl::StrCat(::testing::TempDir(), "glint-sysfs-", getpid())) {}
  ~Sysfs() { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  const std::string& root() const { return root_; }

 private:
  const std::string root_;
};

}  // namespace glint

#endif  // GLINT_TESTS_SERVER_FAKE_SYSFS_H_
