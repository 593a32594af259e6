// --format and --output: results as a table, JSON or CSV.
#ifndef GLINT_CLIENT_CLI_OUTPUT_OUTPUT_H_
#define GLINT_CLIENT_CLI_OUTPUT_OUTPUT_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/result.h"

namespace glint::cli {

enum class Format { kNone, kTable, kJson, kCsv };

// A file or standard output. What a call of Write() gives is a record, such as a line: a file has only whole ones,
// whatever ends the process or fills the disk. Errors name the file. Thread-compatible.
class OutputFile {
 public:
  // Empty: standard output.
  static absl::StatusOr<OutputFile> Open(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  ~OutputFile();

  // CANCELLED when the reader of a pipe has gone; DATA_LOSS for any other error, with the system's words.
  absl::Status Write(absl::string_view text);
  absl::Status Flush();
  // Flush(), and the end of a file, where network file systems say what they could not write. Standard output stays.
  absl::Status Close();

 private:
  OutputFile(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
  absl::Status Error() const;
  bool is_standard_output() const;

  int fd_;  // -1: closed
  std::string name_;
  std::string records_;  // to be written in one go
  int64_t bytes_ = 0;    // of the file
};

// A file that is there as a whole or not at all, such as a picture. A device or a pipe at `path` is written to, and not
// replaced. DATA_LOSS: it cannot be written.
absl::Status WriteWholeFile(const std::string& path, absl::string_view bytes);
// Whether it can begin; what a disk has room for is not known before. Makes no file. DATA_LOSS.
absl::Status CheckWholeFile(const std::string& path);

// Appends the shortest digits that read back as the same float.
void AppendFloat(float value, std::string* out);
// Appends each after a comma.
void AppendCsvFloats(std::initializer_list<float> values, std::string* out);
// Appends a JSON string literal of Utf8Text(text).
void AppendJsonString(absl::string_view text, std::string* out);
// Appends Utf8Text(bytes) as a CSV field, quoted when it holds a comma, a quote or a line break (RFC 4180).
void AppendCsvField(absl::string_view bytes, std::string* out);

// Formats one result at a time. Thread-compatible; keeps its memory.
class Formatter {
 public:
  // `descriptors`, `rays`: CSV has the columns.
  static std::unique_ptr<Formatter> Make(Format format, bool descriptors, bool rays = false);
  virtual ~Formatter() = default;

  // What comes before the first result.
  virtual void AppendHeader(std::string* out) const = 0;
  // `detection` is without features unless `status` is OK.
  virtual void Append(absl::string_view image, const absl::Status& status, const client::Detection& detection,
                      std::string* out) const = 0;
};

// Complains about an output that cannot be opened or written; the exit status. A broken pipe ends the process by
// SIGPIPE, quietly.
int OutputError(const std::string& command, const absl::Status& status);

// Whether what is written to `output`, empty for standard output, appears on a terminal.
bool OnTerminal(const std::string& output);

// Writes to standard output; the exit status.
int Print(const std::string& command, const std::string& text);

// The last thing before a process ends: the exit status, which was to be `status`. Another one if something that was
// printed could not be written and nobody has said so.
int CheckStandardOutput(int status);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_OUTPUT_H_
