// --format and --output: results as a table, JSON or CSV.
#ifndef GLINT_CLIENT_CLI_OUTPUT_OUTPUT_H_
#define GLINT_CLIENT_CLI_OUTPUT_OUTPUT_H_

#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/result.h"

namespace glint::cli {

enum class Format { kNone, kTable, kJson, kCsv };

// A file or standard output. Thread-compatible.
class OutputFile {
 public:
  // Empty: standard output.
  static absl::StatusOr<OutputFile> Open(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  ~OutputFile();

  // CANCELLED when the reader of a pipe has gone; DATA_LOSS for any other error, with the system's words.
  absl::Status Write(absl::string_view text);
  absl::Status Flush();

 private:
  OutputFile(std::FILE* file, std::string name) : file_(file), name_(std::move(name)) {}
  absl::Status Error() const;

  std::FILE* file_;
  std::string name_;
};

// Appends the shortest digits that read back as the same float.
void AppendFloat(float value, std::string* out);
// Appends each after a comma.
void AppendCsvFloats(std::initializer_list<float> values, std::string* out);
// Appends a JSON string literal; bytes that are not UTF-8 are kept as they are.
void AppendJsonString(absl::string_view text, std::string* out);
// Appends a CSV field, quoted when it holds a comma, a quote or a line break (RFC 4180).
void AppendCsvField(absl::string_view text, std::string* out);

// Formats one result at a time. Thread-compatible; keeps its memory.
class Formatter {
 public:
  // `descriptors`: CSV has the column.
  static std::unique_ptr<Formatter> Make(Format format, bool descriptors);
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

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_OUTPUT_H_
