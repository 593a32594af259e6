#include "client/cli/output/pair_report.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/base/command.h"
#include "features/status_macros.h"

namespace glint::cli {

void PairFlags::AddTo(Flags* flags, const std::string& csv, const std::string& drawing, bool colmap) {
  flags->Section("Output");
  std::vector<std::pair<std::string, PairFormat>> formats = {
      {"table", PairFormat::kTable}, {"csv", PairFormat::kCsv}, {"none", PairFormat::kNone}};
  std::string help =
      absl::StrCat("table (the default): a line for each pair. csv: a line for each match, with the header ", csv,
                   ". none: nothing.");
  if (colmap) {
    formats.emplace_back("colmap", PairFormat::kColmap);
    help += " colmap: a folder (--output) of keypoints for feature_importer and of raw matches for matches_importer.";
  }
  flags->Choice("format", std::move(formats), help, &format);
  flags->Bool("csv", "The same as --format csv.",
              [this](bool on) { format = on ? PairFormat::kCsv : PairFormat::kTable; });
  flags->String("output", "FILE", "Write that to FILE instead of standard output.", &output);
  flags->String("draw", "FILE",
                absl::StrCat("Write pictures: a video (.avi, .mp4, .mkv), a picture (.png, .jpg), or, if FILE is a "
                             "folder or ends in '/', a PNG for each pair in it. ",
                             drawing),
                &draw);
  flags->Int("in-flight", "N", "Pairs sent ahead of their answers (1..4096, default 8).", &in_flight);
}

absl::Status PairFlags::Validate() const {
  if (in_flight.has_value() && (*in_flight < 1 || *in_flight > 4096)) {
    return absl::InvalidArgumentError(absl::StrCat("option '--in-flight': ", *in_flight, " is not in 1..4096"));
  }
  if (format == PairFormat::kColmap && output.empty()) {
    return absl::InvalidArgumentError("option '--format': colmap needs a folder, given by --output");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<PairReport>> PairReport::Open(const std::string& command, const PairFlags& flags,
                                                             const std::string& csv_header, double rate) {
  GLINT_ASSIGN_OR_RETURN(auto output, OutputFile::Open(flags.format == PairFormat::kColmap ? "" : flags.output));
  auto report = std::unique_ptr<PairReport>(new PairReport(command, std::move(output)));
  if (!flags.draw.empty()) {
    GLINT_ASSIGN_OR_RETURN(report->sink_, OpenDrawSink(flags.draw, rate));
  }
  if (flags.format == PairFormat::kCsv) {
    GLINT_RETURN_IF_ERROR(report->Write(csv_header + "\n"));
  }
  return report;
}

void PairReport::AddFailed(const std::string& name, const absl::Status& status) {
  ++failed_;
  Complain(command_, absl::StrCat(name, ": ", Describe(status)));
}

int PairReport::Close(const absl::Status& output_status, int64_t unread) {
  sink_.reset();  // closes a video
  absl::Status status = output_status;
  if (status.ok()) status = output_.Flush();
  if (!status.ok()) return OutputError(command_, status);
  if (Interrupted()) return kInterrupted;
  return failed_ + unread > 0 ? kFailed : kOk;
}

SentPairs SendPairs(const std::string& command, PairSource* source, WaitingPairs* waiting,
                    const std::function<absl::Status(uint64_t id, const PicturePair& pair)>& write) {
  SentPairs sent;
  for (uint64_t id = 0; sent.stream.ok() && !Interrupted();) {
    PicturePair pair;
    const absl::Status next = source->Next(&pair);
    if (absl::IsOutOfRange(next)) break;
    if (next.ok()) {
      waiting->Push(pair);
      sent.stream = write(id++, pair);
    } else {
      Complain(command, next.message());
      ++sent.unread;
    }
  }
  return sent;
}

}  // namespace glint::cli
