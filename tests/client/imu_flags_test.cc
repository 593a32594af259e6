// What is known of an inertial sensor: options and calibrations of glint localize --imu, and what it says at its end.
#include "client/cli/localize/imu_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/cli/localize/inertial_report.h"
#include "client/cli/localize/localize_flags.h"
#include "client/cli/source/calibration.h"

namespace glint::cli {
namespace {

using ::testing::HasSubstr;

std::string Path(const std::string& name) { return ::testing::TempDir() + "imu-flags-" + name; }

std::string Write(const std::string& name, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
  std::ofstream(Path(name), std::ios::binary) << text;
  return Path(name);
}

// The error of the options, or of what they and a calibration make.
absl::StatusOr<client::InertialSensor> Sensor(const std::vector<std::string>& arguments,
                                              const std::optional<client::InertialSensor>& of_calibration = {}) {
  Flags flags;
  ImuFlags imu;
  imu.AddTo(&flags);
  EXPECT_TRUE(flags.Parse(arguments).ok());
  if (const absl::Status valid = imu.Validate(); !valid.ok()) return valid;
  return imu.Sensor(of_calibration);
}

TEST(ImuFlags, AreInPlaceOfTheCalibration) {
  client::InertialSensor known;
  known.camera_from_imu.translation = {1, 2, 3};
  known.gyroscope_noise_density = 1e-3;
  known.imu_time_minus_camera_time_ns = 7;
  const auto same = Sensor({"--imu", "x"}, known);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(same->camera_from_imu.translation, known.camera_from_imu.translation);
  EXPECT_EQ(same->gyroscope_noise_density, 1e-3);
  EXPECT_EQ(same->imu_time_minus_camera_time_ns, 7);

  const std::string pose = Write("pose.txt", "[0, 0, 1, 0.1]\n[1, 0, 0, -0.2]\n[0, 1, 0, 0.3]\n[0, 0, 0, 1]\n");
  const auto own = Sensor({"--imu", "x", "--camera-from-imu", pose, "--imu-noise", "1e-4,2e-5,3e-3,4e-4",
                           "--imu-time-offset", "-0.0125", "--imu-range", "8.7,78.4"},
                          known);
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->camera_from_imu * Eigen::Vector3d(1, 2, 3), Eigen::Vector3d(3.1, 0.8, 2.3));
  EXPECT_EQ(own->gyroscope_noise_density, 1e-4);
  EXPECT_EQ(own->gyroscope_random_walk, 2e-5);
  EXPECT_EQ(own->accelerometer_noise_density, 3e-3);
  EXPECT_EQ(own->accelerometer_random_walk, 4e-4);
  EXPECT_EQ(own->imu_time_minus_camera_time_ns, -12'500'000);
  EXPECT_EQ(own->gyroscope_range, 8.7);
  EXPECT_EQ(own->accelerometer_range, 78.4);
}

TEST(ImuFlags, ErrorsNameTheOption) {
  const std::string mirror = Write("mirror.txt", "1 0 0 0 0 1 0 0 0 0 -1 0"), few = Write("few.txt", "1 0 0"),
                    tilted = Write("tilted.txt", "1 0 0 0 0 1 0 0 0 0 1 0 0 0 1 1");
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--imu", "x"}, "option '--imu': the calibration has no inertial sensor; --camera-from-imu FILE says"},
      {{"--camera-from-imu", "x"}, "option '--camera-from-imu': needs --imu"},
      {{"--imu-noise", "x"}, "option '--imu-noise': needs --imu"},
      {{"--imu-time-offset", "0"}, "option '--imu-time-offset': needs --imu"},
      {{"--imu-range", "1,2"}, "option '--imu-range': needs --imu"},
      {{"--imu", "x", "--camera-from-imu", mirror}, "mirror.txt: "},
      {{"--imu", "x", "--camera-from-imu", few}, "few.txt: not the 12 or 16 numbers of [R t]"},
      {{"--imu", "x", "--camera-from-imu", tilted}, "tilted.txt: the last row is not 0 0 0 1"},
      {{"--imu", "x", "--camera-from-imu", "/nowhere.txt"}, "/nowhere.txt"}};
  for (const auto& [arguments, error] : cases) {
    EXPECT_THAT(Sensor(arguments).status().message(), HasSubstr(error));
  }
  const client::InertialSensor known;
  EXPECT_THAT(Sensor({"--imu", "x", "--imu-noise", "1,2,3"}, known).status().message(),
              HasSubstr("option '--imu-noise': '1,2,3' is not 4 numbers with commas between them"));
  EXPECT_THAT(Sensor({"--imu", "x", "--imu-range", "1,inf"}, known).status().message(), HasSubstr("is not 2 numbers"));
  EXPECT_THAT(Sensor({"--imu", "x", "--imu-time-offset", "1.5"}, known).status().message(),
              HasSubstr("option '--imu-time-offset': 1.5 is not in -1..1"));
}

