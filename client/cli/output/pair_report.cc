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
  GLINT_RETURN_IF_ERROR(CheckInFlight(in_flight));
  if (format == PairFormat::kColmap && output.empty()) {
    return absl::InvalidArgumentError("option '--format': colmap needs a folder, given by --output");
  }
  return absl::OkStatus();
}

StreamReport::Options PairFlags::Report(const char* command, const std::string& csv_header, double rate) const {
  StreamReport::Options options;
  options.command = command;
  options.output = format == PairFormat::kColmap ? "" : output;
  options.csv_header = format == PairFormat::kCsv ? csv_header : "";
  options.draw = draw;
  options.rate = rate;
  return options;
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
