// Sources that are lost and come back: cameras, addresses of live streams, named pipes.
#ifndef GLINT_CLIENT_CLI_SOURCE_LIVE_SOURCE_H_
#define GLINT_CLIENT_CLI_SOURCE_LIVE_SOURCE_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "client/cli/source/source.h"

namespace glint::cli {

// `source`, for which an end is a loss, and so is an error. Each loss is said on standard error, and the source is
// opened again (Source::Reopen()) until a frame comes; an error when none came for `retry`, UNAVAILABLE if the source
// had just ended, then the end. Zero: the loss is the error. An interrupt is the end. `name` is shown.
std::unique_ptr<Source> WatchForLoss(std::unique_ptr<Source> source, std::string name, absl::Duration retry);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_LIVE_SOURCE_H_
