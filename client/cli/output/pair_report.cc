#include "client/cli/output/pair_report.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/base/command.h"
#include "features/status_macros.h"

namespace glint::cli {

void PairFlags::AddTo(Flags* flags, const std::string& csv, const std::string& drawing, bool colmap) {
  flags->Section("Output");
  std::vector<std::pair<std::string, AnswerFormat>> more;
  std::string help =
      absl::StrCat("table (the default): a line for each pair. csv: a line for each match, with the header ", csv,
                   ". none: nothing.");
  if (colmap) {
    more.emplace_back("colmap", AnswerFormat::kColmap);
    help += " colmap: a folder (--output) of keypoints for feature_importer and of raw matches for matches_importer.";
  }
  AddFormatTo(flags, help, more);
  AddDrawTo(flags, "pair", drawing);
  flags->Int("in-flight", "N", "Pairs sent ahead of their answers (1..4096, default 8).", &in_flight);
}

absl::Status PairFlags::Validate() const {
  GLINT_RETURN_IF_ERROR(CheckInFlight(in_flight));
  if (format == AnswerFormat::kColmap && output.empty()) {
    return absl::InvalidArgumentError("option '--format': colmap needs a folder, given by --output");
  }
  return absl::OkStatus();
}

SentPairs SendPairs(const std::string& command, PairSource* source, WaitingPairs* waiting,
                    const std::function<absl::Status(uint64_t id, const PicturePair& pair)>& write) {
  SentPairs sent;
  if (const std::string text = source->LeftOut(); !text.empty()) Complain(command, text);
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
  if (const std::string text = source->LeftOut(); !text.empty()) Complain(command, text);
  return sent;
}

}  // namespace glint::cli
