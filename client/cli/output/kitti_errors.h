// How far a path is from the true one.
#ifndef GLINT_CLIENT_CLI_OUTPUT_KITTI_ERRORS_H_
#define GLINT_CLIENT_CLI_OUTPUT_KITTI_ERRORS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/localization.h"

namespace glint::cli {

// Paths of the same moments, of one length, at least 2. The report of CompareWithTruth().
absl::StatusOr<std::string> ReportErrors(const std::vector<client::CameraPose>& path,
                                         const std::vector<client::CameraPose>& truth);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_KITTI_ERRORS_H_
