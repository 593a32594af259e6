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
#include "client/cli/output/stream_report.h"
#include "client/cli/source/pairs.h"

namespace glint::cli {

struct PairFlags : AnswerFlags {
  std::optional<int> in_flight;

  // `csv`: the header of the rows. `colmap`: whether there is that format.
  void AddTo(Flags* flags, const std::string& csv, const std::string& drawing, bool colmap);
  absl::Status Validate() const;
};

struct SentPairs {
  absl::Status stream;  // why it ended early
  int64_t unread = 0;   // pictures that could not be read, which were complained about
};

// Sends all pairs of `source` until its end, an error of `write` or an interrupt. Says first and last what has no
// partner.
SentPairs SendPairs(const std::string& command, PairSource* source, WaitingPairs* waiting,
                    const std::function<absl::Status(uint64_t id, const PicturePair& pair)>& write);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_PAIR_REPORT_H_
