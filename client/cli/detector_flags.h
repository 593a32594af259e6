// --detector and the options that change its stages.
#ifndef GLINT_CLIENT_CLI_DETECTOR_FLAGS_H_
#define GLINT_CLIENT_CLI_DETECTOR_FLAGS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/flags.h"
#include "features/options.h"

namespace glint::cli {

struct DetectorFlags {
  std::string detector = "orb";
  std::optional<int> features, levels, fast_threshold, arc_length, edge_threshold, patch_size;
  std::optional<float> scale_factor;
  std::optional<Ranking> ranking;
  std::optional<bool> descriptors;
  std::string mask;  // path

  void AddTo(Flags* flags);
  // INVALID_ARGUMENT names the option as it is written on the command line.
  absl::StatusOr<DetectorOptions> Options() const;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_DETECTOR_FLAGS_H_
