// Files of rosbag2's SQLite storage, made by SQLite.
#ifndef GLINT_TESTS_BAG_RAW_SQLITE_H_
#define GLINT_TESTS_BAG_RAW_SQLITE_H_

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace glint::bag::raw {

// A folder of this test, which is empty.
inline std::string EmptyFolder(const std::string& name = "folder") {
  const std::string path =
      absl::StrCat(testing::TempDir(), "/", testing::UnitTest::GetInstance()->current_test_info()->test_suite_name(),
                   ".", testing::UnitTest::GetInstance()->current_test_info()->name(), ".", name);
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

class Sqlite {
 public:
  explicit Sqlite(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &database_), SQLITE_OK);
    Run("PRAGMA synchronous=OFF");  // no wait for the disk
  }
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;
  ~Sqlite() { sqlite3_close(database_); }

  void Run(const std::string& sql) {
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error << ": " << sql;
    sqlite3_free(error);
  }
  int64_t Number(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
    const int64_t number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
  }
  // Tables as rosbag2 has made them from its `age` on: 1 to 4.
  void CreateTables(int age) {
    const std::string hash = age >= 4 ? ", type_description_hash TEXT NOT NULL DEFAULT 'h'" : "";
    if (age >= 3) {
      Run("CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);"
          "CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL, metadata TEXT NOT NULL)");
    }
    Run(absl::StrCat("CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL",
                     ", serialization_format TEXT NOT NULL DEFAULT 'cdr'",
                     age >= 2 ? ", offered_qos_profiles TEXT NOT NULL DEFAULT '- history: 3'" : "", hash, ")"));
    if (age >= 4) {
      Run("CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL, encoding TEXT NOT NULL, "
          "encoded_message_definition TEXT NOT NULL, type_description_hash TEXT NOT NULL DEFAULT 'h')");
    }
    Run("CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL, "
        "data BLOB NOT NULL); CREATE INDEX timestamp_idx ON messages (timestamp ASC)");
  }
  void AddTopic(int id, const std::string& name, const std::string& type) {
    Run(absl::StrCat("INSERT INTO topics(id, name, type) VALUES(", id, ", '", name, "', '", type, "')"));
  }
  void AddMessage(int topic, int64_t time_ns, const std::string& data) {
    Run(absl::StrCat("INSERT INTO messages(topic_id, timestamp, data) VALUES(", topic, ", ", time_ns, ", X'",
                     absl::BytesToHexString(data), "')"));
  }

 private:
  sqlite3* database_ = nullptr;
};

}  // namespace glint::bag::raw

#endif  // GLINT_TESTS_BAG_RAW_SQLITE_H_
