#include "server/wire/calibration_directory.h"

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
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

// Whether the files say all that by value has to be said.
absl::Status CheckComplete(const calibration::Calibration& calibration) {
  const std::vector<RigCamera>& cameras = calibration.rig.cameras;
  if (cameras.size() > 1 && calibration.unit_is_unknown) {
    return absl::InvalidArgumentError(absl::StrCat("files of ", calibration.format,
                                                   " do not say the unit of the distance between the cameras: give "
                                                   "them in a format that has metres, such as kalibr or euroc"));
  }
  for (const RigCamera& camera : cameras) {
    if (camera.camera.image == Shape{}) {
      return absl::InvalidArgumentError(absl::StrCat(camera.name, ": the file does not say the size of its images"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Named<StereoRig>> RigIn(calibration::Calibration calibration) {
  std::vector<RigCamera>& cameras = calibration.rig.cameras;
  if (cameras.size() < kCameras) {
    return absl::InvalidArgumentError(absl::StrCat("has ", cameras.size(), " of ", kCameras, " cameras"));
  }
  cameras.resize(kCameras);
  GLINT_RETURN_IF_ERROR(CheckComplete(calibration));
  Named<StereoRig> named;
  GLINT_ASSIGN_OR_RETURN(named.warnings, calibration::WarningsOf(calibration, {}));
  named.cameras = calibration::StereoRigOf(calibration.rig, {});
  return named;
}

bool NameHas(const RigCamera& camera, absl::string_view word) {
  return absl::StrContains(absl::AsciiStrToLower(camera.name), word);
}

// Whether two cameras are meant to be left and right.
bool AreAStereoPair(const calibration::Calibration& calibration) {
  const std::vector<RigCamera>& cameras = calibration.rig.cameras;
  const bool have_sides = NameHas(cameras[0], "left") && NameHas(cameras[1], "right");
  return calibration.first_is_left || calibration.rectified || have_sides;
}

absl::StatusOr<Named<RgbdCamera>> RgbdIn(calibration::Calibration calibration) {
  constexpr char kWanted[] = ": give one camera, whose pixels depths are of, or that of images and then that of depths";
  const std::vector<RigCamera>& cameras = calibration.rig.cameras;
  if (cameras.empty() || cameras.size() > kCameras) {
    return absl::InvalidArgumentError(absl::StrCat("has ", cameras.size(), " cameras", kWanted));
  }
  if (cameras.size() == kCameras) {
    const std::string both = absl::StrCat(cameras[0].name, " and ", cameras[1].name);
    if (AreAStereoPair(calibration)) {
      return absl::InvalidArgumentError(absl::StrCat(both, " are a stereo pair", kWanted));
    }
    if (NameHas(cameras[0], "depth")) {
      return absl::InvalidArgumentError(absl::StrCat(both, " are in the other order", kWanted));
    }
  }
  GLINT_RETURN_IF_ERROR(CheckComplete(calibration));
  Named<RgbdCamera> named;
  named.cameras = calibration::RgbdCameraOf(calibration.rig, {});
  GLINT_ASSIGN_OR_RETURN(named.warnings, calibration::RgbdWarningsOf(std::move(calibration), {}));
  return named;
}

}  // namespace

absl::Status UnusableCalibration(absl::string_view name, absl::string_view why) {
  const absl::Status cut = ContradictionError("name", absl::StrCat("\"", name, "\": ", why));
  return FailedPreconditionError("name", name, absl::StripPrefix(cut.message(), "name: "));
}

absl::StatusOr<Named<StereoRig>> CalibrationDirectory::ReadRig(absl::string_view name) const {
  return Read(name, {}, RigIn);
}

absl::StatusOr<Named<RgbdCamera>> CalibrationDirectory::ReadRgbd(absl::string_view name) const {
  calibration::ReadOptions options;
  options.in_file_order = true;
  return Read(name, options, RgbdIn);
}

template <typename Cameras>
absl::StatusOr<Named<Cameras>> CalibrationDirectory::Read(
    absl::string_view name, const calibration::ReadOptions& options,
    absl::StatusOr<Named<Cameras>> (*take)(calibration::Calibration)) const {
  GLINT_ASSIGN_OR_RETURN(const std::string path, Find(name));
  const auto without_directory = [this](absl::string_view text) {
    return absl::StrReplaceAll(text, {{absl::StrCat(path_, "/"), ""}});
  };
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) {  // a pipe could wait for ever
    return UnusableCalibration(name,
                               absl::StrCat(without_directory(path), ": cannot be read: neither a file nor a folder"));
  }
  absl::StatusOr<calibration::Calibration> read = calibration::ReadCalibration({path}, options);
  if (!read.ok()) return UnusableCalibration(name, without_directory(read.status().message()));
  absl::StatusOr<Named<Cameras>> named = take(*std::move(read));
  if (!named.ok()) return UnusableCalibration(name, without_directory(named.status().message()));
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
    return UnusableCalibration(
        name, absl::StrCat("is one of several files: give the whole name of ", SomeOf(with_extension)));
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
