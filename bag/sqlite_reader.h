// Files of rosbag2's SQLite storage (NAME.db3), of all ages of its tables.
#ifndef GLINT_BAG_SQLITE_READER_H_
#define GLINT_BAG_SQLITE_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "bag/bag.h"
#include "bag/database.h"
#include "bag/reader.h"

namespace glint::bag {

// NOT_FOUND; INVALID_ARGUMENT: no recording of rosbag2, or nothing of it can be read; UNAVAILABLE: locked by the
// program that writes it; INTERNAL: any other error of the system.
absl::StatusOr<std::unique_ptr<Bag>> OpenSqlite(const std::string& path);

class SqliteReader : public Reader {
 public:
  absl::Status Survey(const std::string& path);
  std::string format() const override { return "rosbag2 SQLite"; }
  absl::Status Select(absl::Span<const int> topics) override;
  absl::Status Next(Message* message) override;

 private:
  absl::Status ReadTopics();
  absl::Status CountMessages();
  absl::Status CountRange();
  std::optional<int64_t> FindReadableRow(int64_t from);
  absl::Status Query();
  bool CheckSize(int64_t bytes);
  int TopicOf(int64_t id);

  std::unique_ptr<Database> database_;
  std::map<int64_t, int> topic_of_id_;
  // Rows of the table one after another up to the end or to one that is damaged.
  struct Range {
    int64_t first_row = 0, rows = 0;
  };
  std::vector<Range> ranges_;  // of a table that is damaged; empty: it is whole
  // By CountMessages(): rows that are in order, and what they have.
  std::optional<int64_t> last_row_, row_before_;
  int64_t bytes_ = 0, bad_rows_ = 0, without_data_ = 0;

  std::optional<Rows> rows_;
  std::optional<Blobs> blobs_;
  size_t range_ = 0;                           // of ranges_
  bool is_begun_ = false, is_sorted_ = false;  // whether a row was read; without the index of times
  int64_t time_ns_ = 0, row_ = 0;              // of the last row
  std::vector<uint8_t> data_;
};

}  // namespace glint::bag

#endif  // GLINT_BAG_SQLITE_READER_H_
