// Calibration files of any format: refused with a word about why, or a rig of finite numbers and of rotations, which
// each format writes or says what it has no place for. Input: the file.
#include <Eigen/Core>
#include <cmath>
#include <string>

#include "calibration/calibration.h"
#include "calibration/formats/format.h"
#include "tests/fuzz/targets/input.h"

namespace glint::calibration {
namespace {

constexpr char kPath[] = "some/file.yaml";

void CheckPose(const RigidTransform& pose) {
  FUZZ_CHECK(pose.translation.allFinite());
  const Eigen::Matrix3d off = pose.rotation.transpose() * pose.rotation - Eigen::Matrix3d::Identity();
  FUZZ_CHECK(off.cwiseAbs().maxCoeff() < 1e-6);
}

void Run(const std::string& text) {
  const auto read = ParseCalibration(kPath, text);
  if (!read.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(read.status()) || absl::IsResourceExhausted(read.status()));
    FUZZ_CHECK(!read.status().message().empty());
    return;
  }
  FUZZ_CHECK(!read->rig.cameras.empty());
  for (const RigCamera& camera : read->rig.cameras) {
    for (const double number : {camera.camera.fx, camera.camera.fy, camera.camera.cx, camera.camera.cy}) {
      FUZZ_CHECK(std::isfinite(number));
    }
    for (const double k : camera.camera.lens) FUZZ_CHECK(std::isfinite(k));
    CheckPose(camera.rig_from_camera);
  }
  if (read->rig.imu) CheckPose(read->rig.imu->rig_from_imu);
  for (const Format& format : Formats()) {
    if (format.write == nullptr) continue;
    const auto files = format.write(*read);
    FUZZ_CHECK(files.ok() ? !files->empty() : !files.status().message().empty());
  }
}

}  // namespace
}  // namespace glint::calibration

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  glint::calibration::Run(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
