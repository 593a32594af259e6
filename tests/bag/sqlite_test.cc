// Files of rosbag2's SQLite storage: of every age, damaged, locked, and made to do harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "bag/sqlite_reader.h"
#include "tests/bag/raw_sqlite.h"
#include "tests/bag/read_all.h"

namespace glint::bag {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAre;

std::unique_ptr<Bag> Open(const std::string& path) { return SelectAll(OpenSqlite(path)); }
std::string ErrorOf(const std::string& path) {
  const auto bag = OpenSqlite(path);
  EXPECT_TRUE(absl::IsInvalidArgument(bag.status())) << bag.status();
  return std::string(bag.status().message());
}
std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  return names;
}
std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void Overwrite(const std::string& path, int64_t offset, const std::string& bytes) {
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(offset) << bytes;
}

// 300 messages, "0" to "299", each of 1000 bytes.
std::string ManyMessages(const std::string& folder) {
  const std::string path = folder + "/many.db3";
  raw::Sqlite database(path);
  database.CreateTables(4);
  database.AddTopic(1, "/a", "pkg/msg/A");
  database.Run("BEGIN");
  for (int i = 0; i < 300; ++i) {
    std::string data = std::to_string(i);
    data.resize(1000, ' ');
    database.AddMessage(1, i, data);
  }
  database.Run("COMMIT");
  return path;
}

TEST(Sqlite, TablesOfEveryAgeAreRead) {
  const std::string folder = raw::EmptyFolder();
  for (int age = 1; age <= 4; ++age) {
    SCOPED_TRACE(age);
    const std::string path = absl::StrCat(folder, "/of age % #?", age, ".db3");
    {
      raw::Sqlite database(path);
      database.CreateTables(age);
      database.AddTopic(3, "/imu", "sensor_msgs/msg/Imu");
      database.AddTopic(5, "no slash", "sensor_msgs/Image");
      database.AddTopic(6, "/nothing", "pkg/msg/Type");
      if (age == 4) {
        database.Run(
            "INSERT INTO message_definitions(topic_type, encoding, encoded_message_definition) "
            "VALUES('sensor_msgs/msg/Imu', 'ros2msg', 'Header header'), ('pkg/msg/Type', 'unknown', '')");
      }
      database.AddMessage(3, 40, "i40");
      database.AddMessage(5, 20, "p20");
      database.AddMessage(3, 20, "i20");
      database.AddMessage(3, -5, std::string("\0i", 2));
    }
    const auto bag = Open(path);
    ASSERT_NE(bag, nullptr);
    EXPECT_EQ(bag->format(), "rosbag2 SQLite");
    ASSERT_EQ(bag->topics().size(), 3u);
    EXPECT_EQ(Text(bag->topics()[0]), age == 4 ? "/imu sensor_msgs/msg/Imu cdr ros2msg Header header 3 -5 40"
                                               : "/imu sensor_msgs/msg/Imu cdr   3 -5 40");
    EXPECT_EQ(Text(bag->topics()[1]), "no slash sensor_msgs/msg/Image cdr   1 20 20");
    EXPECT_EQ(Text(bag->topics()[2]), "/nothing pkg/msg/Type cdr   0 0 0");
    const std::vector<Seen> all = ReadAll(bag.get());
    EXPECT_THAT(Datas(all), ElementsAre(std::string("\0i", 2), "p20", "i20", "i40"));
    EXPECT_EQ(all.at(1).topic, 1);
    EXPECT_EQ(all.at(1).time_ns, 20);
    ASSERT_TRUE(bag->Select({1}).ok());
    EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("p20"));
    Message message;
    EXPECT_TRUE(absl::IsOutOfRange(bag->Next(&message)));  // and stays there
    EXPECT_THAT(bag->notes(), IsEmpty());
  }
}

TEST(Sqlite, MessagesOfATableWithoutAnIndexAreInOrder) {
  const std::string path = raw::EmptyFolder() + "/file.db3";
  {
    raw::Sqlite database(path);
    database.CreateTables(2);
    database.Run("DROP INDEX timestamp_idx");
    database.AddTopic(1, "/a", "pkg/msg/A");
    for (int i = 0; i < 5; ++i) database.AddMessage(1, 10 * (i * 3 % 5), std::to_string(i));
  }
  const auto bag = Open(path);
  ASSERT_NE(bag, nullptr);
  EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("0", "2", "4", "1", "3"));
}

