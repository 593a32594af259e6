// Which files are recordings, told by their content.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/bag/raw_mcap.h"
#include "tests/bag/raw_ros1.h"
#include "tests/bag/raw_sqlite.h"
#include "tests/bag/read_all.h"

namespace glint::bag {
namespace {

using ::testing::HasSubstr;

TEST(Bag, FormatsAreKnownByTheirContent) {
  const std::string folder = raw::EmptyFolder();
  raw::Options options;
  options.compression = "zstd";
  std::ofstream(folder + "/a.bin") << raw::Write(options, {{1, 5, "mcap"}}).Close();
  raw::Ros1Bag ros1;
  ros1.Connect(0, "/a", "pkg/A");
  ros1.AddChunk({{0, 5, "ros1"}});
  std::ofstream(folder + "/b.bin") << ros1.Closed();
  {
    raw::Sqlite database(folder + "/c.bin");
    database.CreateTables(4);
    database.AddTopic(1, "/a", "pkg/msg/A");
    database.AddMessage(1, 5, "sqlite");
  }
  struct Case {
    const char *name, *format, *data;
  };
  for (const Case& expected : {Case{"/a.bin", "MCAP", "mcap"}, Case{"/b.bin", "ROS 1 bag", "ros1"},
                               Case{"/c.bin", "rosbag2 SQLite", "sqlite"}}) {
    const auto bag = Bag::Open(folder + expected.name);
    ASSERT_TRUE(bag.ok()) << bag.status();
    EXPECT_EQ((*bag)->format(), expected.format);
    EXPECT_EQ((*bag)->topics().at(0).name, "/a");
    ASSERT_TRUE((*bag)->Select({0}).ok());
    EXPECT_EQ(Datas(ReadAll(bag->get())), std::vector<std::string>({expected.data}));
    EXPECT_TRUE((*bag)->notes().empty());
  }
}

TEST(Bag, WhatIsNoRecordingIsRefused) {
  const std::string folder = raw::EmptyFolder();
  const std::string path = folder + "/file";
  const auto error = [&] { return Bag::Open(path).status(); };
  EXPECT_TRUE(absl::IsNotFound(error()));
  EXPECT_THAT(std::string(error().message()), HasSubstr(path));
  for (const char* text : {"", "P5 some picture", "#ROSBAG", "SQLite format 4"}) {
    std::ofstream(path) << text;
    EXPECT_TRUE(absl::IsInvalidArgument(error())) << text;
    EXPECT_THAT(std::string(error().message()), HasSubstr("MCAP, rosbag2 (a folder, .db3, .mcap) and bags of ROS 1"));
  }
  std::ofstream(path) << "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
  EXPECT_THAT(std::string(error().message()), HasSubstr("a pointer of Git LFS"));
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);  // that nobody writes to
  EXPECT_TRUE(absl::IsInvalidArgument(error()));
  EXPECT_THAT(std::string(error().message()), HasSubstr("no regular file"));
}

}  // namespace
}  // namespace glint::bag
