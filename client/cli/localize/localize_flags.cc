#include "client/cli/localize/localize_flags.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/cli/localize/inertial_report.h"
#include "client/cli/output/live_view.h"
#include "client/cli/source/imu_file.h"
#include "client/cli/source/text_file.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

constexpr double kRadians = 0.017453292519943295;

// Three numbers, degrees, as the table of glint localize has them at its end.
absl::StatusOr<std::array<double, 3>> ReadRotation(const std::string& path) {
  GLINT_ASSIGN_OR_RETURN(const auto text, ReadText(path));
  std::vector<double> values;
  for (const absl::string_view word : absl::StrSplit(text, absl::ByAnyChar(" ,\t\n"), absl::SkipEmpty())) {
    values.push_back(0);
    if (!absl::SimpleAtod(word, &values.back()) || !std::isfinite(values.back())) values.assign(4, 0);
  }
  if (values.size() != 3) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not the three numbers of a rotation, degrees"));
  }
  return std::array<double, 3>{values[0] * kRadians, values[1] * kRadians, values[2] * kRadians};
}

}  // namespace

void LocalizeFlags::AddTo(Flags* flags) {
  flags->Section("Localization");
  calibration.AddTo(flags, /*needed=*/true);
  flags->String("calibration-refine", "on|off|fixed:FILE",
                "The residual rotation of the right camera: estimated (the default), none (with --depth the only "
                "choice), or the three numbers in FILE, degrees.",
                &refine_);
  flags->Bool(
      "depth",
      "An RGB-D camera, and RIGHT is its depth: grey PNG files of 16 bits, whose pixels are those of LEFT unless "
      "there is --depth-camera; 0 is no depth. If the calibration has a lens, or two focal lengths, both are "
      "raw (--rectified: they are not). A calibration of --calibration-name has one camera, or that of LEFT and then "
      "that of the depths.",
      &depth);
  flags->String("depth-camera", "NAME",
                "With --depth: the camera of the calibration that depths are of, whose pixels are not those of LEFT; "
                "--cameras NAME is that of LEFT.",
                &depth_camera_);
  flags->Double(
      "depth-unit", "METRES",
      "With --depth: of a sample of 1 (default: as ORB-SLAM's settings say, else 0.001; TUM RGB-D has 0.0002).",
      &unit_);
  flags->Double("depth-nearest", "METRES", "With --depth: nearer is no depth.", &nearest_);
  flags->Double("depth-farthest", "METRES", "With --depth: farther is no depth.", &farthest_);
  flags->Double("baseline", "METRES",
                "With --depth: from the sensor's projector to its camera, which says how its error grows with the "
                "distance (default: as ORB-SLAM's settings say, else 0.08).",
                &baseline_);
  flags->Choice("mode",
                {{"reproducible", client::LocalizeMode::kReproducible}, {"realtime", client::LocalizeMode::kRealtime}},
                "reproducible (the default): the same pairs give the same bytes. realtime: what is worked out "
                "beside the pairs is used when it is ready.",
                &mode_);
  flags->Float(
      "rate", "HZ",
      "Pairs a second (default: the times of a video's frames, or those that the names of pictures are; else 10).",
      &rate_);
  flags->String("times", "FILE",
                "When pairs were taken: line n is pair n, and begins with its time, as data.csv and times.txt of EuRoC "
                "and KITTI have them, in seconds, milli-, micro- or nanoseconds.",
                &times_path_);
  flags->String("map", "NAME",
                "Go on in this map of the server, if it is there, and save it at the end (the server needs "
                "--map-directory).",
                &map);
  flags->Bool("relocalize", "Find each pair in --map on its own, and change nothing.", &relocalize);
  imu.AddTo(flags);
  flags->Section("Output");
  AddFormatTo(flags,
              absl::StrCat("table (the default): a line for each pair. csv: the same for programs, with the header ",
                           kLocalizeCsvHeader, " (with --imu also ", kInertialCsvColumns + 1, "). none: nothing."));
  flags->String("trajectory", "FILE", "Write the poses of the pairs that were located.", &trajectory);
  flags->Choice("trajectory-format", {{"tum", TrajectoryFormat::kTum}, {"kitti", TrajectoryFormat::kKitti}},
                "tum (the default): seconds x y z qx qy qz qw. kitti: the 12 numbers of [R t], where line n is pair n: "
                "a pair that was not located, or has no answer, has twelve nan.",
                &trajectory_format);
  flags->String("truth", "FILE",
                "Compare the located pairs with the true path, of either format: end error, ATE after the best rigid "
                "alignment, RPE, and KITTI's t_rel and r_rel. TUM: by time, lines in any order. KITTI: line n is pair "
                "n. EuRoC's data.csv has poses of the inertial sensor, and the calibration must say where that is. An "
                "error if under half of the pairs have a true pose.",
                &truth);
  AddDrawTo(flags, "pair", "The left picture, and the path from above.");
  mcap.AddTo(flags);
  AddViewFlags(flags, false, &view);
  AddProgressTo(flags);
  flags->Int("in-flight", "N", "Pairs sent ahead of their answers (1..4096, default 8).", &in_flight);
  flags->Int("max-frames", "N", "Stop after N pairs.", &max_frames);
}

