// Files that are read as a whole, which may also be pipes.
#ifndef GLINT_FEATURES_READ_FILE_H_
#define GLINT_FEATURES_READ_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace glint {

// All bytes. INVALID_ARGUMENT: "cannot read PATH: Is a directory", with the system's reason.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path);

}  // namespace glint

#endif  // GLINT_FEATURES_READ_FILE_H_
