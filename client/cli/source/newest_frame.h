// The newest frame of a live source: those that come while nobody asks replace each other.
#ifndef GLINT_CLIENT_CLI_SOURCE_NEWEST_FRAME_H_
#define GLINT_CLIENT_CLI_SOURCE_NEWEST_FRAME_H_

#include <memory>

#include "client/cli/source/source.h"

namespace glint::cli {

// A thread of its own reads `source`, once Begin() was called. The frames' numbers show what is missing. They have the
// times at which they came, unless those of `source` are of the system's clock.
std::unique_ptr<Source> TakeNewest(std::unique_ptr<Source> source);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_NEWEST_FRAME_H_
