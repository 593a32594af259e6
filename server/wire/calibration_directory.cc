#include "server/wire/calibration_directory.h"

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "calibration/calibration.h"
#include "calibration/stereo_rig.h"
#include "features/error.h"
#include "features/server_error.h"
#include "features/status_macros.h"
#include "server/base/file_name.h"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr size_t kCameras = 2;

absl::StatusOr<NamedRig> RigIn(calibration::Calibration calibration) {
  std::vector<RigCamera>& cameras = calibration.rig.cameras;
  if (cameras.size() < kCameras) {
    return absl::InvalidArgumentError(absl::StrCat("has ", cameras.size(), " of ", kCameras, " cameras"));
  }
  cameras.resize(kCameras);
  if (calibration.unit_is_unknown) {
    return absl::InvalidArgumentError(absl::StrCat("files of ", calibration.format,
                                                   " do not say the unit of the distance between the cameras: give "
                                                   "them in a format that has metres, such as kalibr or euroc"));
  }
  for (const RigCamera& camera : cameras) {
    if (camera.camera.image == Shape{}) {
      return absl::InvalidArgumentError(absl::StrCat(camera.name, ": the file does not say the size of its images"));
    }
  }
  NamedRig named;
  GLINT_ASSIGN_OR_RETURN(named.warnings, calibration::WarningsOf(calibration, {}));
  named.rig = calibration::StereoRigOf(calibration.rig, {});
  return named;
}

}  // namespace

absl::Status UnusableRig(absl::string_view name, absl::string_view why) {
  const absl::Status cut = ContradictionError("name", absl::StrCat("\"", name, "\": ", why));
  return FailedPreconditionError("name", name, absl::StripPrefix(cut.message(), "name: "));
}

absl::StatusOr<NamedRig> CalibrationDirectory::Read(absl::string_view name) const {
  GLINT_ASSIGN_OR_RETURN(const std::string path, Find(name));
  const auto without_directory = [this](absl::string_view text) {
    return absl::StrReplaceAll(text, {{absl::StrCat(path_, "/"), ""}});
  };
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) {  // a pipe could wait for ever
    return UnusableRig(name, absl::StrCat(without_directory(path), ": cannot be read: neither a file nor a folder"));
  }
  absl::StatusOr<calibration::Calibration> read = calibration::ReadCalibration({path});
  if (!read.ok()) return UnusableRig(name, without_directory(read.status().message()));
  absl::StatusOr<NamedRig> named = RigIn(*std::move(read));
  if (!named.ok()) return UnusableRig(name, without_directory(named.status().message()));
  for (std::string& warning : named->warnings) warning = without_directory(warning);
  return named;
}

absl::StatusOr<std::string> CalibrationDirectory::Find(absl::string_view name) const {
  if (path_.empty()) {
    return absl::FailedPreconditionError("name: this server has no calibrations (--calibration-directory)");
  }
  GLINT_RETURN_IF_ERROR(CheckFileName(name));
  std::set<std::string> all, with_extension;
  std::error_code error;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (file == name) return absl::StrCat(path_, "/", name);
    std::error_code none;
    if (entry->path().stem().string() == name && entry->is_regular_file(none)) with_extension.insert(file);
    all.insert(file);
  }
  if (error) return absl::UnavailableError(absl::StrCat("name: the calibration directory: ", error.message()));
  if (with_extension.empty()) {
    return NotFoundError("name", name,
                         absl::StrCat("there is no calibration \"", name, "\"; this server has ", SomeOf(all)));
  }
  if (with_extension.size() > 1) {
    return UnusableRig(name, absl::StrCat("is one of several files: give the whole name of ", SomeOf(with_extension)));
  }
  return absl::StrCat(path_, "/", *with_extension.begin());
}

absl::Status CheckCalibrationDirectory(const std::string& path) {
  std::error_code error;
  if (path.empty() || (fs::is_directory(path, error) && access(path.c_str(), R_OK | X_OK) == 0)) {
    return absl::OkStatus();
  }
  return ContradictionError("calibration-directory",
                            absl::StrCat("\"", Echo(path), "\" is no directory that can be read"));
}

}  // namespace glint
