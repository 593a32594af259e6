// What glint match and glint stereo have in common: where answers go, and how pairs are sent.
#ifndef GLINT_CLIENT_CLI_OUTPUT_PAIR_REPORT_H_
#define GLINT_CLIENT_CLI_OUTPUT_PAIR_REPORT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/base/detector_flags.h"
#include "client/cli/base/flags.h"
#include "client/cli/output/draw.h"
#include "client/cli/output/output.h"
#include "client/cli/source/pairs.h"

namespace glint::cli {

enum class PairFormat { kTable, kCsv, kColmap, kNone };

struct PairFlags {
  PairFormat format = PairFormat::kTable;
  std::string output;
  std::string draw;
  std::optional<int> in_flight;

  // `csv`: the header of the rows. `colmap`: whether there is that format.
  void AddTo(Flags* flags, const std::string& csv, const std::string& drawing, bool colmap);
  absl::Status Validate() const;
};

// Thread-compatible. Errors of Write() and Draw() are those of the outputs, and final.
class PairReport {
 public:
  static absl::StatusOr<std::unique_ptr<PairReport>> Open(const std::string& command, const PairFlags& flags,
                                                          const std::string& csv_header, double rate);

  absl::Status Write(const std::string& text) { return output_.Write(text); }
  bool draws() const { return sink_ != nullptr; }
  absl::Status Draw(const std::string& name, const cv::Mat& canvas) { return sink_->Write(name, canvas); }
  void AddFailed(const std::string& name, const absl::Status& status);
  // The exit status. `unread`: pictures that could not be read.
  int Close(const absl::Status& output_status, int64_t unread);

 private:
  PairReport(std::string command, OutputFile output) : command_(std::move(command)), output_(std::move(output)) {}

  const std::string command_;
  OutputFile output_;
  std::unique_ptr<DrawSink> sink_;
  int64_t failed_ = 0;
};

struct SentPairs {
  absl::Status stream;  // why it ended early
  int64_t unread = 0;   // pictures that could not be read, which were complained about
};

// Sends all pairs of `source` until its end, an error of `write` or an interrupt.
SentPairs SendPairs(const std::string& command, PairSource* source, WaitingPairs* waiting,
                    const std::function<absl::Status(uint64_t id, const PicturePair& pair)>& write);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_PAIR_REPORT_H_
