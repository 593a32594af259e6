// The flags of glint-server. Every flag can be given on the command line (--name=value or --name value), in a file
// (--flagfile=PATH: one `name=value` or `--name=value` a line, # starts a comment) and in the environment
// (GLINT_NAME, with _ for -). Command line and file override each other in their order, and both the environment.
#ifndef GLINT_SERVER_CONFIG_FLAGS_H_
#define GLINT_SERVER_CONFIG_FLAGS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/config/options.h"

namespace glint {

struct CommandLine {
  ServerOptions options;
  bool help = false;
  bool version = false;
};

// `arguments` without the program's name. `environment` returns a variable's value or null. INVALID_ARGUMENT names
// flag, value and what is allowed, and where the value came from if not from the command line.
absl::StatusOr<CommandLine> ParseFlags(const std::vector<std::string>& arguments,
                                       const std::function<const char*(const char*)>& environment);

// Names of the flags in which `a` and `b` differ.
std::vector<std::string> FlagsThatDiffer(const ServerOptions& a, const ServerOptions& b);

// What --help prints.
std::string FlagsHelp();

}  // namespace glint

#endif  // GLINT_SERVER_CONFIG_FLAGS_H_
