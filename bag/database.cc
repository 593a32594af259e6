#include "bag/database.h"

#include <sqlite3.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bag/file.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::bag {
namespace {

constexpr int kStepsPerCall = 1000;
constexpr int64_t kMostSteps = 1000000;  // of a row, and two for each byte of the file: it may be sorted before
constexpr int kBusyMilliseconds = 1000;
// Places in the file, of big-endian numbers. Versions: 2 where there is a write-ahead log.
constexpr size_t kPageSize = 16, kWriteVersion = 18, kReadVersion = 19, kPages = 28, kHeaderBytes = 100;

struct Limit {
  int id, value;
};
constexpr Limit kLimits[] = {{SQLITE_LIMIT_LENGTH, Database::kTextRow},
                             {SQLITE_LIMIT_SQL_LENGTH, 100000},
                             {SQLITE_LIMIT_COLUMN, 100},
                             {SQLITE_LIMIT_EXPR_DEPTH, 20},
                             {SQLITE_LIMIT_COMPOUND_SELECT, 3},
                             {SQLITE_LIMIT_VDBE_OP, 25000},
                             {SQLITE_LIMIT_FUNCTION_ARG, 8},
                             {SQLITE_LIMIT_ATTACHED, 0},
                             {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50},
                             {SQLITE_LIMIT_VARIABLE_NUMBER, 10},
                             {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
                             {SQLITE_LIMIT_WORKER_THREADS, 0}};
constexpr Limit kConfiguration[] = {{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                    {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                    {SQLITE_DBCONFIG_DQS_DML, 0},
                                    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}};

int64_t BytesOf(const std::string& path) {
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<int64_t>(bytes);
}

// The size that the header says.
int64_t SaidBytes(const std::string& header) {
  const auto byte = [&](size_t i) { return int64_t{static_cast<uint8_t>(header[i])}; };
  const int64_t page = byte(kPageSize) << 8 | byte(kPageSize + 1);
  const int64_t pages = byte(kPages) << 24 | byte(kPages + 1) << 16 | byte(kPages + 2) << 8 | byte(kPages + 3);
  return pages * (page == 1 ? 65536 : page);
}

std::string AsUri(const std::string& path, bool immutable) {
  std::string uri = absl::StartsWith(path, "/") ? "file://" : "file:";
  for (const char c : path) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '/' || c == '.' || c == '-' || c == '_') {
      uri += c;
    } else {
      absl::StrAppendFormat(&uri, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return absl::StrCat(uri, immutable ? "?immutable=1" : "");
}

}  // namespace

void Rows::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

absl::Status Rows::Next() {
  database_->steps_left_ = kMostSteps + 2 * database_->bytes_;
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return absl::OkStatus();
  return code == SQLITE_DONE ? absl::OutOfRangeError("no more rows") : database_->Error(code);
}

bool Rows::IsNull(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

int64_t Rows::Integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::string Rows::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return "";
  return std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column)));
}

void Blobs::Close() {
  sqlite3_blob_close(blob_);
  blob_ = nullptr;
}

absl::Status Blobs::Read(int64_t row, absl::Span<uint8_t> bytes) {
  database_->steps_left_ = kMostSteps;
  int code = blob_ != nullptr ? sqlite3_blob_reopen(blob_, row)
                              : sqlite3_blob_open(database_->connection_, "main", table_, column_, row, 0, &blob_);
  if (code == SQLITE_OK && static_cast<size_t>(sqlite3_blob_bytes(blob_)) != bytes.size()) code = SQLITE_CORRUPT;
  if (code == SQLITE_OK) code = sqlite3_blob_read(blob_, bytes.data(), static_cast<int>(bytes.size()), 0);
  if (code == SQLITE_OK) return absl::OkStatus();
  absl::Status status = database_->Error(code);
  Close();  // after an error it can read no other row
  return status;
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path, std::vector<std::string>* notes) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);  // the log lies beside it
  const std::string place = error ? path : real.string();
  GLINT_ASSIGN_OR_RETURN(const File file, File::Open(place));
  const std::string log = absl::StrCat(place, "-wal"), journal = absl::StrCat(place, "-journal");
  const std::string header = file.ReadText(0, kHeaderBytes);
  if (header.size() < kHeaderBytes) return absl::InvalidArgumentError("SQLite: the file ends within its header");
  const bool is_logged = (header[kWriteVersion] == 2 || header[kReadVersion] == 2);
  std::unique_ptr<Database> database(new Database);
  database->bytes_ = file.size() + (is_logged ? BytesOf(log) : 0);
  database->is_cut_ = database->bytes_ == file.size() && SaidBytes(header) > file.size();
  if (database->is_cut_) notes->push_back(absl::StrCat("cut off at byte ", file.size(), " of ", SaidBytes(header)));
  // SQLite would make a log beside one that has none.
  bool immutable = is_logged && BytesOf(log) == 0;
  absl::Status status = database->Connect(place, immutable);
  if (absl::IsInternal(status) && !immutable) {  // where it cannot lock or make files
    database->bytes_ = file.size();
    status = database->Connect(place, true);
    for (const std::string& beside : {log, journal}) {
      if (status.ok() && BytesOf(beside) > 0) {
        notes->push_back(
            absl::StrCat("what ", Echo(beside), " has is left out: this folder or file cannot be written"));
      }
    }
  }
  if (!status.ok()) return status;
  return database;
}