TEST(Sqlite, RowsThatAreNoMessagesAreLeftOut) {
  const std::string path = raw::EmptyFolder() + "/file.db3";
  {
    raw::Sqlite database(path);
    database.CreateTables(3);
    database.AddTopic(1, "/a", "pkg/msg/A");
    database.Run(
        "INSERT INTO messages(topic_id, timestamp, data) VALUES('one', 1, X'00'), (1, 'x', X'00'), "
        "(1, 3, 'text'), (1, 4, 5)");
    database.AddMessage(2, 5, "of no topic");
    database.AddMessage(1, 6, "");
  }
  const auto bag = Open(path);
  ASSERT_NE(bag, nullptr);
  EXPECT_EQ(Text(bag->topics()[0]), "/a pkg/msg/A cdr   1 6 6");
  EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre(""));
  EXPECT_THAT(bag->notes(), UnorderedElementsAre(HasSubstr("4 rows of the table of messages are none"),
                                                 HasSubstr("does not say of which topic")));
}

TEST(Sqlite, OtherDatabasesAreRefused) {
  const std::string folder = raw::EmptyFolder();
  raw::Sqlite(folder + "/other.db3").Run("CREATE TABLE topics(id, name, type)");
  EXPECT_THAT(ErrorOf(folder + "/other.db3"), HasSubstr("without the tables topics and messages"));
  {
    // What would be computed as it is read, without end.
    raw::Sqlite database(folder + "/view.db3");
    database.CreateTables(4);
    database.AddTopic(1, "/a", "pkg/msg/A");
    database.Run(
        "DROP TABLE messages; CREATE VIEW messages AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id+1 "
        "FROM n) SELECT id, 1 AS topic_id, id AS timestamp, X'00' AS data FROM n");
  }
  EXPECT_THAT(ErrorOf(folder + "/view.db3"), HasSubstr("without the tables"));
  {
    raw::Sqlite database(folder + "/computed.db3");
    database.CreateTables(4);
    database.Run(
        "DROP TABLE messages; CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp "
        "INTEGER, data BLOB AS (zeroblob(100000000))); INSERT INTO messages(topic_id, timestamp) VALUES(1, 1)");
  }
  EXPECT_THAT(ErrorOf(folder + "/computed.db3"), HasSubstr("without the tables"));
  std::ofstream(folder + "/cut.db3") << std::string("SQLite format 3\0rest", 20);
  EXPECT_THAT(ErrorOf(folder + "/cut.db3"), HasSubstr("the file ends within its header"));
  EXPECT_TRUE(absl::IsNotFound(OpenSqlite(folder + "/none.db3").status()));
  EXPECT_FALSE(fs::exists(folder + "/none.db3"));
}

TEST(Sqlite, AWriteAheadLogIsReadWhereItIsThere) {
  const std::string folder = raw::EmptyFolder(), other = raw::EmptyFolder("without");
  {
    raw::Sqlite database(folder + "/live.db3");
    database.Run("PRAGMA journal_mode=WAL");
    database.CreateTables(4);
    database.AddTopic(1, "/a", "pkg/msg/A");
    database.AddMessage(1, 1, "in the file");
    database.Run("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA wal_autocheckpoint=0");
    database.AddMessage(1, 2, "in the log");
    const auto bag = Open(folder + "/live.db3");  // while it is written
    ASSERT_NE(bag, nullptr);
    EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("in the file", "in the log"));
    fs::copy_file(folder + "/live.db3", folder + "/dead.db3");
    fs::copy_file(folder + "/live.db3-wal", folder + "/dead.db3-wal");
    fs::copy_file(folder + "/live.db3", other + "/alone.db3");
  }
  const auto dead = Open(folder + "/dead.db3");  // as a recorder that died leaves it
  ASSERT_NE(dead, nullptr);
  EXPECT_THAT(Datas(ReadAll(dead.get())), ElementsAre("in the file", "in the log"));
  const auto alone = Open(other + "/alone.db3");
  ASSERT_NE(alone, nullptr);
  EXPECT_THAT(Datas(ReadAll(alone.get())), ElementsAre("in the file"));
  EXPECT_THAT(NamesIn(other), ElementsAre("alone.db3"));
}

