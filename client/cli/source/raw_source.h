// Pictures from files of raw pixels.
#ifndef GLINT_CLIENT_CLI_SOURCE_RAW_SOURCE_H_
#define GLINT_CLIENT_CLI_SOURCE_RAW_SOURCE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/source/raw_flags.h"
#include "client/cli/source/source.h"

namespace glint::cli {

// A file of raw pictures, one after the other; "-" is standard input.
absl::StatusOr<std::unique_ptr<Source>> OpenRawSource(const std::string& name, const RawLayout& layout);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_RAW_SOURCE_H_
