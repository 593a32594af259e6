// Where sensors of a recording are to each other, as its /tf_static says.
#ifndef GLINT_CLIENT_CLI_SOURCE_BAG_FRAMES_H_
#define GLINT_CLIENT_CLI_SOURCE_BAG_FRAMES_H_

#include <optional>
#include <string>

#include "client/cli/source/bag_file.h"
#include "features/camera/rig.h"

namespace glint::cli {

// Takes coordinates in the axes of an inertial sensor (topics as BagFile::ReadImu() has them: the gyroscope's) to those
// in the axes of a camera, by the frames that the first message of each names and the chain of static transforms
// between these. Nothing: there is no such chain, or the axes of gyroscope and accelerometer are not the same.
std::optional<RigidTransform> CameraFromImu(BagFile* bag, const std::string& camera, const std::string& imu);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_BAG_FRAMES_H_
