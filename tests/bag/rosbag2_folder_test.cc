// Folders of rosbag2: several files, what is missing of them, compressed files and messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bag/compression.h"
#include "tests/bag/raw_sqlite.h"
#include "tests/bag/read_all.h"

namespace glint::bag {
namespace {

namespace fs = std::filesystem;

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::unique_ptr<Bag> Open(const std::string& path) { return SelectAll(Bag::Open(path)); }
std::string ErrorOf(const std::string& path) {
  const auto bag = Bag::Open(path);
  EXPECT_TRUE(absl::IsInvalidArgument(bag.status())) << bag.status();
  return std::string(bag.status().message());
}

struct Timed {
  int64_t time_ns;
  std::string data;
};

// A file with the topic "/a" and, if `more`, another one before it.
void WriteFile(const std::string& path, const std::vector<Timed>& messages, bool more = false) {
  raw::Sqlite database(path);
  database.CreateTables(3);
  if (more) database.AddTopic(1, "/more", "pkg/msg/More");
  database.AddTopic(2, "/a", "pkg/msg/A");
  for (const Timed& message : messages) database.AddMessage(2, message.time_ns, message.data);
}
void WriteMetadata(const std::string& folder, const std::vector<std::string>& files, const std::string& rest = "") {
  std::ofstream out(folder + "/metadata.yaml");
  out << "rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: sqlite3\n  relative_file_paths:\n";
  for (const std::string& file : files) out << "    - " << file << "\n";
  out << "  topics_with_message_count:\n    - topic_metadata:\n        name: /a\n        offered_qos_profiles: \"- "
         "history: 3\\n  depth: 0\"\n      message_count: 3\n"
      << rest;
}
std::string Compressed(const std::string& data) {
  std::vector<uint8_t> out;
  EXPECT_TRUE(CompressZstd({reinterpret_cast<const uint8_t*>(data.data()), data.size()}, &out).ok());
  return {out.begin(), out.end()};
}
std::string Contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Rosbag2Folder, FilesAreOneRecordingWhoseTopicsAreJoined) {
  const std::string folder = raw::EmptyFolder();
  WriteFile(folder + "/b_0.db3", {{1, "one"}, {2, "two"}});
  WriteFile(folder + "/b_1.db3", {{3, "three"}}, true);
  WriteMetadata(folder, {"b_0.db3", "b_1.db3"}, "  message_count: 3\n");
  const auto bag = Open(folder);
  ASSERT_NE(bag, nullptr);
  EXPECT_EQ(bag->format(), "rosbag2 SQLite");
  ASSERT_EQ(bag->topics().size(), 2u);
  EXPECT_EQ(Text(bag->topics()[0]), "/a pkg/msg/A cdr   3 1 3");
  EXPECT_EQ(Text(bag->topics()[1]), "/more pkg/msg/More cdr   0 0 0");
  for (const Seen& seen : ReadAll(bag.get())) EXPECT_EQ(seen.topic, 0);
  ASSERT_TRUE(bag->Select({0}).ok());
  EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("one", "two", "three"));
  EXPECT_THAT(bag->notes(), IsEmpty());
}

TEST(Rosbag2Folder, FilesWhoseTimesOverlapAreMerged) {
  const std::string folder = raw::EmptyFolder();
  WriteFile(folder + "/b_0.db3", {{1, "1"}, {4, "4"}, {6, "6"}});
  WriteFile(folder + "/b_1.db3", {{2, "2"}, {4, "4'"}, {9, "9"}});
  WriteFile(folder + "/b_2.db3", {{3, "3"}, {5, "5"}});
  WriteMetadata(folder, {"b_0.db3", "b_1.db3", "b_2.db3"});
  const auto bag = Open(folder);
  ASSERT_NE(bag, nullptr);
  EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("1", "2", "3", "4", "4'", "5", "6", "9"));
  EXPECT_THAT(bag->notes(), IsEmpty());
}

TEST(Rosbag2Folder, FilesAreFoundWithoutMetadataInTheOrderOfTheirNumbers) {
  const std::string folder = raw::EmptyFolder();
  std::vector<std::string> expected;
  for (int i = 0; i < 12; ++i) {
    expected.push_back(std::to_string(i));
    WriteFile(absl::StrCat(folder, "/b_", i, ".db3"), {{7, expected.back()}});  // all at one time
  }
  std::ofstream(folder + "/notes.txt") << "text";
  const auto bag = Open(folder);
  ASSERT_NE(bag, nullptr);
  EXPECT_EQ(bag->topics().at(0).messages, 12);
  EXPECT_THAT(bag->notes(), ElementsAre("metadata.yaml is not used: it is not there"));
  EXPECT_EQ(ReadAll(bag.get()).size(), 12u);
  EXPECT_THAT(bag->notes(), Contains(HasSubstr("more than 4 files are of the same time")));
  // One after the other they are read in the order of their names, twice.
  for (int i = 0; i < 12; ++i) {
    fs::remove(absl::StrCat(folder, "/b_", i, ".db3"));
    WriteFile(absl::StrCat(folder, "/b_", i, ".db3"), {{i, expected[static_cast<size_t>(i)]}});
  }
  const auto again = Open(folder);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(Datas(ReadAll(again.get())), expected);
  ASSERT_TRUE(again->Select({0}).ok());
  EXPECT_EQ(Datas(ReadAll(again.get())), expected);
  EXPECT_EQ(again->notes().size(), 1u);
}

