#include "client/cli/output/pair_command.h"

#include "client/cli/base/command.h"
#include "client/cli/output/output.h"
#include "client/cli/output/pair_report.h"

namespace glint::cli {

PairCommand::PairCommand(const char* name, const DetectorDefaults& defaults, Masks masks)
    : name_(name), masks_(masks), detector_flags_(defaults) {
  connection_flags_.AddTo(&flags_);
  connection_flags_.AddTraceparentTo(&flags_);
  detector_flags_.AddTo(&flags_);
  if (masks_ == Masks::kBoth) {
    flags_.String("right-mask", "FILE", "As --mask, which is of the left images, of the right ones.",
                  &right_mask_path_);
  }
  video_.AddTo(&flags_);
  bag_.AddTo(&flags_, masks_ == Masks::kBoth ? BagFlags::Topics::kPair : BagFlags::Topics::kEach);
}

std::optional<int> PairCommand::Parse(const std::vector<std::string>& arguments, const Rules& rules) {
  const auto operands = flags_.Parse(arguments);
  if (!operands.ok()) return UsageError(name_, operands.status().message());
  if (flags_.help_wanted()) return Print(name_, rules.help(flags_));
  const auto names = bag_.Sources(*operands);
  if (!names.ok()) return UsageError(name_, names.status().message());
  if (names->empty() || names->size() > 2) return UsageError(name_, rules.sources);
  const absl::Status masks = masks_ == Masks::kNone ? NoMaskOrRegion(detector_flags_) : absl::OkStatus();
  for (const absl::Status& status : {connection_flags_.Validate(), video_.Validate(), rules.validate(), masks}) {
    if (!status.ok()) return UsageError(name_, status.message());
  }
  const auto detector = detector_flags_.Options();
  if (!detector.ok()) return UsageError(name_, detector.status().message());
  names_ = *names;
  detector_ = *detector;
  return std::nullopt;
}

void PairCommand::SetCall(client::PairStreamOptions* options) const {
  options->timeout = connection_flags_.timeout_or(options->timeout);
  options->traceparent = connection_flags_.traceparent;
  options->gray_range = detector_flags_.gray_range();
}

}  // namespace glint::cli
