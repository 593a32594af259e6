// glint localize FOLDER, of a data set: what the folder has, as options, and what its truth is of.
#ifndef GLINT_CLIENT_CLI_LOCALIZE_DATA_SET_H_
#define GLINT_CLIENT_CLI_LOCALIZE_DATA_SET_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/base/flags.h"
#include "client/cli/localize/localize_flags.h"
#include "client/cli/output/trajectory.h"
#include "client/cli/source/dataset.h"
#include "client/localization.h"
#include "features/camera/rig.h"

namespace glint::cli {

struct DataSetCommand {
  std::vector<std::string> arguments;  // those that were given, behind what the data set says
  std::optional<DataSet> set;          // without what the arguments replace

  // Once the arguments are parsed into `parsed`: leaves out of the set what they leave out, and sets its defaults.
  void Settle(LocalizeFlags* parsed);
  bool has_truth() const { return set.has_value() && !set->truth.path.empty(); }  // that --truth is
};

// `flags` parse into `given`, and do so here. The arguments as they are, if their one source is no data set's folder or
// they cannot be parsed. FAILED_PRECONDITION: the set lacks what an option must say, or contradicts one. Else errors of
// FindDataSet().
absl::StatusOr<DataSetCommand> WithDataSet(const std::vector<std::string>& arguments, Flags* flags,
                                           const LocalizeFlags& given);

// Makes the truth that of the left camera of `options`, if it is of something else: of the inertial sensor, or
// (`of_first`) of the camera that its projection counts from. `camera_from_imu`: as LocalizeFlags::Options() has it.
// INVALID_ARGUMENT: that is not known, and needed.
absl::Status PutTruthInCamera(const client::LocalizeStreamOptions& options,
                              const std::optional<RigidTransform>& camera_from_imu, bool of_first, Trajectory* truth);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_LOCALIZE_DATA_SET_H_
