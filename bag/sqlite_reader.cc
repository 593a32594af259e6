#include "bag/sqlite_reader.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::bag {
namespace {

constexpr int64_t kLeastRow = 8;  // bytes of a message's row beside its data
constexpr int64_t kMostBadRows = 1000;
constexpr size_t kMostRanges = 100;  // behind damage
constexpr int64_t kMostRow = int64_t{1} << 60;
constexpr absl::string_view kEnd = "the end of the recording";

bool Has(const std::vector<std::string>& columns, std::initializer_list<absl::string_view> wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](absl::string_view name) {
    return std::find(columns.begin(), columns.end(), name) != columns.end();
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Bag>> OpenSqlite(const std::string& path) {
  auto reader = std::make_unique<SqliteReader>();
  if (const absl::Status status = reader->Survey(path); !status.ok()) return InFile(path, status);
  return reader;
}

absl::Status SqliteReader::Survey(const std::string& path) {
  GLINT_ASSIGN_OR_RETURN(database_, Database::Open(path, &notes_));
  GLINT_RETURN_IF_ERROR(ReadTopics());
  return CountMessages();
}

absl::Status SqliteReader::ReadTopics() {
  GLINT_ASSIGN_OR_RETURN(const std::vector<std::string> topics, database_->Columns("topics"));
  GLINT_ASSIGN_OR_RETURN(const std::vector<std::string> messages, database_->Columns("messages"));
  GLINT_ASSIGN_OR_RETURN(const std::vector<std::string> definitions, database_->Columns("message_definitions"));
  if (!Has(topics, {"id", "name", "type"}) || !Has(messages, {"id", "topic_id", "timestamp", "data"})) {
    return absl::InvalidArgumentError("a database without the tables topics and messages of rosbag2");
  }
  // Texts cannot be longer than the file, unless it is damaged so that rows share them.
  int64_t rows_left = 2 * kMostTopics, bytes_left = database_->bytes();
  const auto next = [&](Rows* rows) {
    if (--rows_left < 0 || bytes_left < 0) return absl::InvalidArgumentError("more than the file can have");
    return rows->Next();
  };
  const auto text = [&](const Rows& rows, int column) {
    std::string value = rows.Text(column);
    bytes_left -= static_cast<int64_t>(value.size());
    return value;
  };
  std::map<std::string, std::pair<std::string, std::string>> definition_of;  // of a type: encoding, text
  absl::Status status = absl::OutOfRangeError("none");
  if (Has(definitions, {"topic_type", "encoding", "encoded_message_definition"})) {
    GLINT_ASSIGN_OR_RETURN(Rows rows, database_->Query("SELECT topic_type, encoding, encoded_message_definition "
                                                       "FROM message_definitions"));
    for (status = next(&rows); status.ok(); status = next(&rows)) {
      definition_of[TypeName(text(rows, 0))] = {text(rows, 1), text(rows, 2)};
    }
  }
  if (!absl::IsOutOfRange(status)) Note(absl::StrCat("some definitions of types are left out: ", status.message()));

  const char* const format = Has(topics, {"serialization_format"}) ? "serialization_format" : "'cdr'";
  GLINT_ASSIGN_OR_RETURN(Rows rows,
                         database_->Query(absl::StrCat("SELECT id, name, type, ", format, " FROM topics ORDER BY id")));
  for (status = next(&rows); status.ok(); status = next(&rows)) {
    Topic topic;
    topic.name = text(rows, 1);
    topic.type = TypeName(text(rows, 2));
    topic.encoding = text(rows, 3);
    if (const auto at = definition_of.find(topic.type); at != definition_of.end() && !at->second.second.empty()) {
      std::tie(topic.definition_encoding, topic.definition) = at->second;
    }
    topic_of_id_[rows.Integer(0)] = AddTopic(std::move(topic));
  }
  if (absl::IsOutOfRange(status)) return absl::OkStatus();
  Note(absl::StrCat("some topics are left out: ", status.message()));
  return topics_.empty() ? status : absl::OkStatus();
}

// Reads the table in the order of its rows, without the data: behind damage, from the next row that can be read.
absl::Status SqliteReader::CountMessages() {
  database_->LimitRows(Database::kAnyRow);
  ranges_ = {{std::numeric_limits<int64_t>::min(), 0}};
  absl::Status status = CountRange();
  const bool is_whole = absl::IsOutOfRange(status);
  while (absl::IsInvalidArgument(status)) {
    const int64_t behind = std::min(last_row_.value_or(-1), kMostRow) + 1;
    const std::optional<int64_t> next = FindReadableRow(behind);
    const bool goes_on = next && ranges_.size() < kMostRanges;
    Note(absl::StrCat("the table of messages is damaged from row ", behind, " on: ", status.message(), "; ",
                      goes_on ? absl::StrCat("read on from row ", *next) : "nothing is read behind it"));
    if (!goes_on) break;
    ranges_.push_back({*next, 0});
    status = CountRange();
  }
  if (is_whole) ranges_.clear();
  if (without_data_ > 0) Note(absl::StrCat(without_data_, " messages are left out: their data are cut off"));
  if (bad_rows_ > 0) Note(absl::StrCat(bad_rows_, " rows of the table of messages are none, and are left out"));
  return absl::IsOutOfRange(status) || absl::IsInvalidArgument(status) ? absl::OkStatus() : status;
}

// Up to damage (INVALID_ARGUMENT), or the end (OUT_OF_RANGE).
absl::Status SqliteReader::CountRange() {
  Range& range = ranges_.back();
  // Only where types are right are values read, since a wrong one may be large.
  GLINT_ASSIGN_OR_RETURN(
      Rows rows, database_->Query(absl::StrCat("SELECT rowid, CASE typeof(topic_id) WHEN 'integer' THEN topic_id END, "
                                               "CASE typeof(timestamp) WHEN 'integer' THEN timestamp END, "
                                               "CASE typeof(data) WHEN 'blob' THEN length(data) END "
                                               "FROM messages NOT INDEXED WHERE rowid >= ",
                                               range.first_row)));
  Blobs blobs(database_.get(), "messages", "data");
  absl::Status status = rows.Next();
  for (; status.ok(); status = rows.Next()) {
    const int64_t row = rows.Integer(0), time_ns = rows.Integer(2), size = rows.Integer(3);
    // As in a page of which the first part alone is there. Of one row alone the number may be wrong.
    if (last_row_ && row <= *last_row_ && !(row_before_ && row > *row_before_)) {
      return absl::InvalidArgumentError("its rows are not in order");
    }
    const bool is_good = !rows.IsNull(1) && !rows.IsNull(2) && !rows.IsNull(3) && CheckSize(size);
    bad_rows_ += is_good ? 0 : 1;
    bytes_ += is_good ? kLeastRow + size : 0;
    if (bytes_ > database_->bytes() || bad_rows_ > kMostBadRows) {
      return absl::InvalidArgumentError("its rows are more than the file can have");
    }
    row_before_ = std::exchange(last_row_, row);
    ++range.rows;
    const int topic = is_good ? TopicOf(rows.Integer(1)) : -1;
    if (topic >= 0 && database_->is_cut()) {  // the data of rows before the cut may lie beyond it
      data_.resize(static_cast<size_t>(size));
      if (!blobs.Read(row, absl::MakeSpan(data_)).ok()) {
        ++without_data_;
        continue;
      }
    }
    Count(topic, 1, time_ns, time_ns);
  }
  return status;
}

// The first row of this number or above that can be read; nothing: there is none. Numbers of rows between which all are
// damaged are doubled, then halved.
std::optional<int64_t> SqliteReader::FindReadableRow(int64_t from) {
  if (bytes_ > database_->bytes() || bad_rows_ > kMostBadRows) return std::nullopt;
  std::optional<int64_t> found;
  const auto can_read = [&](int64_t row) {
    auto rows = database_->Query(absl::StrCat(
        "SELECT rowid, typeof(topic_id), typeof(timestamp), typeof(data), length(data) FROM messages NOT INDEXED "
        "WHERE rowid >= ",
        row, " ORDER BY rowid LIMIT 1"));
    const absl::Status status = rows.ok() ? rows->Next() : rows.status();
    found.reset();
    if (!status.ok()) return absl::IsOutOfRange(status);
    if (rows->Integer(0) < row) return false;
    found = rows->Integer(0);
    return true;
  };
  int64_t damaged = from - 1, step = 1;
  for (; !can_read(damaged + step); step *= 2) {
    damaged += step;
    if (damaged - from > database_->bytes()) return std::nullopt;  // no more rows than that can be damaged
  }
  int64_t readable = damaged + step;
  std::optional<int64_t> best = found;
  while (readable - damaged > 1) {
    const int64_t middle = damaged + (readable - damaged) / 2;
    if (can_read(middle)) {
      readable = middle;
      best = found;
    } else {
      damaged = middle;
    }
  }
  return best;
}

// False, and noted: a message that is too large.
bool SqliteReader::CheckSize(int64_t bytes) {
  const int64_t most = std::min(kLargestMessage, database_->bytes());
  if (bytes <= most) return true;
  Note(absl::StrCat("messages of more than ", most, " bytes are left out"));
  return false;
}

int SqliteReader::TopicOf(int64_t id) {
  const auto at = topic_of_id_.find(id);
  if (at != topic_of_id_.end()) return at->second;
  Note("messages are left out: the recording does not say of which topic they are");
  return -1;
}

absl::Status SqliteReader::Select(absl::Span<const int> topics) {
  GLINT_RETURN_IF_ERROR(SetSelected(topics));
  range_ = 0;
  is_begun_ = false;
  is_sorted_ = !ranges_.empty();
  blobs_.emplace(database_.get(), "messages", "data");
  return Query();
}

// Begins after the last row that was read.
absl::Status SqliteReader::Query() {
  // A limit ends before the row behind is looked for. The data are not read.
  const Range* const range = ranges_.empty() ? nullptr : &ranges_[range_];
  std::string sql = absl::StrCat(
      "SELECT rowid, topic_id, timestamp, bytes FROM (SELECT rowid, topic_id, timestamp, length(data) AS bytes, "
      "typeof(data) AS kind FROM messages",
      is_sorted_ ? " NOT INDEXED" : "",
      range != nullptr ? absl::StrCat(" WHERE rowid >= ", range->first_row, " LIMIT ", range->rows) : "",
      ") WHERE typeof(topic_id)='integer' AND typeof(timestamp)='integer' AND kind='blob'");
  if (is_begun_) absl::StrAppend(&sql, " AND (timestamp, rowid) > (", time_ns_, ", ", row_, ")");
  GLINT_ASSIGN_OR_RETURN(Rows rows, database_->Query(absl::StrCat(sql, " ORDER BY timestamp, rowid")));
  rows_.emplace(std::move(rows));
  return absl::OkStatus();
}

absl::Status SqliteReader::Next(Message* message) {
  absl::Status status = absl::OutOfRangeError(kEnd);
  while (rows_) {
    status = rows_->Next();
    if (status.ok() && is_begun_ && std::pair(rows_->Integer(2), rows_->Integer(0)) <= std::pair(time_ns_, row_)) {
      status = absl::InvalidArgumentError("it is not in order");
    }
    if (absl::IsInvalidArgument(status) && !is_sorted_) {
      Note(absl::StrCat("the index of times is damaged: ", status.message()));
      is_sorted_ = true;
      GLINT_RETURN_IF_ERROR(Query());
      continue;
    }
    if (!status.ok() && range_ + 1 < ranges_.size() &&
        (absl::IsOutOfRange(status) || absl::IsInvalidArgument(status))) {
      ++range_;
      is_begun_ = false;
      GLINT_RETURN_IF_ERROR(Query());
      continue;
    }
    if (absl::IsInvalidArgument(status) || (absl::IsOutOfRange(status) && missing_ > 0)) {
      Note(absl::StrCat(missing_, " messages are lost",
                        absl::IsOutOfRange(status) ? "" : absl::StrCat(": ", status.message())));
      status = absl::OutOfRangeError(kEnd);
    }
    if (!status.ok()) {
      rows_.reset();
      break;
    }
    is_begun_ = true;
    row_ = rows_->Integer(0);
    time_ns_ = rows_->Integer(2);
    const int topic = TopicOf(rows_->Integer(1));
    if (!IsSelected(topic) || !CheckSize(rows_->Integer(3))) continue;
    data_.resize(static_cast<size_t>(rows_->Integer(3)));
    if (status = blobs_->Read(row_, absl::MakeSpan(data_)); !status.ok()) {
      Note(absl::StrCat("a message is damaged: ", status.message()));
      continue;
    }
    --missing_;
    message->topic = topic;
    message->time_ns = time_ns_;
    message->data = data_;
    break;
  }
  return status;
}

}  // namespace glint::bag
