// Text files as editors of any system write them.
#ifndef GLINT_CLIENT_CLI_SOURCE_TEXT_FILE_H_
#define GLINT_CLIENT_CLI_SOURCE_TEXT_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace glint::cli {

// The text of a file; "-" is standard input. A byte order mark of UTF-8 is left out, and every line ends in '\n' alone,
// whichever system's ends the file has. NOT_FOUND, and INVALID_ARGUMENT for UTF-16, begin with the name.
absl::StatusOr<std::string> ReadText(const std::string& path);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_TEXT_FILE_H_
