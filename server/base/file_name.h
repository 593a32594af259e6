// Names that clients give to files of a directory of the server's: never paths, and never hidden files.
#ifndef GLINT_SERVER_BASE_FILE_NAME_H_
#define GLINT_SERVER_BASE_FILE_NAME_H_

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace glint {

// Of the field "name". INVALID_ARGUMENT: it is not 1..64 letters, digits, '_', '-' and '.', or begins with '.'.
absl::Status CheckFileName(absl::string_view name);

// For an error that says what there is: "hall, office", up to 20 of those that CheckFileName() takes; "none".
std::string SomeOf(const std::set<std::string>& names);

}  // namespace glint

#endif  // GLINT_SERVER_BASE_FILE_NAME_H_