absl::Status Database::Connect(const std::string& path, bool immutable) {
  Close();
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(AsUri(path, immutable).c_str(), &connection_, flags, nullptr);
  if (code != SQLITE_OK) return Error(code);
  for (const Limit& limit : kLimits) sqlite3_limit(connection_, limit.id, limit.value);
  for (const Limit& option : kConfiguration) sqlite3_db_config(connection_, option.id, option.value, nullptr);
  // SQLite refuses what is shorter than it says, unless schemas may be written: not that a file could be, open so.
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_DEFENSIVE, is_cut_ ? 0 : 1, nullptr);
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_WRITABLE_SCHEMA, is_cut_ ? 1 : 0, nullptr);
  sqlite3_busy_timeout(connection_, kBusyMilliseconds);
  sqlite3_progress_handler(connection_, kStepsPerCall, &CountSteps, this);
  for (const char* sql : {"PRAGMA cell_size_check=ON", "PRAGMA mmap_size=0", "PRAGMA cache_size=-4096",
                          "SELECT count(*) FROM sqlite_master"}) {
    GLINT_ASSIGN_OR_RETURN(Rows rows, Query(sql));
    absl::Status status = rows.Next();
    if (!status.ok() && !absl::IsOutOfRange(status)) return status;
  }
  return absl::OkStatus();
}

void Database::Close() {
  sqlite3_close(connection_);
  connection_ = nullptr;
}

Database::~Database() { Close(); }

int Database::CountSteps(void* database) {
  int64_t& left = static_cast<Database*>(database)->steps_left_;
  left -= kStepsPerCall;
  return left < 0 ? 1 : 0;
}

absl::Status Database::Error(int code) const {
  const std::string text =
      absl::StrCat("SQLite: ", Echo(connection_ != nullptr ? sqlite3_errmsg(connection_) : "no memory"));
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(absl::StrCat(text, ": the program that writes it has it"));
    case SQLITE_INTERRUPT:
      return absl::InvalidArgumentError(absl::StrCat(text, ": more steps than a file of ", bytes_, " bytes takes"));
    case SQLITE_ERROR:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_TOOBIG:
    case SQLITE_ABORT:
    case SQLITE_AUTH:
      return absl::InvalidArgumentError(text);
    default:
      return absl::InternalError(text);
  }
}

absl::StatusOr<Rows> Database::Query(absl::string_view sql) {
  steps_left_ = kMostSteps + 2 * bytes_;
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(connection_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) return Error(code);
  return Rows(this, statement);
}

absl::StatusOr<std::vector<std::string>> Database::Columns(absl::string_view table) {
  std::vector<std::string> columns;
  // A view and a virtual table have no page of their own.
  GLINT_ASSIGN_OR_RETURN(Rows tables, Query(absl::StrCat("SELECT count(*) FROM sqlite_master WHERE type='table' AND "
                                                         "rootpage>0 AND name='",
                                                         table, "'")));
  GLINT_RETURN_IF_ERROR(tables.Next());
  if (tables.Integer(0) != 1) return columns;
  GLINT_ASSIGN_OR_RETURN(Rows rows, Query(absl::StrCat("PRAGMA table_xinfo(", table, ")")));  // hidden: computed
  absl::Status status = rows.Next();
  for (; status.ok(); status = rows.Next()) {
    if (rows.Integer(6) != 0) return std::vector<std::string>();
    columns.push_back(rows.Text(1));
  }
  if (!absl::IsOutOfRange(status)) return status;
  return columns;
}

void Database::LimitRows(int bytes) { sqlite3_limit(connection_, SQLITE_LIMIT_LENGTH, bytes); }

}  // namespace glint::bag
