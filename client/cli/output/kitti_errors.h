// How far a path is from the true one.
#ifndef GLINT_CLIENT_CLI_OUTPUT_KITTI_ERRORS_H_
#define GLINT_CLIENT_CLI_OUTPUT_KITTI_ERRORS_H_

#include <string>
#include <vector>

#include "client/localization.h"

namespace glint::cli {

// Paths of the same moments, of one length, at least 2. The report of CompareWithTruth(). `compared` is a line of it,
// without its end: which poses these are.
std::string ReportErrors(const std::vector<client::CameraPose>& path, const std::vector<client::CameraPose>& truth,
                         const std::string& compared);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_KITTI_ERRORS_H_
