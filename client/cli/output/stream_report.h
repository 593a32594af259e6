// Where the answers of a stream go, and what the command ends with: for glint match, stereo, track and localize.
#ifndef GLINT_CLIENT_CLI_OUTPUT_STREAM_REPORT_H_
#define GLINT_CLIENT_CLI_OUTPUT_STREAM_REPORT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/base/flags.h"
#include "client/cli/base/progress.h"
#include "client/cli/output/draw.h"
#include "client/cli/output/mcap_output.h"
#include "client/cli/output/output.h"

namespace glint::cli {

// Thread-compatible. Errors of Write() and Draw() are those of the outputs, and final.
class StreamReport {
 public:
  struct Options {
    std::string command;
    std::string output;      // file; empty: standard output
    std::string csv_header;  // empty: none
    std::string draw;        // as OpenDrawSink() has it; empty: no pictures
    double rate = 0;         // frames per second of a video that is drawn, and of a recording without times
    McapFlags mcap;
    bool live = false;  // a line with figures, on a terminal
  };
  static absl::StatusOr<std::unique_ptr<StreamReport>> Open(const Options& options);

  absl::Status Write(const std::string& text) { return output_.Write(text); }
  bool draws() const { return sink_ != nullptr; }
  absl::Status Draw(const std::string& name, const cv::Mat& canvas) { return sink_->Write(name, canvas); }
  // Null: there is none. Flush() closes it.
  McapOutput* mcap() const { return mcap_.get(); }

  // On standard error, past the line of figures.
  void Complain(const std::string& text) const;
  void AddFailed(const std::string& name, const absl::Status& status);
  // "12 frames, 3.4/s: TEXT", with `noun` for frames. `text` is called only if the line is drawn now.
  void ShowLive(int64_t done, const char* noun, const std::function<std::string()>& text);

  // Ends the line of figures and the outputs. The first error: `status`, or that of an output.
  absl::Status Flush(absl::Status status);
  // The exit status, after Flush(). `unread`: pictures that could not be read.
  int ExitStatus(const absl::Status& flushed, int64_t unread) const;
  int Close(const absl::Status& status, int64_t unread) { return ExitStatus(Flush(status), unread); }

 private:
  StreamReport(const Options& options, OutputFile output)
      : command_(options.command), line_(options.live, absl::ZeroDuration()), output_(std::move(output)) {}

  const std::string command_;
  LiveLine line_;
  OutputFile output_;
  std::unique_ptr<DrawSink> sink_;
  std::unique_ptr<McapOutput> mcap_;
  int64_t failed_ = 0;
};

// What is written of answers; kColmap by glint match alone.
enum class AnswerFormat { kTable, kCsv, kColmap, kNone };

// The options of these commands that say so.
struct AnswerFlags {
  AnswerFormat format = AnswerFormat::kTable;
  std::string output;
  std::string draw;
  McapFlags mcap;         // of commands that have it
  bool progress = false;  // live figures, except where the table is on the same terminal

  // --format with table, csv, none and `more`; --csv and --output.
  void AddFormatTo(Flags* flags, const std::string& help,
                   const std::vector<std::pair<std::string, AnswerFormat>>& more = {});
  // --draw, of pictures of `what`: in a folder one for each `noun`.
  void AddDrawTo(Flags* flags, const std::string& noun, const std::string& what);
  // --progress, which is on by default.
  void AddProgressTo(Flags* flags);
  // Of the report of `command`, with pictures from a source of this rate.
  StreamReport::Options Report(const char* command, const std::string& csv_header, double rate) const;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_STREAM_REPORT_H_
