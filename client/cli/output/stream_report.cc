#include "client/cli/output/stream_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/base/command.h"
#include "features/status_macros.h"

namespace glint::cli {

absl::StatusOr<std::unique_ptr<StreamReport>> StreamReport::Open(const Options& options) {
  GLINT_ASSIGN_OR_RETURN(auto output, OutputFile::Open(options.output));
  auto report = std::unique_ptr<StreamReport>(new StreamReport(options, std::move(output)));
  if (!options.draw.empty()) {
    GLINT_ASSIGN_OR_RETURN(report->sink_, OpenDrawSink(options.draw, options.rate));
  }
  if (!options.mcap.path.empty()) {
    GLINT_ASSIGN_OR_RETURN(report->mcap_, McapOutput::Open(options.mcap, options.rate));
  }
  if (!options.csv_header.empty()) GLINT_RETURN_IF_ERROR(report->Write(options.csv_header + "\n"));
  return report;
}

void StreamReport::Complain(const std::string& text) const {
  line_.Clear();
  cli::Complain(command_, text);
}

void StreamReport::AddFailed(const std::string& name, const absl::Status& status) {
  ++failed_;
  Complain(absl::StrCat(name, ": ", Describe(status)));
}

void StreamReport::ShowLive(int64_t done, const char* noun, const std::function<std::string()>& text) {
  line_.Show([&](absl::Duration elapsed) {
    const double rate = static_cast<double>(done) / std::max(1e-3, absl::ToDoubleSeconds(elapsed));
    return absl::StrFormat("%d %s, %.1f/s: %s", done, noun, rate, text());
  });
}

absl::Status StreamReport::Flush(absl::Status status) {
  line_.Clear();
  if (sink_ != nullptr) status.Update(sink_->Close());
  if (mcap_ != nullptr) status.Update(mcap_->Close());
  status.Update(output_.Close());
  return status;
}

int StreamReport::ExitStatus(const absl::Status& flushed, int64_t unread) const {
  if (!flushed.ok()) return OutputError(command_, flushed);
  if (Interrupted()) return kInterrupted;
  return failed_ + unread > 0 ? kFailed : kOk;
}

void AnswerFlags::AddFormatTo(Flags* flags, const std::string& help,
                              const std::vector<std::pair<std::string, AnswerFormat>>& more) {
  std::vector<std::pair<std::string, AnswerFormat>> formats = {
      {"table", AnswerFormat::kTable}, {"csv", AnswerFormat::kCsv}, {"none", AnswerFormat::kNone}};
  formats.insert(formats.end(), more.begin(), more.end());
  flags->Choice("format", std::move(formats), help, &format);
  flags->Bool("csv", "The same as --format csv.",
              [this](bool on) { format = on ? AnswerFormat::kCsv : AnswerFormat::kTable; });
  flags->String("output", "FILE", "Write that to FILE instead of standard output.", &output);
}

void AnswerFlags::AddDrawTo(Flags* flags, const std::string& noun, const std::string& what) {
  flags->String("draw", "FILE",
                absl::StrCat("Write pictures: a video (.avi, .mp4, .mkv), a picture (.png, .jpg), or, if FILE is a "
                             "folder or ends in '/', a PNG for each ",
                             noun, " in it. ", what),
                &draw);
}

void AnswerFlags::AddProgressTo(Flags* flags) {
  progress = true;
  flags->Bool("progress", "Show live figures on a terminal (default: yes).", &progress);
}

StreamReport::Options AnswerFlags::Report(const char* command, const std::string& csv_header, double rate) const {
  StreamReport::Options options;
  options.command = command;
  options.output = format == AnswerFormat::kColmap ? "" : output;  // which is a folder
  options.csv_header = format == AnswerFormat::kCsv ? csv_header : "";
  options.draw = draw;
  options.rate = rate;
  options.mcap = mcap;
  options.live = progress && !(format == AnswerFormat::kTable && OnTerminal(output));
  return options;
}

}  // namespace glint::cli