absl::Status LocalizeFlags::Validate(bool needs_calibration) const {
  if (needs_calibration && !calibration.given()) return absl::InvalidArgumentError("option '--calibration': missing");
  GLINT_RETURN_IF_ERROR(calibration.Validate());
  GLINT_RETURN_IF_ERROR(CheckInFlight(in_flight));
  GLINT_RETURN_IF_ERROR(CheckMaxFrames(max_frames));
  if (rate_.has_value() && !(*rate_ >= 0.01f && *rate_ <= 10000)) {
    return absl::InvalidArgumentError(absl::StrCat("option '--rate': ", *rate_, " is not in 0.01..10000"));
  }
  if (!depth) {
    if (!depth_camera_.empty()) return absl::InvalidArgumentError("option '--depth-camera': needs --depth");
    for (const auto& [name, value] : {std::pair("--depth-unit", unit_), std::pair("--depth-nearest", nearest_),
                                      std::pair("--depth-farthest", farthest_), std::pair("--baseline", baseline_)}) {
      if (value.has_value()) return absl::InvalidArgumentError(absl::StrCat("option '", name, "': needs --depth"));
    }
  }
  if (rate_.has_value() && !times_path_.empty()) return absl::InvalidArgumentError("option '--times': not with --rate");
  GLINT_RETURN_IF_ERROR(imu.Validate());
  if (relocalize && imu.given()) return absl::InvalidArgumentError("option '--imu': not with --relocalize");
  if (relocalize && map.empty()) return absl::InvalidArgumentError("option '--relocalize': needs --map");
  return absl::OkStatus();
}

absl::Status LocalizeFlags::ReadTimes() {
  if (times_path_.empty()) return absl::OkStatus();
  GLINT_ASSIGN_OR_RETURN(times_, cli::ReadTimes(times_path_));
  return absl::OkStatus();
}

std::optional<absl::Duration> LocalizeFlags::KnownTimeOf(const PicturePair& pair) const {
  if (!times_.empty()) return absl::Nanoseconds(times_[std::min(static_cast<size_t>(pair.number), times_.size() - 1)]);
  if (rate_.has_value()) return absl::Seconds(1.0 / *rate_ * static_cast<double>(pair.number));
  return pair.first->time;
}

absl::Status LocalizeFlags::CheckTimes(const PicturePair& pair) const {
  if (times_.empty() || static_cast<size_t>(pair.number) < times_.size()) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(times_path_, ": has ", times_.size(), " times, and ", pair.first->name,
                                            " is pair ", pair.number + 1));
}

absl::StatusOr<client::LocalizeStreamOptions> LocalizeFlags::Options(
    const Shape& image, std::vector<std::string>* notes, std::optional<RigidTransform>* camera_from_imu) const {
  client::LocalizeStreamOptions options;
  GLINT_ASSIGN_OR_RETURN(PairCameras cameras,
                         depth ? calibration.ReadWithDepth(image, depth_camera_) : calibration.Read(image));
  options.camera = std::move(cameras.camera);
  options.rig = std::move(cameras.rig);
  options.raw_camera = std::move(cameras.raw_camera);
  notes->insert(notes->end(), cameras.notes.begin(), cameras.notes.end());
  if (imu.given()) {
    GLINT_ASSIGN_OR_RETURN(options.imu, imu.Sensor(cameras.imu));
  }
  const std::optional<client::InertialSensor>& known = options.imu.has_value() ? options.imu : cameras.imu;
  if (known.has_value()) *camera_from_imu = known->camera_from_imu;
  options.mode = mode_;
  options.in_flight = in_flight.value_or(options.in_flight);
  if (depth) {
    const double unit = cameras.depth_unit.value_or(default_depth_unit);
    if (cameras.depth_unit.has_value() && !unit_.has_value()) {
      notes->push_back(absl::StrCat("depths: ", unit, " m in a sample of 1, as the calibration says"));
    }
    options.depth = client::DepthCamera{unit_.value_or(unit), nearest_.value_or(0), farthest_.value_or(0)};
    const bool is_raw = options.raw_camera.has_value();
    double* const baseline = is_raw ? &options.raw_camera->baseline : &options.camera.baseline;
    *baseline = baseline_.value_or(cameras.nominal_baseline.value_or(kDefaultBaseline));
  }
  absl::string_view refine = refine_;
  if (absl::ConsumePrefix(&refine, "fixed:")) {
    GLINT_ASSIGN_OR_RETURN(options.camera.rig_rotation, ReadRotation(std::string(refine)));
    options.refine_rig = client::RigRefinement::kFixed;
  } else if (refine == "off") {
    options.refine_rig = client::RigRefinement::kOff;
  } else if (refine == "on") {
    options.refine_rig = client::RigRefinement::kOn;
  } else if (!refine.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("option '--calibration-refine': '", refine, "' is not on, off or fixed:FILE"));
  }
  return options;
}

}  // namespace glint::cli
