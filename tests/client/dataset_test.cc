// Folders of data sets: what is found in them, which pictures belong together, and what is said where a part is
// missing.
#include "client/cli/source/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/cli/source/dataset_lists.h"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr int64_t kFirst = 1403636579763555584;  // EuRoC's MH_01
constexpr char kEye[] =
    "%%YAML:1.0\nsensor_type: camera\nT_BS:\n  cols: 4\n  rows: 4\n  data: [1, 0, 0, %g, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, "
    "0, 1]\nrate_hz: 20\nresolution: [752, 480]\ncamera_model: pinhole\nintrinsics: [458, 457, 367, 248]\n"
    "distortion_model: radial-tangential\ndistortion_coefficients: [-0.28, 0.07, 0.0002, 0.00002]\n";
constexpr char kImu[] =
    "sensor_type: imu\nT_BS:\n  cols: 4\n  rows: 4\n  data: [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]\n"
    "rate_hz: 200\ngyroscope_noise_density: 1.7e-4\ngyroscope_random_walk: 2e-5\naccelerometer_noise_density: 2e-3\n"
    "accelerometer_random_walk: 3e-3\n";
constexpr char kProjections[] =
    "P0: 700 0 600 0 0 700 180 0 0 0 1 0\nP1: 700 0 600 -380 0 700 180 0 0 0 1 0\n"
    "P2: 700 0 600 42 0 700 180 0 0 0 1 0\nP3: 700 0 600 -338 0 700 180 0 0 0 1 0\n";

class DataSetTest : public ::testing::Test {
 protected:
  ~DataSetTest() override { fs::remove_all(root_); }

