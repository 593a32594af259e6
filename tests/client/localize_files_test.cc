// What glint localize reads and writes: calibrations, trajectories, and errors beside the truth.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <opencv2/core.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/cli/output/scenes.h"
#include "client/cli/output/trajectory.h"
#include "client/cli/source/calibration.h"

namespace glint::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string Write(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "localize-" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// The cameras of --calibration PATH, --cameras NAMES.
absl::StatusOr<client::StereoCamera> ReadCalibration(const std::string& path, const std::string& names,
                                                     bool of_one = false) {
  Flags flags;
  CalibrationFlags calibration;
  calibration.AddTo(&flags, false);
  EXPECT_TRUE(flags.Parse({"--calibration", path, "--cameras", names}).ok());
  const auto cameras = of_one ? calibration.ReadWithDepth({}) : calibration.Read({});
  if (!cameras.ok()) return cameras.status();
  return cameras->camera;
}

TEST(Calibration, OfKittiHasNamesOrNone) {
  const std::string left = "700 0 600 0 0 700 180 0 0 0 1 0", right = "700 0 600 -380 0 700 180 0 0 0 1 0";
  const auto named = ReadCalibration(
      Write("named.txt", "P0: " + right + "\nP1: " + right + "\nP2: " + left + "\nP3: " + right + "\nTr: 1 2\n"),
      "P2,P3");
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_THAT(named->left_projection, ElementsAre(700, 0, 600, 0, 0, 700, 180, 0, 0, 0, 1, 0));
  EXPECT_EQ(named->right_projection[3], -380);
  const auto unnamed = ReadCalibration(Write("unnamed.txt", left + "\n" + right + "\n"), "");
  ASSERT_TRUE(unnamed.ok()) << unnamed.status();
  EXPECT_EQ(unnamed->left_projection, named->left_projection);
  EXPECT_EQ(unnamed->right_projection, named->right_projection);
}

TEST(Calibration, WindowsFilesAreTheSame) {
  const std::string left = "700 0 600 0 0 700 180 0 0 0 1 0", right = "700 0 600 -380 0 700 180 0 0 0 1 0";
  for (const std::string& text : {"P0: " + left + "\r\nP1: " + right + "\r\n", left + "\r" + right}) {
    const auto camera = ReadCalibration(Write("windows.txt", "\xEF\xBB\xBF" + text), "");
    ASSERT_TRUE(camera.ok()) << camera.status();
    EXPECT_THAT(camera->left_projection, ElementsAre(700, 0, 600, 0, 0, 700, 180, 0, 0, 0, 1, 0));
    EXPECT_EQ(camera->right_projection[3], -380);
  }
}

TEST(Calibration, OfOneEyeIsEnoughWithDepth) {
  const std::string left = "700 0 600 0 0 700 180 0 0 0 1 0", other = "500 0 320 0 0 500 240 0 0 0 1 0";
  const std::string path = Write("one.txt", "P0: " + left + "\nP2: " + other + "\n");
  const auto first = ReadCalibration(path, "", /*of_one=*/true);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(first->left_projection, ElementsAre(700, 0, 600, 0, 0, 700, 180, 0, 0, 0, 1, 0));
  EXPECT_THAT(first->right_projection, SizeIs(0));
  const auto named = ReadCalibration(path, "P2", /*of_one=*/true);
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(named->left_projection[0], 500);
  EXPECT_THAT(ReadCalibration(path, "P0,P2", true).status().message(), HasSubstr("'P0,P2' is not one camera"));
}

TEST(Calibration, OfOpenCvIsAFileStorage) {
  const std::string path = ::testing::TempDir() + "localize-stereo.yml";
  {
    cv::FileStorage file(path, cv::FileStorage::WRITE);
    const cv::Mat left = (cv::Mat_<double>(3, 4) << 500, 0, 320, 0, 0, 500, 240, 0, 0, 0, 1, 0);
    cv::Mat right = left.clone();
    right.at<double>(0, 3) = -60;
    file << "R1" << cv::Mat::eye(3, 3, CV_64F) << "P1" << left << "P2" << right;
  }
  const auto camera = ReadCalibration(path, "");
  ASSERT_TRUE(camera.ok()) << camera.status();
  EXPECT_THAT(camera->right_projection, ElementsAre(500, 0, 320, -60, 0, 500, 240, 0, 0, 0, 1, 0));
}

TEST(Calibration, ErrorsNameFileAndLine) {
  const std::string bad = Write("bad.txt", "P0: 1 2 3\n");
  EXPECT_THAT(ReadCalibration(bad, "").status().message(), HasSubstr("bad.txt:1: not the 12 numbers"));
  const std::string few = Write("few.txt", "700 0 600 0 0 700 180 0 0 0 1 0\n");
  EXPECT_THAT(ReadCalibration(few, "").status().message(), HasSubstr("few.txt: has 1 of 2 cameras"));
  EXPECT_THAT(ReadCalibration(few, "P0,P1").status().message(), HasSubstr("few.txt: has no 3x4 projection P1"));
  EXPECT_THAT(ReadCalibration(few, "P0").status().message(), HasSubstr("'P0' is not LEFT,RIGHT"));
  EXPECT_TRUE(absl::IsNotFound(ReadCalibration("/nowhere.txt", "").status()));
  EXPECT_FALSE(ReadCalibration(Write("bad.yml", "no yaml: ["), "").ok());
}

TimedPose At(int number, double x, double z, double turn) {
  return {0.1 * number, {{0, std::sin(turn / 2), 0, std::cos(turn / 2)}, {x, 0, z}}, number};
}

std::string TextOf(const std::vector<TimedPose>& path, TrajectoryFormat format) {
  TrajectoryLines lines(format);
  std::string text;
  for (const TimedPose& at : path) text += lines.Add(at);
  return text;
}

Trajectory Read(const std::string& name, const std::string& text) {
  auto read = ReadTrajectory(Write(name, text));
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? *std::move(read) : Trajectory();
}

void ExpectTheSame(const std::vector<TimedPose>& read, const std::vector<TimedPose>& written) {
  ASSERT_EQ(read.size(), written.size());
  for (size_t i = 0; i < read.size(); ++i) {
    const double sign = written[i].pose.rotation[3] * read[i].pose.rotation[3] < 0 ? -1 : 1;
    for (size_t k = 0; k < 4; ++k) {
      EXPECT_NEAR(sign * read[i].pose.rotation[k], written[i].pose.rotation[k], 1e-8) << i;
    }
    for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(read[i].pose.position[k], written[i].pose.position[k], 1e-8) << i;
  }
}

TEST(Trajectory, BothFormatsReadAsTheyWereWritten) {
  const std::vector<TimedPose> poses = {At(0, 0, 0, 0), At(1, 1, 2, 0.3), At(2, -1, 5, 3.1), At(3, 0, 1, -3)};
  for (const TrajectoryFormat format : {TrajectoryFormat::kTum, TrajectoryFormat::kKitti}) {
    const Trajectory read = Read("path.txt", "# a comment\n" + TextOf(poses, format));
    EXPECT_EQ(read.format, format);
    ExpectTheSame(read.poses, poses);
    for (size_t i = 0; i < read.poses.size(); ++i) {
      EXPECT_EQ(read.poses[i].number, poses[i].number);
      EXPECT_NEAR(read.poses[i].seconds, format == TrajectoryFormat::kTum ? poses[i].seconds : 0, 1e-9);
    }
  }
}

TEST(Trajectory, BadFilesAreNamedWithTheirLines) {
  const std::pair<std::string, std::string> cases[] = {
      {"1 2 3\n", "bad.txt:1: neither 12 numbers"},
      {"0 1 2 3 1 1 1 1\n", "bad.txt:1: not a rotation"},
      {"1 0 0 0 0 1 0 0 0 0 5 0\n", "bad.txt:1: not a rotation"},
      {"0 1 2 3 0 0 0 1\n\n1 0 0 0 0 1 0 0 0 0 1 0\n", "bad.txt:3: has 12 numbers, and the lines before it have 8"},
      {"0 nan 2 3 0 0 0 1\n", "bad.txt:1: has a number that is not finite"},
      {"1 0 0 nan 0 1 0 0 0 0 1 0\n", "bad.txt:1: has a number that is not finite"},
      {"timestamp tx ty tz qx qy qz qw\n", "bad.txt:1: neither"},
      {"# nothing\n", "bad.txt: has no pose"},
      {"1 1 2 3 0 0 0 1\n2 5 2 3 0 0 0 1\n1 4 2 3 0 0 0 1\n",
       "bad.txt: two poses over 0.05 m apart have one time, 1.0"},
      {"nan nan nan nan nan nan nan nan nan nan nan nan\n", "bad.txt: has no pose"},
      {"\xFF\xFE"
       "0",
       "bad.txt: is UTF-16"}};
  for (const auto& [text, error] : cases) {
    const absl::Status status = ReadTrajectory(Write("bad.txt", text)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(status.message(), HasSubstr(error));
  }
  EXPECT_TRUE(absl::IsNotFound(ReadTrajectory("/nowhere.txt").status()));
}

TEST(Trajectory, FilesOfAllSystemsInAnyOrderAreTheSame) {
  const std::vector<TimedPose> poses = {At(0, 0, 0, 0), At(1, 1, 2, 0.3), At(2, -1, 5, 3.1), At(3, 0, 1, -3)};
  const std::string text = TextOf(poses, TrajectoryFormat::kTum);
  const std::string backwards = TextOf({poses.rbegin(), poses.rend()}, TrajectoryFormat::kTum);
  const std::string shuffled = TextOf({poses[2], poses[0], poses[3], poses[1]}, TrajectoryFormat::kTum);
  const std::pair<absl::string_view, absl::string_view> windows{"\n", "\r\n"}, mac{"\n", "\r"},
      remarks{"\n", " # by hand\n#\n"}, commas{" ", ", "};
  for (const std::string& same :
       {backwards, shuffled, "\xEF\xBB\xBF" + text, absl::StrReplaceAll(text, {windows}),
        "\xEF\xBB\xBF# x\r\n" + absl::StrReplaceAll(backwards, {windows}), absl::StrReplaceAll(text, {mac}),
        absl::StrReplaceAll(text, {remarks}), absl::StrReplaceAll(text, {commas})}) {
    ExpectTheSame(Read("same.txt", same).poses, poses);
  }
}

TEST(Trajectory, PairsThatWereNotLocatedAreNoPoses) {
  std::vector<TimedPose> path = {At(0, 0, 0, 0), At(1, 1, 0, 0), At(2, 2, 0, 0), At(5, 5, 0, 0), At(6, 6, 0, 0)};
  path[2].located = path[4].located = false;  // 3 and 4 have no answer
  const std::vector<TimedPose> located = {path[0], path[1], path[3]};
  const std::string tum = TextOf(path, TrajectoryFormat::kTum);
  EXPECT_EQ(tum, TextOf(located, TrajectoryFormat::kTum));
  ExpectTheSame(Read("tum.txt", tum).poses, located);

  const std::string kitti = TextOf(path, TrajectoryFormat::kKitti);
  const std::vector<std::string> lines = absl::StrSplit(kitti, '\n');
  ASSERT_THAT(lines, SizeIs(7 + 1));  // the last one ends, too
  for (size_t n = 0; n < 7; ++n) {
    EXPECT_EQ(absl::StrContains(lines[n], "nan"), n != 0 && n != 1 && n != 5) << n;
    EXPECT_THAT(std::vector<std::string>(absl::StrSplit(lines[n], ' ')), SizeIs(12)) << n;
  }
  const Trajectory read = Read("kitti.txt", kitti);
  ExpectTheSame(read.poses, located);
  for (size_t i = 0; i < located.size(); ++i) EXPECT_EQ(read.poses[i].number, located[i].number);
}

TEST(Trajectory, APathIsOfTheWorldThatMostPairsAreIn) {
  std::vector<TimedPose> path = {At(0, 0, 0, 0), At(1, 1, 0, 0), At(2, 2, 0, 0), At(3, 5, 0, 0), At(4, 6, 0, 0)};
  EXPECT_EQ(MainWorld(path).map_id, 0);
  for (const size_t i : {2, 3, 4}) path[i].map_id = 7;
  EXPECT_EQ(MainWorld(path).map_id, 7);
  path[4].level = true;  // the inertial sensor was ready
  EXPECT_EQ(MainWorld(path).map_id, 0);
  path[2].level = path[3].level = true;
  EXPECT_EQ(MainWorld(path).map_id, 7);
  EXPECT_TRUE(MainWorld(path).level);
  path[4].located = false;
  EXPECT_EQ(MainWorld(path).map_id, 0);
  EXPECT_FALSE(MainWorld(path).level);
  EXPECT_EQ(MainWorld({}).map_id, 0);
}

TEST(PathTrace, StepsWithoutAPoseAreMarked) {
  using client::LocationStatus;
  client::PathTrace trace;
  for (const LocationStatus status :
       {LocationStatus::kInitializing, LocationStatus::kTracking, LocationStatus::kCoasting, LocationStatus::kLost,
        LocationStatus::kRelocalized, LocationStatus::kNewMap}) {
    client::Location location;
    location.status = status;
    trace.Add(location);
  }
  std::vector<int> states;
  for (const view::Step& step : trace.steps()) states.push_back(step.state);
  EXPECT_THAT(states, ElementsAre(view::Step::kLost, view::Step::kLocated, view::Step::kUncertain, view::Step::kLost,
                                  view::Step::kLocated, view::Step::kLocated));
  client::Location located;
  located.status = LocationStatus::kTracking;
  for (size_t i = states.size(); i < client::PathTrace::kMaxSteps; ++i) trace.Add(located);
  ASSERT_EQ(trace.steps().size(), client::PathTrace::kMaxSteps / 2);  // every second one was left out
  EXPECT_EQ(trace.steps()[0].state, view::Step::kLost);
  EXPECT_EQ(trace.steps()[1].state, view::Step::kLost);
  EXPECT_EQ(trace.steps()[2].state, view::Step::kLocated);
}

TEST(PathTrace, OfALevelWorldIsFromAboveAndBeginsThere) {
  client::Location location;
  location.status = client::LocationStatus::kTracking;
  location.pose.position = {1, 2, 3};  // x to the right, z ahead
  client::PathTrace trace;
  trace.Add(location);
  EXPECT_THAT(trace.steps(), ElementsAre(AllOf(Field(&view::Step::x, 1), Field(&view::Step::z, 3))));
  location.level = true;  // x ahead, y to the left, z up
  trace.Add(location);
  EXPECT_THAT(trace.steps(), ElementsAre(AllOf(Field(&view::Step::x, -2), Field(&view::Step::z, 1))));
}

// A straight drive of 300 m whose path is 1 % too long and turns by 0.01 degrees a metre.
class TruthTest : public ::testing::Test {
 protected:
  TruthTest() {
    constexpr double kTurn = 0.01 / 57.29577951308232;
    for (int i = 0; i <= 300; ++i) {
      truth_.push_back(At(i, 0, i, 0));
      path_.push_back(At(i, 0, 1.01 * i, kTurn * i));
    }
  }

  // The report, or the error's text.
  static std::string Compare(const std::vector<TimedPose>& path, const std::vector<TimedPose>& truth,
                             TrajectoryFormat format = TrajectoryFormat::kTum) {
    const auto report = CompareWithTruth(path, Read("truth.txt", TextOf(truth, format)));
    if (report.ok()) return *report;
    EXPECT_TRUE(absl::IsFailedPrecondition(report.status())) << report.status();
    return std::string(report.status().message());
  }

  std::vector<TimedPose> path_, truth_;
};

TEST_F(TruthTest, ErrorsAreThoseOfTheirDefinitions) {
  const std::string report = Compare(path_, truth_);
  EXPECT_THAT(report, StartsWith("truth: 301 poses, 300.0 m\n"
                                 "compared: 301 of 301 located pairs, 0 of 301 pairs not located; path 0.000 to "
                                 "30.000 s, truth 0.000 to 30.000 s\nend: 3.000 m, 1.00 %\n"));
  EXPECT_THAT(report, HasSubstr("0.0100 degrees\n"));
  // The pose beyond a length is a metre further: 20 parts of 101 m and 10 of 201 m.
  EXPECT_THAT(report, HasSubstr("r_rel 1.0083 degrees in 100 m"));
  path_.resize(50);
  EXPECT_THAT(Compare(path_, truth_), HasSubstr("KITTI: none"));
}

TEST_F(TruthTest, TheOrderOfLinesDoesNotMatter) {
  const std::string report = Compare(path_, truth_);
  std::vector<TimedPose> other(truth_.begin() + 150, truth_.end());  // the second half first
  other.insert(other.end(), truth_.begin(), truth_.begin() + 150);
  EXPECT_EQ(Compare(path_, other), report);
  std::reverse(other.begin(), other.end());
  EXPECT_EQ(Compare(path_, other), report);
}

TEST_F(TruthTest, PairsThatWereNotLocatedAreNotCompared) {
  path_.resize(100);
  for (size_t i = 40; i < path_.size(); ++i) {
    path_[i].located = false;
    path_[i].pose = path_[39].pose;
  }
  const std::vector<TimedPose> located(path_.begin(), path_.begin() + 40);
  const std::string report = Compare(path_, truth_), of_located = Compare(located, truth_);
  EXPECT_THAT(report,
              HasSubstr("compared: 40 of 40 located pairs, 60 of 100 pairs not located; path 0.000 to 9.900 s"));
  EXPECT_EQ(report.substr(report.find("end:")), of_located.substr(of_located.find("end:")));
  for (TimedPose& at : path_) at.located = false;
  EXPECT_THAT(Compare(path_, truth_), HasSubstr("none of 100 pairs was located"));
}

TEST_F(TruthTest, UnderHalfOfThePairsIsNoComparison) {
  path_.resize(30);
  truth_.resize(15);
  EXPECT_THAT(Compare(path_, truth_), HasSubstr("compared: 15 of 30 located pairs"));
  truth_.resize(14);
  EXPECT_THAT(Compare(path_, truth_), HasSubstr("truth.txt: 14 of 30 located pairs have a true pose within 0.050 s; "
                                                "half of them, and two, are needed; path 0.000 to 2.900 s, truth "
                                                "0.000 to 1.300 s"));
  for (TimedPose& at : truth_) at.seconds += 1403636579.75;  // another clock
  EXPECT_THAT(Compare(path_, truth_),
              AllOf(HasSubstr(" 0 of 30 located pairs"), HasSubstr("truth 1403636579.750 to 1403636581.050 s")));
  path_.resize(1);
  EXPECT_THAT(Compare(path_, {At(0, 0, 0, 0)}), HasSubstr("1 of 1 located pairs"));
}

// Whose times are those of another rate: the line is what counts.
TEST_F(TruthTest, LinesOfKittiArePairs) {
  const std::string by_time = Compare(path_, truth_);
  for (TimedPose& at : path_) at.seconds = 1e9 + at.number / 30.0;
  const std::string by_line = Compare(path_, truth_, TrajectoryFormat::kKitti);
  EXPECT_THAT(by_line, HasSubstr("compared: 301 of 301 located pairs, 0 of 301 pairs not located; path of pairs 0 to "
                                 "300, truth of lines 0 to 300"));
  EXPECT_EQ(by_line.substr(by_line.find("end:")), by_time.substr(by_time.find("end:")));
  truth_.resize(100);
  EXPECT_THAT(Compare(path_, truth_, TrajectoryFormat::kKitti),
              AllOf(HasSubstr("100 of 301 located pairs have a true pose of their number"),
                    HasSubstr("path of pairs 0 to 300, truth of lines 0 to 99")));
}

}  // namespace
}  // namespace glint::cli
