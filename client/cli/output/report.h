// Everything that becomes of a result: a row or object of output, an annotated picture, the summary and the progress
// line. What detect and stream have in common after the answer.
#ifndef GLINT_CLIENT_CLI_OUTPUT_REPORT_H_
#define GLINT_CLIENT_CLI_OUTPUT_REPORT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/base/flags.h"
#include "client/cli/base/progress.h"
#include "client/cli/base/summary.h"
#include "client/cli/output/draw.h"
#include "client/cli/output/mcap_output.h"
#include "client/cli/output/output.h"
#include "client/cli/source/source.h"
#include "features/warning.h"

namespace glint::cli {

struct ReportFlags {
  Format format;
  std::string output;
  std::string draw;
  McapFlags mcap;  // of glint stream
  bool summary = true;
  bool progress = true;

  explicit ReportFlags(Format default_format) : format(default_format) {}
  void AddTo(Flags* flags);
};

// Thread-compatible.
class Report {
 public:
  // `descriptors`, `rays`: rows have them. `total`: pictures to come, 0 if unknown. `rate`: of a video that is drawn,
  // and of a recording without times.
  static absl::StatusOr<std::unique_ptr<Report>> Open(const std::string& command, const ReportFlags& flags,
                                                      bool descriptors, int64_t total, double rate, bool rays = false);

  // Takes in one answer. An error is about an output, and final: CANCELLED when the reader of standard output has
  // gone, DATA_LOSS or INVALID_ARGUMENT otherwise. A failed frame is no such error,
  // and one that the server dropped is no failure.
  absl::Status Add(const Picture& picture, const absl::Status& status, const client::Detection& detection,
                   bool dropped = false);
  // Pictures that could not be read, and so were not sent.
  void AddUnread(int64_t pictures) { summary_.AddFailed(pictures); }

  // Writes the summary; returns the exit status. If the reader of the pipe has gone, the process exits silently on
  // SIGPIPE.
  int Close(const absl::Status& output_status);

 private:
  Report(const std::string& command, const ReportFlags& flags, OutputFile output, int64_t total);

  const std::string command_;
  const ReportFlags flags_;
  OutputFile output_;
  std::unique_ptr<Formatter> formatter_;
  std::unique_ptr<DrawSink> sink_;
  std::unique_ptr<McapOutput> mcap_;
  std::optional<Progress> progress_;
  Summary summary_;
  std::set<WarningKind> warned_;
  const absl::Time start_;
  std::string text_;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_REPORT_H_