  std::string Path(const std::string& name = "") const { return name.empty() ? root_ : root_ + "/" + name; }
  void Write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(Path(name)).parent_path());
    std::ofstream(Path(name), std::ios::binary) << text;
  }
  void Remove(const std::string& name) const { fs::remove_all(Path(name)); }

  DataSet Find(const std::string& folder = "") const {
    const auto found = FindDataSet(Path(folder));
    EXPECT_TRUE(found.ok()) << found.status();
    EXPECT_TRUE(found.ok() && found->has_value());
    return found.ok() && found->has_value() ? **found : DataSet();
  }
  // The error's text; "none" if it is no data set, "" if it is one.
  std::string Error(const std::string& folder = "") const {
    const auto found = FindDataSet(Path(folder));
    return found.ok() ? (found->has_value() ? "" : "none") : std::string(found.status().message());
  }
  // Of the pairs, without the folder.
  std::vector<std::pair<std::string, std::string>> Names(const DataSet& set) const {
    std::vector<std::pair<std::string, std::string>> names;
    for (const DataSetPair& pair : set.pairs) {
      names.emplace_back(fs::path(pair.left).lexically_relative(root_).string(),
                         fs::path(pair.right).lexically_relative(root_).string());
    }
    return names;
  }
  static std::vector<int64_t> Times(const DataSet& set) {
    std::vector<int64_t> times;
    for (const DataSetPair& pair : set.pairs) times.push_back(absl::ToInt64Nanoseconds(pair.time.value()));
    return times;
  }

  // Pictures a 20th of a second apart: cam0 0 to 4, of which 3 is listed and not there; cam1 0, 2, 3, 4 and 5.
  void WriteEuroc(const std::string& base) const {
    for (const auto& [camera, listed] :
         {std::pair("cam0", std::vector<int>{0, 1, 2, 3, 4}), {"cam1", {0, 2, 3, 4, 5}}}) {
      std::string list = "#timestamp [ns],filename\r\n";
      for (const int i : listed) {
        const std::string name = absl::StrCat(kFirst + int64_t{50'000'000} * i);
        absl::StrAppend(&list, name, ",", name, ".png\r\n");
        if (i != 3 || camera == std::string("cam1")) Write(absl::StrCat(base, camera, "/data/", name, ".png"), "");
      }
      Write(absl::StrCat(base, camera, "/data.csv"), list);
    }
    Write(base + "cam0/sensor.yaml", absl::StrFormat(kEye, 0.0));
    Write(base + "cam1/sensor.yaml", absl::StrFormat(kEye, 0.11));
    Write(base + "imu0/sensor.yaml", kImu);
    Write(base + "imu0/data.csv", "");
    Write(base + "state_groundtruth_estimate0/data.csv", "");
  }

 private:
  const std::string root_ = absl::StrCat(::testing::TempDir(), "dataset-", getpid(), "/",
                                         ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(DataSetTest, OfEurocHasAllParts) {
  for (const std::string base : {"mav0/", ""}) {
    WriteEuroc(base);
    const DataSet set = Find();
    const auto name = [&](int camera, int i) {
      return absl::StrCat(base, "cam", camera, "/data/", kFirst + int64_t{50'000'000} * i, ".png");
    };
    EXPECT_THAT(Names(set),
                ElementsAre(Pair(name(0, 0), name(1, 0)), Pair(name(0, 2), name(1, 2)), Pair(name(0, 4), name(1, 4))));
    EXPECT_THAT(Times(set), ElementsAre(kFirst, kFirst + 100'000'000, kFirst + 200'000'000));
    EXPECT_EQ(set.calibration.path, Path(base.empty() ? "" : "mav0"));
    EXPECT_EQ(set.cameras, "cam0,cam1");
    EXPECT_EQ(set.imu.path, Path(base + "imu0"));
    EXPECT_EQ(set.truth.path, Path(base + "state_groundtruth_estimate0/data.csv"));
    EXPECT_FALSE(set.depth || set.truth_of_first || set.truth_has_gaps);
    EXPECT_THAT(
        TextOf(set, 199.96),
        AllOf(StartsWith("EuRoC: 3 pairs of cam0 and cam1, calibration of sensor.yaml, 200 Hz IMU of imu0, truth "
                         "of state_groundtruth_estimate0; 1 of the 5 pictures that "),
              HasSubstr(absl::StrCat("is not there: ", Path(name(0, 3)))),
              HasSubstr(absl::StrCat("; 1 of cam0 has no partner and is left out: ", Path(name(0, 1)))),
              HasSubstr(absl::StrCat("; 2 of cam1 have no partner and are left out: ", Path(name(1, 3)), ", ",
                                     Path(name(1, 5))))));
    Remove("mav0");
  }
}

TEST_F(DataSetTest, OfEurocWithoutListsGoesByNames) {
  WriteEuroc("mav0/");
  Remove("mav0/cam0/data.csv");
  Remove("mav0/cam1/data.csv");
  EXPECT_THAT(Times(Find()), ElementsAre(kFirst, kFirst + 100'000'000, kFirst + 200'000'000));
  EXPECT_THAT(Times(Find("mav0")), SizeIs(3));
  Write("mav0/cam0/data/picture.png", "");
  EXPECT_THAT(Error(), AllOf(HasSubstr("mav0/cam0/data.csv: is not there"), HasSubstr("are no times")));
}

TEST_F(DataSetTest, OfEurocSaysWhatItLacks) {
  WriteEuroc("mav0/");
  Remove("mav0/imu0/sensor.yaml");
  EXPECT_EQ(Find().imu.path, "");
  EXPECT_EQ(Find().truth.path, "");
  for (const char* part : {"imu0", "state_groundtruth_estimate0"}) {
    EXPECT_THAT(TextOf(Find(), {}),
                HasSubstr(absl::StrCat(part, " is left out: sensor.yaml does not say where the inertial sensor is")));
  }
  Remove("mav0/imu0");
  Remove("mav0/state_groundtruth_estimate0");
  EXPECT_THAT(TextOf(Find(), {}), AllOf(Not(HasSubstr("imu0")), Not(HasSubstr("truth"))));
  Remove("mav0/cam1/sensor.yaml");
  EXPECT_EQ(Find().calibration.path, "");
  EXPECT_EQ(Find().no_calibration, Path("mav0") + ": has no cam1/sensor.yaml");
  Remove("mav0/cam1/data.csv");
  Remove("mav0/cam1/data");
  EXPECT_THAT(Error(), HasSubstr("mav0/cam1/data.csv: is not there, nor is "));
  Remove("mav0/cam1");
  EXPECT_EQ(Error(), Path() +
                         ": looks like EuRoC, but has no cam1; --calibration PATH LEFT RIGHT, or --depth LEFT "
                         "DEPTH, names the parts");
  Remove("mav0/cam0");
  EXPECT_THAT(Error(), HasSubstr("looks like EuRoC, but has no cam0"));
}

TEST_F(DataSetTest, OfTumViHasKalibrsCalibrationAndMocap) {
  WriteEuroc("mav0/");
  for (const char* part : {"cam0/sensor.yaml", "cam1/sensor.yaml", "imu0/sensor.yaml", "state_groundtruth_estimate0"}) {
    Remove(absl::StrCat("mav0/", part));
  }
  Write("mav0/mocap0/data.csv", "");
  EXPECT_THAT(Find().no_calibration, HasSubstr("has no cam0/sensor.yaml, nor dso/camchain.yaml beside it"));
  std::string chain;
  for (const int camera : {0, 1}) {
    absl::StrAppend(&chain, "cam", camera, ":\n  T_cam_imu:\n  - [1.0, 0.0, 0.0, ", -0.1 * camera,
                    "]\n  - [0.0, 1.0, 0.0, 0.0]\n  - [0.0, 0.0, 1.0, 0.0]\n  - [0.0, 0.0, 0.0, 1.0]\n"
                    "  camera_model: pinhole\n  distortion_coeffs: [0.0034, 0.0007, -0.002, 0.0002]\n"
                    "  distortion_model: equidistant\n  intrinsics: [190.9, 190.9, 254.9, 256.8]\n"
                    "  resolution: [512, 512]\n");
  }
  Write("dso/camchain.yaml", chain);
  Write("dso/imu_config.yaml",
        "accelerometer_noise_density: 0.0028\naccelerometer_random_walk: 0.00086\ngyroscope_noise_density: 0.00016\n"
        "gyroscope_random_walk: 0.000022\nrostopic: /imu0\nupdate_rate: 200.0\n");
  for (const std::string folder : {"", "mav0"}) {
    const DataSet set = Find(folder);
    EXPECT_THAT(TextOf(set, {}),
                StartsWith("TUM-VI: 3 pairs of cam0 and cam1, calibration of dso/camchain.yaml, IMU of "
                           "imu0, truth of mocap0; "));
    EXPECT_EQ(set.calibration.path, Path("dso/camchain.yaml") + "," + Path("dso/imu_config.yaml"));
    EXPECT_EQ(set.truth.path, Path("mav0/mocap0/data.csv"));
    EXPECT_TRUE(set.truth_has_gaps);
  }
}

TEST_F(DataSetTest, OfTumRgbdIsAssociatedNearestFirst) {
  // 100.000 and 100.015 want the depth of 100.010, and 100.015 is nearer. 200.010 takes that of 200.008, and nothing
  // within 20 ms is left for 200.000. 300.012 takes that of 300.010, and 300.016 is left for 300.000. 400.000 is 25 ms
  // off.
  Write("rgb.txt",
        "# color images\n# file: 'x.bag'\n# timestamp filename\n100.000000 rgb/a.png\n100.015000 rgb/b.png\n"
        "200.000000 rgb/c.png\n200.010000 rgb/d.png\n300.000000 rgb/e.png\n300.012000 rgb/f.png\n400.0 rgb/g.png\n"
        "1305031102.175304 rgb/h.png\n");
  Write("depth.txt",
        "# timestamp filename\r\n100.010000 depth/1.png\r\n200.008000 depth/2.png\r\n200.035000 depth/3.png\r\n"
        "300.010000 depth/4.png\r\n300.016000 depth/5.png\r\n400.025000 depth/6.png\r\n"
        "1305031102.195303 depth/7.png\r\n");
  for (const char c : std::string("abcdefgh")) Write(absl::StrCat("rgb/", std::string(1, c), ".png"), "");
  for (int i = 1; i <= 7; ++i) Write(absl::StrCat("depth/", i, ".png"), "");
  const DataSet set = Find();
  EXPECT_THAT(Names(set), ElementsAre(Pair("rgb/b.png", "depth/1.png"), Pair("rgb/d.png", "depth/2.png"),
                                      Pair("rgb/e.png", "depth/5.png"), Pair("rgb/f.png", "depth/4.png"),
                                      Pair("rgb/h.png", "depth/7.png")));
  EXPECT_EQ(Times(set).back(), 1305031102175304000);
  EXPECT_TRUE(set.depth);
  EXPECT_EQ(set.depth_unit, 0.0002);
  EXPECT_THAT(TextOf(set, {}), AllOf(StartsWith("TUM RGB-D: 5 images of rgb with depths of depth; 3 of rgb have no "),
                                     HasSubstr("; 2 of depth have no partner")));
  EXPECT_EQ(set.no_calibration, Path() + ": has no calibration, as TUM RGB-D has none");

  Write("groundtruth.txt", "");
  Write("TUM1.yaml", "%YAML:1.0\nCamera.fx: 517.3\nCamera.fy: 516.5\nCamera.cx: 318.6\nCamera.cy: 255.3\n");
  EXPECT_EQ(Find().calibration.path, Path("TUM1.yaml"));
  EXPECT_EQ(Find().truth.path, Path("groundtruth.txt"));
  Write("TUM2.yaml", "%YAML:1.0\nCamera.fx: 520.9\nCamera.fy: 521.0\nCamera.cx: 325.1\nCamera.cy: 249.7\n");
  EXPECT_EQ(Find().no_calibration, Path() + ": has several calibrations: TUM1.yaml, TUM2.yaml");
  Remove("depth.txt");  // and names that are no times
  EXPECT_THAT(Error(), HasSubstr("depth.txt: is not there, and the names of the pictures in "));
  Remove("depth");
  EXPECT_THAT(Error(), HasSubstr(": looks like TUM RGB-D, but has no depth.txt"));
}

TEST_F(DataSetTest, OfKittiOdometryGoesByFrames) {
  const std::string folder = "dataset/sequences/06/";
  for (const char* eye : {"image_0", "image_1"}) {
    for (int i = 0; i < 5; ++i) {
      if (i == (eye == std::string("image_0") ? 1 : 3)) continue;
      Write(absl::StrFormat("%s%s/%06d.png", folder, eye, i), "");
    }
  }
  Write(folder + "times.txt", "0.000000e+00\n1.036224e-01\n2.073060e-01\n3.109000e-01\n4.144000e-01\n");
  Write(folder + "calib.txt", kProjections);
  Write("dataset/poses/06.txt", "");
  const DataSet grey = Find(folder);
  EXPECT_THAT(Names(grey), ElementsAre(Pair(folder + "image_0/000000.png", folder + "image_1/000000.png"),
                                       Pair(folder + "image_0/000002.png", folder + "image_1/000002.png"),
                                       Pair(folder + "image_0/000004.png", folder + "image_1/000004.png")));
  EXPECT_THAT(Times(grey), ElementsAre(0, 207'306'000, 414'400'000));
  EXPECT_EQ(grey.pairs[1].number, 2);
  EXPECT_EQ(grey.calibration.path, Path(folder + "calib.txt"));
  EXPECT_EQ(grey.cameras, "P0,P1");
  EXPECT_TRUE(fs::equivalent(grey.truth.path, Path("dataset/poses/06.txt")));
  EXPECT_FALSE(grey.truth_of_first);
  EXPECT_THAT(TextOf(grey, {}),
              AllOf(StartsWith("KITTI odometry: 3 pairs of image_0 and image_1, calibration of calib.txt, truth of "
                               "poses/06.txt; 1 of image_0 has no partner"),
                    HasSubstr("000003.png; 1 of image_1 has no partner")));

  Write(folder + "times.txt", "0\n0.1\n0.2\n");
  EXPECT_THAT(Error(folder), AllOf(HasSubstr("times.txt: has 3 times, and "), HasSubstr("000004.png is frame 4")));
  Remove(folder + "times.txt");
  EXPECT_FALSE(Find(folder).pairs[0].time.has_value());
  EXPECT_THAT(TextOf(Find(folder), {}), HasSubstr("; no times are there: 10 pairs a second"));
  fs::rename(Path(folder + "image_0"), Path(folder + "image_2"));
  EXPECT_THAT(Error(folder), HasSubstr("looks like KITTI odometry, but has no "));
  fs::rename(Path(folder + "image_1"), Path(folder + "image_3"));
  EXPECT_EQ(Find(folder).cameras, "P2,P3");
  EXPECT_TRUE(Find(folder).truth_of_first);
  Remove(folder + "calib.txt");
  EXPECT_THAT(Find(folder).no_calibration, HasSubstr("calib.txt: is not there"));
  EXPECT_TRUE(Find(folder).truth_of_first);  // of whatever calibration is given
  Write(folder + "image_2/left.png", "");
  EXPECT_THAT(Error(folder), HasSubstr("left.png: the name is not the number of a frame"));
}

TEST_F(DataSetTest, OfKittiRawHasTheDaysCalibration) {
  const std::string folder = "2011_09_26/2011_09_26_drive_0001_sync/";
  for (const char* eye : {"image_00", "image_01"}) {
    for (int i = 0; i < 2; ++i) Write(absl::StrFormat("%s%s/data/%010d.png", folder, eye, i), "");
    Write(absl::StrCat(folder, eye, "/timestamps.txt"),
          "2011-09-26 13:02:25.964389445\n2011-09-26 13:02:26.074343000\n");
  }
  EXPECT_THAT(Find(folder).no_calibration, HasSubstr("2011_09_26/calib_cam_to_cam.txt: is not there"));
  Write("2011_09_26/calib_cam_to_cam.txt",
        "calib_time: 09-Jan-2012 13:57:47\nS_00: 1392 512\nS_rect_00: 1242 375\nP_rect_00: 721 0 609 0 0 721 172 0 0 0 "
        "1 0\n"
        "S_01: 1392 512\nS_rect_01: 1242 375\nP_rect_01: 721 0 609 -387 0 721 172 0 0 0 1 0\n");
  Write(folder + "oxts/data/0000000000.txt", "");
  const DataSet set = Find(folder);
  // Seconds of 2011-09-26 13:02:25 UTC since 1970, by `date`.
  EXPECT_THAT(Times(set), ElementsAre(1317042145964389445, 1317042146074343000));
  EXPECT_TRUE(fs::equivalent(set.calibration.path, Path("2011_09_26/calib_cam_to_cam.txt")));
  EXPECT_EQ(TextOf(set, {}),
            "KITTI raw: 2 pairs of image_00 and image_01, calibration of calib_cam_to_cam.txt; oxts (GPS and inertial "
            "sensor) is not used");
  Write(folder + "image_00/timestamps.txt", "2011-09-26 13:02:25.9\nyesterday\n");
  EXPECT_THAT(Error(folder), HasSubstr("timestamps.txt:2: 'yesterday' is no date and time of day"));
  Remove(folder + "image_01");
  EXPECT_THAT(Error(folder), HasSubstr("looks like KITTI raw, but has no image_01"));
}

TEST_F(DataSetTest, WhatIsNoneIsLeftToTheCommand) {
  Write("left/1.png", "");
  Write("image_0/000000.png", "");  // alone
  Write("calibration.yaml", "");
  EXPECT_EQ(Error(), "none");
  EXPECT_EQ(Error("left"), "none");
  EXPECT_EQ(Error("left/1.png"), "none");
  EXPECT_EQ(Error("nowhere"), "none");
}

TEST_F(DataSetTest, TwoLayoutsAreNamed) {
  WriteEuroc("mav0/");
  Write("rgb.txt", "");
  EXPECT_EQ(Error(), Path() +
                         ": is EuRoC (mav0) and TUM RGB-D (rgb.txt); --calibration PATH LEFT RIGHT says which "
                         "pictures are meant");
}

TEST_F(DataSetTest, BadListsAreNamedWithTheirLines) {
  const auto error = [](const std::string& text, ListTime unit) {
    const auto list = ParseFileList("list", text, "folder", unit);
    return list.ok() ? "" : std::string(list.status().message());
  };
  const auto ns = ListTime::kNanoseconds, s = ListTime::kSeconds;
  EXPECT_EQ(error("# x\n1,a.png\n1.5,b.png\n", ns), "list:3: '1.5' is no time in nanoseconds");
  EXPECT_EQ(error("1 a\n-1 b\n", s), "list:2: '-1' is no time in seconds");
  EXPECT_EQ(error("1.0.0 a\n", s), "list:1: '1.0.0' is no time in seconds");
  EXPECT_EQ(error("9999999999 a\n", s), "list:1: '9999999999' is no time in seconds");
  EXPECT_EQ(error("9999999999999999999,a\n", ns), "list:1: '9999999999999999999' is no time in nanoseconds");
  EXPECT_EQ(error("3 a\n1 b\n3.0 c\n", s), "list:3: the time is that of another line");
  EXPECT_EQ(error("1 /etc/passwd\n", s), "list:1: '/etc/passwd' is no file in folder");
  EXPECT_EQ(error("1 rgb/../../a.png\n", s), "list:1: 'rgb/../../a.png' is no file in folder");
  const auto read = ParseFileList("list", "timestamp filename\n\n2 b.png # late\n1\n", "folder", s);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_THAT(*read, SizeIs(2));
  EXPECT_EQ((*read)[0].path, "folder/1.png");  // without a name: the time's
  EXPECT_EQ((*read)[1].path, "folder/b.png");

  WriteEuroc("mav0/");
  Write("mav0/cam0/data.csv", "1,gone.png\n2,lost.png\n");
  EXPECT_THAT(Error(), AllOf(HasSubstr("cam0/data.csv: lists 2 pictures, and none of them is there: "),
                             HasSubstr("gone.png"), HasSubstr("lost.png")));
  Write("mav0/cam0/data/1.png", "");
  Write("mav0/cam0/data.csv", "1\n");
  EXPECT_THAT(Error(), HasSubstr("cam0/data/1.png: no picture of cam0 has a partner in cam1"));
}

// By the rule itself: of all pairs that are near enough, sorted, each whose two are still free.
std::vector<std::pair<size_t, size_t>> AssociatedOneByOne(const std::vector<TimedFile>& left,
                                                          const std::vector<TimedFile>& right, int64_t tolerance) {
  std::vector<std::tuple<int64_t, size_t, size_t>> all;
  for (size_t i = 0; i < left.size(); ++i) {
    for (size_t k = 0; k < right.size(); ++k) {
      const int64_t difference = std::abs(left[i].time_ns - right[k].time_ns);
      if (difference <= tolerance) all.emplace_back(difference, i, k);
    }
  }
  std::sort(all.begin(), all.end());
  std::set<size_t> used_left, used_right;
  std::vector<std::pair<size_t, size_t>> pairs;
  for (const auto& [difference, i, k] : all) {
    if (used_left.count(i) > 0 || used_right.count(k) > 0) continue;
    used_left.insert(i);
    used_right.insert(k);
    pairs.emplace_back(i, k);
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

TEST(Associate, IsTheRuleForAllLists) {
  std::mt19937 random(5);
  for (int run = 0; run < 300; ++run) {
    std::vector<std::vector<TimedFile>> lists(2);
    for (auto& list : lists) {
      std::set<int64_t> times;
      const size_t size = random() % 40;
      while (times.size() < size) times.insert(static_cast<int64_t>(random() % 150));
      for (const int64_t time : times) list.push_back({"", time});
    }
    const auto tolerance = static_cast<int64_t>(random() % 20);
    EXPECT_EQ(Associate(lists[0], lists[1], tolerance), AssociatedOneByOne(lists[0], lists[1], tolerance)) << run;
  }
  EXPECT_THAT(Associate({}, {}, 5), IsEmpty());
}

}  // namespace
}  // namespace glint::cli