TEST(Rosbag2Folder, WhatIsMissingOrDamagedIsNotedAndTheRestIsRead) {
  const std::string folder = raw::EmptyFolder();
  WriteFile(folder + "/b_1.db3", {{1, "one"}});
  std::ofstream(folder + "/b_2.db3") << "nothing";
  WriteMetadata(folder, {"b_0.db3", "b_1.db3", "b_2.db3", "b_3.db3"}, "  message_count: 9\n");
  const auto bag = Open(folder);
  ASSERT_NE(bag, nullptr);
  EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("one"));
  EXPECT_THAT(bag->notes(),
              ElementsAre(HasSubstr("b_2.db3: no recording that is known"), "files are missing: b_0.db3, b_3.db3",
                          "metadata.yaml says 9 messages, and 1 are there"));
  fs::remove(folder + "/b_1.db3");
  EXPECT_THAT(ErrorOf(folder), HasSubstr("nothing can be read: files are missing: b_0.db3, b_1.db3, b_3.db3"));
  EXPECT_THAT(ErrorOf(raw::EmptyFolder("empty")), HasSubstr("no folder of rosbag2"));
}

// As a recorder that died leaves it.
TEST(Rosbag2Folder, FilesOfTheSameRowThatMetadataDoesNotNameAreRead) {
  const std::string folder = raw::EmptyFolder();
  for (int i = 8; i < 12; ++i) WriteFile(absl::StrCat(folder, "/b_", i, ".db3"), {{i, std::to_string(i)}});
  for (const char* other : {"/c_9.db3", "/b.db3", "/b_9 copy.db3", "/b_13.mcap"})
    WriteFile(folder + other, {{1, "other"}});
  WriteMetadata(folder, {"b_8.db3", "b_9.db3.zstd"}, "  message_count: 2\n");
  const auto bag = Open(folder);
  ASSERT_NE(bag, nullptr);
  EXPECT_EQ(bag->topics().at(0).messages, 4);
  EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("8", "9", "10", "11"));
  EXPECT_THAT(bag->notes(),
              ElementsAre("metadata.yaml does not name files of the same row, which are read: b_10.db3, b_11.db3"));
}

TEST(Rosbag2Folder, RenamedFilesAreRead) {
  const std::string folder = raw::EmptyFolder();
  WriteFile(folder + "/drive.db3", {{1, "one"}});
  WriteMetadata(folder, {"rosbag2_2024_0.db3"}, "  message_count: 1\n");
  const auto bag = Open(folder);
  ASSERT_NE(bag, nullptr);
  EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("one"));
  EXPECT_THAT(bag->notes(), ElementsAre("files that metadata.yaml does not name are read: drive.db3",
                                        "files are missing: rosbag2_2024_0.db3"));
}

TEST(Rosbag2Folder, TopicsWithoutMessagesMayBeInMetadataAlone) {
  const std::string folder = raw::EmptyFolder();
  WriteFile(folder + "/b_0.db3", {{1, "one"}});
  const auto topic = [](const std::string& name, const std::string& type) {
    return absl::StrCat("    - topic_metadata: {name: ", name, ", type: ", type, ", serialization_format: cdr}\n");
  };
  std::ofstream(folder + "/metadata.yaml") << "rosbag2_bagfile_information:\n  relative_file_paths: [b_0.db3]\n"
                                           << "  topics_with_message_count:\n"
                                           << topic("/a", "pkg/msg/Other") << topic("/none", "pkg/None")
                                           << topic("/none", "pkg/None") << topic("''", "pkg/msg/A") << "    - [x]\n"
                                           << topic("/more", "pkg/msg/More");
  const auto bag = Open(folder);
  ASSERT_NE(bag, nullptr);
  ASSERT_EQ(bag->topics().size(), 3u);
  EXPECT_EQ(Text(bag->topics()[0]), "/a pkg/msg/A cdr   1 1 1");
  EXPECT_EQ(Text(bag->topics()[1]), "/none pkg/msg/None cdr   0 0 0");
  EXPECT_EQ(Text(bag->topics()[2]), "/more pkg/msg/More cdr   0 0 0");
  EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("one"));
  EXPECT_THAT(bag->notes(), IsEmpty());
}

TEST(Rosbag2Folder, FilesAreLookedForInTheFolderAlone) {
  const std::string folder = raw::EmptyFolder(), other = raw::EmptyFolder("other");
  WriteFile(folder + "/b_0.db3", {{1, "right"}});
  WriteFile(other + "/b_0.db3", {{1, "wrong"}});
  WriteFile(other + "/c_0.db3", {{1, "wrong"}});
  WriteMetadata(folder, {"renamed/b_0.db3", other + "/c_0.db3", "'../Rosbag2Folder.other/c_0.db3'"});
  const auto bag = Open(folder);
  ASSERT_NE(bag, nullptr);
  EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("right"));
  EXPECT_THAT(bag->notes(), ElementsAre("files are missing: c_0.db3, c_0.db3"));
}

