#include "client/cli/localize/data_set.h"

#include <Eigen/Core>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/status_macros.h"

namespace glint::cli {

absl::StatusOr<DataSetCommand> WithDataSet(const std::vector<std::string>& arguments, Flags* flags,
                                           const LocalizeFlags& given) {
  DataSetCommand command = {arguments, std::nullopt};
  const auto names = flags->Parse(arguments);
  if (!names.ok() || flags->help_wanted() || names->size() != 1) return command;
  const std::string& folder = names->front();
  GLINT_ASSIGN_OR_RETURN(command.set, FindDataSet(folder));
  if (!command.set.has_value()) return command;
  DataSet& set = *command.set;
  if (given.depth && !set.depth) {
    return absl::FailedPreconditionError(absl::StrCat("option '--depth': ", folder, " is ", set.layout, ", of pairs"));
  }
  if (given.calibration.given()) {
    set.calibration = {};
  } else if (set.calibration.path.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("option '--calibration': missing; ", set.no_calibration));
  }
  if (given.imu.given() || given.relocalize) set.imu = {};
  if (!given.truth.empty()) set.truth = {};
  std::vector<std::string> said;
  if (set.depth) said.push_back("--depth");
  if (!set.calibration.path.empty() && !set.cameras.empty()) said.push_back("--cameras=" + set.cameras);
  for (const auto& [name, part] : {std::pair("--calibration=", &set.calibration), std::pair("--imu=", &set.imu),
                                   std::pair("--truth=", &set.truth)}) {
    if (!part->path.empty()) said.push_back(name + part->path);
  }
  command.arguments.insert(command.arguments.begin(), said.begin(), said.end());
  return command;
}

void DataSetCommand::Settle(LocalizeFlags* parsed) {
  if (!set.has_value()) return;
  if (!parsed->imu.given()) set->imu = {};
  if (parsed->truth.empty()) set->truth = {};
  if (set->depth) parsed->default_depth_unit = set->depth_unit;
}

absl::Status PutTruthInCamera(const client::LocalizeStreamOptions& options,
                              const std::optional<RigidTransform>& camera_from_imu, bool of_first, Trajectory* truth) {
  if (truth->of_imu) {
    if (!camera_from_imu.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("option '--truth': the poses in ", truth->name,
                       " are an inertial sensor's, and the calibration does not say where that is (--imu PATH "
                       "--camera-from-imu FILE says it; --truth '' compares nothing)"));
    }
    MoveTo(camera_from_imu->Inverse(), truth);
    truth->of_imu = false;
    truth->of_raw_camera = options.rig.has_value() || options.raw_camera.has_value();
  }
  const std::vector<double>& p = options.camera.left_projection;
  if (of_first && p.size() == 12) {
    // P = K [I t], where t takes coordinates of the first camera to those of this one.
    const Eigen::Vector3d t = {(p[3] - p[2] * p[11]) / p[0], (p[7] - p[6] * p[11]) / p[5], p[11]};
    MoveTo({Eigen::Matrix3d::Identity(), -t}, truth);
  }
  return absl::OkStatus();
}

}  // namespace glint::cli