TEST(ImuFlags, ThoseOfTheCommandContradictEachOther) {
  const auto validate = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--calibration", "x"});
    Flags flags;
    LocalizeFlags localize;
    localize.AddTo(&flags);
    EXPECT_TRUE(flags.Parse(arguments).ok());
    return std::string(localize.Validate().message());
  };
  EXPECT_EQ(validate({"--imu", "x"}), "");
  EXPECT_EQ(validate({"--imu-range", "1,2"}), "option '--imu-range': needs --imu");
  EXPECT_EQ(validate({"--imu-poses", "x"}), "option '--imu-poses': needs --imu");
  EXPECT_EQ(validate({"--imu", "x", "--map", "m", "--relocalize"}), "option '--imu': not with --relocalize");
  EXPECT_EQ(validate({"--times", "x", "--rate", "5"}), "option '--times': not with --rate");
}

TEST(ImuFlags, TheFirstPairMustBeOfTheRecordingsClock) {
  ImuRecording recording;  // 100 to 110 s
  recording.name = "imu.csv";
  for (int i = 0; i < 2000; ++i) recording.gyroscope.push_back({100'000'000'000 + int64_t{5'000'000} * i, {}});
  const auto check = [&](std::optional<double> seconds) {
    std::optional<absl::Duration> time;
    if (seconds.has_value()) time = absl::Seconds(*seconds);
    return std::string(ImuFlags::CheckTime(time, recording).message());
  };
  EXPECT_EQ(check(100.5), "");
  EXPECT_EQ(check(41), "");  // the sensor was switched on later
  EXPECT_THAT(check(std::nullopt), HasSubstr("option '--imu': the names of the pictures are no times; --times FILE"));
  EXPECT_THAT(check(0), HasSubstr("the first pair is of 0.000 s, and imu.csv: 2000 readings of 100.000 to 109.995"
                                  " s, 200.0 Hz: not of one clock"));
  EXPECT_THAT(check(110), HasSubstr("not of one clock"));
}

// cam0 looks along x of the sensor, which lies 0.1 m before it.
constexpr char kKalibr[] =
    "cam0:\n  camera_model: pinhole\n  distortion_model: radtan\n  distortion_coeffs: [0.1, 0.0, 0.0, 0.0]\n"
    "  intrinsics: [400.0, 400.0, 320.0, 240.0]\n  resolution: [640, 480]\n  timeshift_cam_imu: 0.005\n"
    "  T_cam_imu:\n  - [0.0, -1.0, 0.0, 0.0]\n  - [0.0, 0.0, -1.0, 0.0]\n  - [1.0, 0.0, 0.0, 0.1]\n"
    "  - [0.0, 0.0, 0.0, 1.0]\n"
    "cam1:\n  camera_model: pinhole\n  distortion_model: radtan\n  distortion_coeffs: [0.1, 0.0, 0.0, 0.0]\n"
    "  intrinsics: [400.0, 400.0, 320.0, 240.0]\n  resolution: [640, 480]\n"
    "  T_cn_cnm1:\n  - [1.0, 0.0, 0.0, -0.11]\n  - [0.0, 1.0, 0.0, 0.0]\n  - [0.0, 0.0, 1.0, 0.0]\n"
    "  - [0.0, 0.0, 0.0, 1.0]\n";

absl::StatusOr<PairCameras> ReadCameras(std::vector<std::string> arguments) {
  Flags flags;
  CalibrationFlags calibration;
  calibration.AddTo(&flags, true);
  EXPECT_TRUE(flags.Parse(arguments).ok());
  return calibration.Read({640, 480});
}

TEST(ImuCalibration, IsThatOfTheLeftCamera) {
  Write("kalibr/camchain-imucam.yaml", kKalibr);
  Write("kalibr/imu.yaml",
        "accelerometer_noise_density: 0.002\naccelerometer_random_walk: 0.003\ngyroscope_noise_density: 0.0002\n"
        "gyroscope_random_walk: 0.00002\nrostopic: /imu0\nupdate_rate: 200.0\n");
  const auto cameras = ReadCameras({"--calibration", Path("kalibr")});
  ASSERT_TRUE(cameras.ok()) << cameras.status();
  ASSERT_TRUE(cameras->imu.has_value());
  const client::InertialSensor& imu = *cameras->imu;
  EXPECT_TRUE((imu.camera_from_imu * Eigen::Vector3d(1, 0, 0)).isApprox(Eigen::Vector3d(0, 0, 1.1), 1e-12));
  EXPECT_TRUE((imu.camera_from_imu * Eigen::Vector3d(0, 1, 0)).isApprox(Eigen::Vector3d(-1, 0, 0.1), 1e-12));
  EXPECT_EQ(imu.gyroscope_noise_density, 0.0002);
  EXPECT_EQ(imu.gyroscope_random_walk, 0.00002);
  EXPECT_EQ(imu.accelerometer_noise_density, 0.002);
  EXPECT_EQ(imu.accelerometer_random_walk, 0.003);
  EXPECT_EQ(imu.imu_time_minus_camera_time_ns, 5'000'000);

  const std::string projections = "P0: 700 0 600 0 0 700 180 0 0 0 1 0\nP1: 700 0 600 -380 0 700 180 0 0 0 1 0\n";
  const auto kitti = ReadCameras({"--calibration", Write("kitti.txt", projections)});
  ASSERT_TRUE(kitti.ok()) << kitti.status();
  EXPECT_FALSE(kitti->imu.has_value());
}

// A camera that is rectified by a turn of 90 degrees about its axis: the sensor's pose is of the rectified one.
TEST(ImuCalibration, OfRectifiedImagesIsTurnedWithThem) {
  const std::string settings = Write(
      "orb.yaml",
      "%YAML:1.0\n---\nCamera.type: \"PinHole\"\nCamera.fx: 400.0\nCamera.fy: 400.0\nCamera.cx: 320.0\nCamera.cy: "
      "240.0\n"
      "Camera.width: 640\nCamera.height: 480\nCamera.bf: 44.0\n"
      "LEFT.height: 480\nLEFT.width: 640\n"
      "LEFT.D: !!opencv-matrix\n   rows: 1\n   cols: 5\n   dt: d\n   data: [0.1, 0.0, 0.0, 0.0, 0.0]\n"
      "LEFT.K: !!opencv-matrix\n   rows: 3\n   cols: 3\n   dt: d\n   data: [400.0, 0.0, 320.0, 0.0, 400.0, 240.0, 0, "
      "0, 1.0]\n"
      "LEFT.R: !!opencv-matrix\n   rows: 3\n   cols: 3\n   dt: d\n   data: [0.8, 0.0, -0.6, 0.0, 1.0, 0.0, 0.6, 0.0, "
      "0.8]\n"
      "LEFT.P: !!opencv-matrix\n   rows: 3\n   cols: 4\n   dt: d\n"
      "   data: [400.0, 0, 320.0, 0, 0, 400.0, 240.0, 0, 0, 0, 1.0, 0]\n"
      "RIGHT.height: 480\nRIGHT.width: 640\n"
      "RIGHT.D: !!opencv-matrix\n   rows: 1\n   cols: 5\n   dt: d\n   data: [0.1, 0.0, 0.0, 0.0, 0.0]\n"
      "RIGHT.K: !!opencv-matrix\n   rows: 3\n   cols: 3\n   dt: d\n   data: [400.0, 0.0, 320.0, 0.0, 400.0, 240.0, 0, "
      "0, 1.0]\n"
      "RIGHT.R: !!opencv-matrix\n   rows: 3\n   cols: 3\n   dt: d\n   data: [0.8, 0.0, -0.6, 0.0, 1.0, 0.0, 0.6, 0.0, "
      "0.8]\n"
      "RIGHT.P: !!opencv-matrix\n   rows: 3\n   cols: 4\n   dt: d\n"
      "   data: [400.0, 0, 320.0, -44.0, 0, 400.0, 240.0, 0, 0, 0, 1.0, 0]\n"
      "Tbc: !!opencv-matrix\n   rows: 4\n   cols: 4\n   dt: f\n"
      "   data: [1.0, 0.0, 0.0, 0.5, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]\n"
      "IMU.NoiseGyro: 1.0e-3\nIMU.NoiseAcc: 1.0e-2\nIMU.GyroWalk: 1.0e-5\nIMU.AccWalk: 1.0e-4\nIMU.Frequency: 200\n");
  const auto raw = ReadCameras({"--calibration", settings});
  ASSERT_TRUE(raw.ok()) << raw.status();
  const auto rectified = ReadCameras({"--calibration", settings, "--rectified"});
  ASSERT_TRUE(rectified.ok()) << rectified.status();
  ASSERT_TRUE(raw->imu.has_value() && rectified->imu.has_value());
  const Eigen::Vector3d p(1, 2, 3), in_raw = raw->imu->camera_from_imu * p;
  const Eigen::Vector3d turned(0.8 * in_raw.x() - 0.6 * in_raw.z(), in_raw.y(), 0.6 * in_raw.x() + 0.8 * in_raw.z());
  EXPECT_TRUE((rectified->imu->camera_from_imu * p).isApprox(turned, 1e-6));
}

TEST(InertialReport, ColumnsAreThoseOfTheHeader) {
  const auto columns = [](absl::string_view row) { return std::count(row.begin(), row.end(), ','); };
  client::Location location;
  EXPECT_EQ(columns(InertialColumns(location)), columns(kInertialCsvColumns));
  client::Inertial& imu = location.inertial.emplace();
  EXPECT_EQ(InertialColumns(location), ",INITIALIZING,,,,,,,,,,0");
  EXPECT_EQ(columns(InertialColumns(location)), columns(kInertialCsvColumns));
  imu.status = client::InertialStatus::kReady;
  imu.velocity = {1, 2, 3};
  imu.gyroscope_bias = {0.25, 0.5, 0.75};
  imu.accelerometer_bias = {-1, -2, -3};
  imu.blind_seconds = 0.5;
  EXPECT_EQ(InertialColumns(location), ",READY,1,2,3,0.25,0.5,0.75,-1,-2,-3,0.5");
}

TEST(InertialReport, TheEndSaysWhatWasKnownAndWhatWasBad) {
  InertialSummary summary;
  client::Location location;
  summary.Add(location);
  EXPECT_EQ(summary.Text(), "");  // no sensor
  location.inertial.emplace();
  summary.Add(location);
  EXPECT_EQ(summary.Text(), "imu: INITIALIZING; 0 of 1 pairs with it ready; 0 readings");
  location.inertial->status = client::InertialStatus::kReady;
  location.inertial->gyroscope_bias = {0.001, 0.002, 0.003};
  location.inertial->accelerometer_bias = {0.1, 0.2, 0.3};
  location.inertial->gyroscope_bias_sigma = 0.0005;
  location.inertial->accelerometer_bias_sigma = 0.02;
  location.status = client::LocationStatus::kTracking;
  location.has_covariance = true;
  summary.Add(location);
  location.status = client::LocationStatus::kCoasting;
  location.inertial->blind_seconds = 0.75;
  summary.Add(location);
  location.has_covariance = false;  // on the last motion alone
  location.inertial->blind_seconds = 2;
  location.inertial->status = client::InertialStatus::kLeftOut;
  location.inertial->readings = {100, 3, 0, 2, 0, 1, 0, 0};
  summary.Add(location);
  EXPECT_EQ(summary.Text(),
            "imu: LEFT_OUT; 2 of 4 pairs with it ready, 1 without it, since it contradicts the images or is silent; 1 "
            "coasted on it, up to 0.75 s; bias: gyroscope 0.001 0.002 0.003 rad/s, +-0.0005, accelerometer 0.1 0.2 0.3 "
            "m/s^2, +-0.02; 100 readings, 3 late, 2 unsorted, 1 saturated");
}

}  // namespace
}  // namespace glint::cli