TEST(Sqlite, ALockedFileIsSaidToBe) {
  const std::string path = raw::EmptyFolder() + "/file.db3";
  raw::Sqlite database(path);
  database.CreateTables(4);
  database.Run("BEGIN EXCLUSIVE");
  const auto bag = OpenSqlite(path);
  EXPECT_TRUE(absl::IsUnavailable(bag.status())) << bag.status();
  EXPECT_THAT(std::string(bag.status().message()), HasSubstr("locked"));
}

TEST(Sqlite, WhatIsWholeOfACutFileIsRead) {
  const std::string path = ManyMessages(raw::EmptyFolder());
  fs::resize_file(path, fs::file_size(path) / 2);
  const auto bag = Open(path);
  ASSERT_NE(bag, nullptr);
  const std::vector<Seen> all = ReadAll(bag.get());
  EXPECT_GT(all.size(), 100u);
  EXPECT_LT(all.size(), 160u);
  EXPECT_EQ(static_cast<int64_t>(all.size()), bag->topics()[0].messages);
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(all[i].data.substr(0, 4), (std::to_string(i) + "    ").substr(0, 4));
  EXPECT_THAT(bag->notes(), ElementsAre(HasSubstr("cut off at byte"),
                                        AllOf(HasSubstr("nothing is read behind it"),
                                              HasSubstr(absl::StrCat("the table of messages is damaged from row ",
                                                                     all.size() + 1, " on: ")))));
}

// Pages of the table that are overwritten: rows behind each are read on, and the numbers of those that are lost said.
TEST(Sqlite, RowsBehindDamageAreRead) {
  const std::string path = ManyMessages(raw::EmptyFolder());
  const int64_t page = raw::Sqlite(path).Number("PRAGMA page_size");
  std::string bytes = BytesOf(path);
  const auto damage = [&](const std::string& message) {
    const std::string data = message + std::string(900, ' ');
    size_t at = bytes.find(data);
    while (absl::ascii_isdigit(static_cast<unsigned char>(bytes[at - 1]))) at = bytes.find(data, at + 1);
    Overwrite(path, static_cast<int64_t>(at) / page * page, std::string(16, '\xff'));
  };
  for (const char* message : {"0", "100", "109", "200"}) damage(message);
  const auto bag = Open(path);
  ASSERT_NE(bag, nullptr);
  std::vector<int> lost;
  int expected = 0;
  for (const Seen& seen : ReadAll(bag.get())) {
    for (; expected < seen.time_ns; ++expected) lost.push_back(expected);
    EXPECT_EQ(std::stoi(seen.data), seen.time_ns);
    ++expected;
  }
  EXPECT_EQ(expected, 300);
  EXPECT_EQ(bag->topics()[0].messages, 300 - static_cast<int64_t>(lost.size()));
  EXPECT_THAT(lost, IsSupersetOf({0, 100, 109, 200}));
  EXPECT_LE(lost.size(), 4u * 4);  // of pages of 4096 bytes
  std::vector<std::string> notes;  // rows are numbered from 1
  for (const auto& [message, from] : {std::pair(0, 0), std::pair(100, 1), std::pair(109, 1), std::pair(200, 1)}) {
    int first = message, last = message;
    while (std::count(lost.begin(), lost.end(), first - 1) > 0) --first;
    while (std::count(lost.begin(), lost.end(), last + 1) > 0) ++last;
    notes.push_back(absl::StrCat("damaged from row ", first + from,
                                 " on: SQLite: database disk image is malformed; read on from row ", last + 2));
  }
  EXPECT_THAT(bag->notes(),
              ElementsAre(HasSubstr(notes[0]), HasSubstr(notes[1]), HasSubstr(notes[2]), HasSubstr(notes[3])));
}

// A row whose number is damaged costs itself, and those of its page that are not found for it.
TEST(Sqlite, ARowOfAWrongNumberIsPassedOver) {
  const std::string path = ManyMessages(raw::EmptyFolder());
  const size_t data = BytesOf(path).find("150" + std::string(900, ' '));
  const size_t number = BytesOf(path).rfind("\x81\x17", data);  // 151
  ASSERT_LT(data - number, 16u);
  Overwrite(path, static_cast<int64_t>(number), "\xff");  // 16279
  const auto bag = Open(path);
  ASSERT_NE(bag, nullptr);
  const std::vector<Seen> all = ReadAll(bag.get());
  EXPECT_GE(all.size(), 296u);
  EXPECT_LT(all.size(), 300u);
  EXPECT_EQ(all.back().time_ns, 299);
  EXPECT_THAT(bag->notes(), Contains(HasSubstr(absl::StrCat(300 - all.size(), " messages are lost"))));
}

