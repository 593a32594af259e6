// What glint match, stereo and localize have in common on the command line: a server, a detector, one source or two, of
// files, cameras or a recording.
#ifndef GLINT_CLIENT_CLI_OUTPUT_PAIR_COMMAND_H_
#define GLINT_CLIENT_CLI_OUTPUT_PAIR_COMMAND_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/base/connection.h"
#include "client/cli/base/detector_flags.h"
#include "client/cli/base/flags.h"
#include "client/cli/source/bag_flags.h"
#include "client/cli/source/picture.h"
#include "client/cli/source/source.h"
#include "client/matching.h"
#include "features/operation_defaults.h"
#include "features/options.h"
#include "features/status_macros.h"
#include "features/types.h"

namespace glint::cli {

class PairCommand {
 public:
  // What --mask and --region are for: kBoth, the two images of a stereo pair, adds --right-mask.
  enum class Masks { kNone, kBoth };
  // `defaults`: of the operation's detector.
  PairCommand(const char* name, const DetectorDefaults& defaults, Masks masks = Masks::kNone);
  PairCommand(const PairCommand&) = delete;
  PairCommand& operator=(const PairCommand&) = delete;

  // The command's own options are added to it before Parse().
  Flags* flags() { return &flags_; }
  BagFlags* bag() { return &bag_; }

  struct Rules {
    std::string (*help)(const Flags& flags);
    const char* sources;                     // what to say if there are none, or more than two
    std::function<absl::Status()> validate;  // of the command's own options
  };
  // Reads the command line and opens nothing. The exit status if that ends the command: help was asked for, or a
  // mistake has been told.
  std::optional<int> Parse(const std::vector<std::string>& arguments, const Rules& rules);

  // After Parse(): with --bag opens it, and then it is in video(), and whole names of topics in names().
  absl::Status OpenBag() { return bag_.Open(&names_, &video_); }

  // After Parse().
  const std::vector<std::string>& names() const { return names_; }  // one or two sources
  const DetectorOptions& detector() const { return detector_; }
  const ConnectionFlags& connection() const { return connection_flags_; }
  const VideoOptions& video() const { return video_; }
  // Timeout, trace and range of grey, as they were given.
  void SetCall(client::PairStreamOptions* options) const;
  // With Masks::kBoth: masks and region, as they were given. The masks' pixels are the command's. INVALID_ARGUMENT and
  // NOT_FOUND name the file.
  template <typename Options>
  absl::Status SetMasks(Options* options) {
    GLINT_ASSIGN_OR_RETURN(mask_, ReadMask(detector_flags_.mask));
    GLINT_ASSIGN_OR_RETURN(right_mask_, ReadMask(right_mask_path_));
    options->mask = mask_;
    options->right_mask = right_mask_;
    options->region = detector_flags_.region;
    return absl::OkStatus();
  }

 private:
  const char* const name_;
  const Masks masks_;
  ConnectionFlags connection_flags_;
  DetectorFlags detector_flags_;
  VideoOptions video_;
  BagFlags bag_;
  Flags flags_;
  std::vector<std::string> names_;
  DetectorOptions detector_;
  std::string right_mask_path_;
  Image mask_, right_mask_;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_PAIR_COMMAND_H_