TEST(Rosbag2Folder, DamagedMetadataIsDoneWithout) {
  const std::string folder = raw::EmptyFolder();
  WriteFile(folder + "/b_0.db3", {{1, "one"}});
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c <= 'z'; ++c) {
    bomb += absl::StrCat(std::string(1, c), ": &", std::string(1, c), " [");
    for (int i = 0; i < 8; ++i) absl::StrAppend(&bomb, "*", std::string(1, static_cast<char>(c - 1)), ", ");
    bomb += "]\n";
  }
  const std::string name = "rosbag2_bagfile_information";
  for (const std::string& text :
       {std::string("nothing"), name + ": {}", name + ": {relative_file_paths: {}}",
        name + ": {relative_file_paths: []}", name + ": {relative_file_paths: [[]]}",
        name + ": {relative_file_paths: ['..']}", name + ": [", name + ": &x\n  relative_file_paths: *x\n",
        std::string(100000, '['), std::string(100000, '{'), std::string(2 << 20, ' '), std::string("\0\xff", 2),
        bomb}) {
    SCOPED_TRACE(text.substr(0, 60));
    std::ofstream(folder + "/metadata.yaml") << text;
    const auto bag = Open(folder);
    ASSERT_NE(bag, nullptr);
    EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("one"));
    EXPECT_THAT(bag->notes(), ElementsAre(HasSubstr("metadata.yaml is not used: ")));
  }
}

TEST(Rosbag2Folder, CompressedMessagesAreDecompressed) {
  const std::string folder = raw::EmptyFolder();
  const std::string first = std::string("\0\1\0\0first", 9), second = std::string("\0\1\0\0second", 10);
  WriteFile(folder + "/b_0.db3",
            {{1, Compressed(first)}, {2, Compressed(first).substr(0, 12)}, {3, Compressed(second)}});
  WriteMetadata(folder, {"b_0.db3"}, "  compression_format: zstd\n  compression_mode: MESSAGE\n");
  for (const std::string& path : {folder, folder + "/b_0.db3"}) {
    const auto bag = Open(path);
    ASSERT_NE(bag, nullptr);
    EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre(first, second));
    EXPECT_THAT(bag->notes(), ElementsAre(HasSubstr("a compressed message is damaged: zstd")));
  }
  WriteMetadata(folder, {"b_0.db3"}, "  compression_format: lz4\n  compression_mode: message\n");
  EXPECT_THAT(ErrorOf(folder), HasSubstr("compression_format: \"lz4\" is not one of zstd"));
  WriteMetadata(folder, {"b_0.db3"}, "  compression_format: \"\"\n  compression_mode: \"NONE\"\n");
  EXPECT_NE(Open(folder), nullptr);
}

class Rosbag2Compressed : public ::testing::Test {
 protected:
  Rosbag2Compressed() : folder_(raw::EmptyFolder()), temporary_(raw::EmptyFolder("temporary")) {
    setenv("TMPDIR", temporary_.c_str(), 1);
  }
  ~Rosbag2Compressed() override {
    EXPECT_TRUE(fs::is_empty(temporary_));
    unsetenv("TMPDIR");
  }
  const std::string folder_, temporary_;
};

TEST_F(Rosbag2Compressed, FilesAreDecompressedAndLeaveNothingBehind) {
  WriteFile(folder_ + "/b_0.db3", {{1, "one"}, {2, "two"}});
  const std::string whole = Compressed(Contents(folder_ + "/b_0.db3"));
  fs::remove(folder_ + "/b_0.db3");
  std::ofstream(folder_ + "/b_0.db3.zstd") << whole;
  for (const char* listed : {"b_0.db3.zstd", "b_0.db3"}) {
    WriteMetadata(folder_, {listed}, "  compression_format: zstd\n  compression_mode: FILE\n");
    for (const std::string& path : {folder_, folder_ + "/b_0.db3.zstd"}) {
      const auto bag = Open(path);
      ASSERT_NE(bag, nullptr);
      EXPECT_TRUE(fs::is_empty(temporary_));
      EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("one", "two"));
      EXPECT_THAT(bag->notes(), IsEmpty());
    }
  }
  std::ofstream(folder_ + "/cut.zstd") << whole.substr(0, 10);
  EXPECT_THAT(ErrorOf(folder_ + "/cut.zstd"), HasSubstr(": decompressed: empty: MCAP"));
}

TEST_F(Rosbag2Compressed, SmallFilesThatBecomeLargeAreRefusedWithAWayOut) {
  const std::string path = folder_ + "/large.db3.zstd";
  std::ofstream(path) << Compressed(std::string(size_t{100} << 20, '\0'));
  EXPECT_THAT(ErrorOf(path), HasSubstr("`zstd -d` makes a file of it that can be read"));
}

}  // namespace
}  // namespace glint::bag