// A page within the table's tree, by which most of its pages are found.
TEST(Sqlite, WithoutTheTablesRootNothingIsRead) {
  const std::string path = ManyMessages(raw::EmptyFolder());
  const int64_t root = raw::Sqlite(path).Number("SELECT rootpage FROM sqlite_master WHERE name='messages'");
  Overwrite(path, (root - 1) * raw::Sqlite(path).Number("PRAGMA page_size"), std::string(16, '\xff'));
  const auto bag = Open(path);
  ASSERT_NE(bag, nullptr);
  EXPECT_THAT(ReadAll(bag.get()), IsEmpty());
  EXPECT_THAT(bag->notes(), ElementsAre(HasSubstr("the table of messages is damaged from row 0 on: ")));
}

// Data of several pages, some of them beyond the cut; a page that is cut itself has rows that are none.
TEST(Sqlite, ACutFileCountsWhatCanBeRead) {
  const std::string folder = raw::EmptyFolder(), path = folder + "/whole.db3", cut = folder + "/cut.db3";
  {
    raw::Sqlite database(path);
    database.CreateTables(3);
    database.AddTopic(1, "/a", "pkg/msg/A");
    for (int i = 0; i < 60; ++i)
      database.AddMessage(1, i, std::string(static_cast<size_t>(i * 37 % 5 * 2000 + 9), 'x'));
  }
  size_t last = 0;
  int opened = 0;
  for (uintmax_t size = 20000; size < fs::file_size(path); size += 1000) {
    SCOPED_TRACE(size);
    fs::copy_file(path, cut, fs::copy_options::overwrite_existing);
    fs::resize_file(cut, size);
    auto bag = OpenSqlite(cut);
    if (!bag.ok()) continue;
    ++opened;
    const std::unique_ptr<Bag> all = SelectAll(*std::move(bag));
    const size_t read = ReadAll(all.get()).size();
    EXPECT_EQ(all->topics().at(0).messages, static_cast<int64_t>(read));
    EXPECT_GE(read, last);
    last = read;
    EXPECT_THAT(all->notes(), Contains(HasSubstr("cut off at byte")));
  }
  EXPECT_GT(opened, 200);
  EXPECT_GT(last, 55u);
}

TEST(Sqlite, ADamagedIndexIsDoneWithout) {
  const std::string path = ManyMessages(raw::EmptyFolder());
  const int64_t page = raw::Sqlite(path).Number("SELECT rootpage FROM sqlite_master WHERE name='timestamp_idx'");
  Overwrite(path, (page - 1) * raw::Sqlite(path).Number("PRAGMA page_size"), std::string(100, '\xff'));
  const auto bag = Open(path);
  ASSERT_NE(bag, nullptr);
  const std::vector<Seen> all = ReadAll(bag.get());
  ASSERT_EQ(all.size(), 300u);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].time_ns, static_cast<int64_t>(i));
  EXPECT_THAT(bag->notes(), ElementsAre(HasSubstr("the index of times is damaged")));
}

TEST(Sqlite, AnIndexWithoutSomeMessagesIsNoted) {
  const std::string path = raw::EmptyFolder() + "/file.db3";
  {
    raw::Sqlite database(path);
    database.CreateTables(4);
    database.AddTopic(1, "/a", "pkg/msg/A");
    database.AddMessage(1, 1, "one");
    database.AddMessage(1, 2, "two");
    database.Run("DROP INDEX timestamp_idx; CREATE INDEX timestamp_idx ON messages(timestamp) WHERE timestamp>1");
    database.Run(
        "PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql='CREATE INDEX timestamp_idx ON "
        "messages(timestamp)' WHERE name='timestamp_idx'");
  }
  const auto bag = Open(path);
  ASSERT_NE(bag, nullptr);
  EXPECT_EQ(bag->topics()[0].messages, 2);
  EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("two"));
  EXPECT_THAT(bag->notes(), ElementsAre(HasSubstr("1 messages are lost")));
}

}  // namespace
}  // namespace glint::bag
