// Files that are read as a whole, and what cannot be.
#include "features/read_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace glint {
namespace {

TEST(ReadFileTest, HasAllBytesOrTheReason) {
  const std::string path = absl::StrCat(::testing::TempDir(), "read_file_test.", getpid());
  const std::string bytes = std::string(9999, 'x') + std::string("\0\n\xff", 3);
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_EQ(ReadWholeFile(path).value(), bytes);
  std::ofstream(path, std::ios::trunc).flush();
  EXPECT_EQ(ReadWholeFile(path).value(), "");
  unlink(path.c_str());
  EXPECT_EQ(ReadWholeFile(path).status().message(), "cannot read " + path + ": No such file or directory");
  EXPECT_EQ(ReadWholeFile("/").status().message(), "cannot read /: Is a directory");
}

TEST(ReadFileTest, TakesPipes) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "token", 5), 5);
  close(ends[1]);
  EXPECT_EQ(ReadWholeFile(absl::StrCat("/dev/fd/", ends[0])).value(), "token");
  close(ends[0]);
}

}  // namespace
}  // namespace glint
