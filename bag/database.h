// SQLite files that are not trusted, read only.
#ifndef GLINT_BAG_DATABASE_H_
#define GLINT_BAG_DATABASE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

struct sqlite3;
struct sqlite3_blob;
struct sqlite3_stmt;

namespace glint::bag {

class Database;

// The rows of a query. Valid as long as its database.
class Rows {
 public:
  // OUT_OF_RANGE: no more; INVALID_ARGUMENT: the file is damaged; UNAVAILABLE: locked by who writes it; INTERNAL.
  absl::Status Next();
  // Columns of the row, from 0.
  bool IsNull(int column) const;
  int64_t Integer(int column) const;
  std::string Text(int column) const;

 private:
  friend class Database;
  Rows(Database* database, sqlite3_stmt* statement) : database_(database), statement_(statement) {}
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };

  Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// Values of one column of one table, read in place. Valid as long as its database.
class Blobs {
 public:
  Blobs(Database* database, const char* table, const char* column)
      : database_(database), table_(table), column_(column) {}
  Blobs(const Blobs&) = delete;
  Blobs& operator=(const Blobs&) = delete;
  ~Blobs() { Close(); }

  // Fills `bytes`, which have the size of this row's value. Errors: those of Rows::Next().
  absl::Status Read(int64_t row, absl::Span<uint8_t> bytes);

 private:
  void Close();

  Database* database_;
  const char *table_, *column_;
  sqlite3_blob* blob_ = nullptr;
};

// Triggers, views, virtual tables and functions of the file are not run; a query that takes more steps than a whole
// file of this size would is ended. Thread-compatible.
class Database {
 public:
  // With what its write-ahead log has, where there is one; `notes` says if that had to be left out. The file's folder
  // is not written to unless it has a log. NOT_FOUND; INVALID_ARGUMENT: damaged; UNAVAILABLE: locked; INTERNAL.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& path, std::vector<std::string>* notes);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  int64_t bytes() const { return bytes_; }  // of the file and its log
  bool is_cut() const { return is_cut_; }   // it has fewer than its header says
  // Names of a table's columns; empty: there is no such table, or one that is not plain.
  absl::StatusOr<std::vector<std::string>> Columns(absl::string_view table);
  absl::StatusOr<Rows> Query(absl::string_view sql);
  // Bytes of a row; larger ones are an error of Rows::Next(). At first kTextRow.
  void LimitRows(int bytes);

  static constexpr int kTextRow = 1 << 24;
  static constexpr int kAnyRow = 1000000000;

 private:
  friend class Rows;
  friend class Blobs;
  Database() = default;
  absl::Status Connect(const std::string& path, bool immutable);
  absl::Status Error(int code) const;
  void Close();
  static int CountSteps(void* database);

  sqlite3* connection_ = nullptr;
  int64_t bytes_ = 0, steps_left_ = 0;
  bool is_cut_ = false;
};

}  // namespace glint::bag

#endif  // GLINT_BAG_DATABASE_H_
