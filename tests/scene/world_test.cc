// Worlds around paths: what is rendered agrees with the poses, and the camera's way is free.
#include "tests/scene/world.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/scene/path.h"
#include "tests/scene/sensor.h"

namespace glint::scene {
namespace {

constexpr Camera kCamera = {320, 240, 250, 159.5, 119.5};

// 200 m around a block, 10 poses a second, once and a quarter.
Path Block() {
  Path path;
  for (int i = 0; i < 250; ++i) {
    const double angle = 360.0 * i / 200;
    const Vec3 at = {40 - 40 * CosDegrees(angle), 0.5 * SinDegrees(2 * angle), 40 * SinDegrees(angle)};
    path.push_back({i / 10.0, {Rotation(angle, 0, 0), at}, ""});
  }
  return path;
}

// A figure of eight, 4 m across, looking around.
Path Flight() {
  Path path;
  for (int i = 0; i < 200; ++i) {
    const Vec3 at = {2 * SinDegrees(1.8 * i), 0.4 * SinDegrees(5.4 * i), 1 * SinDegrees(3.6 * i)};
    path.push_back({i / 20.0, {Rotation(3.0 * i, 10 * SinDegrees(4 * i), 5 * SinDegrees(3 * i)), at}, ""});
  }
  return path;
}

uint32_t Fnv1a(const Image& image) {
  uint32_t hash = 2166136261u;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) hash = (hash ^ image.row(y)[x]) * 16777619u;
  }
  return hash;
}

// Of the pixels of `a` that `b` sees, too: the mean difference of their grey values.
double Disagreement(World* world, const Pose& a, const Pose& b) {
  const Image image_a = world->Render(kCamera, a), image_b = world->Render(kCamera, b);
  const std::vector<float> depth_a = world->Depth(kCamera, a), depth_b = world->Depth(kCamera, b);
  double sum = 0;
  int compared = 0;
  for (int y = 0; y < kCamera.height; ++y) {
    for (int x = 0; x < kCamera.width; ++x) {
      const double depth = depth_a[static_cast<size_t>(y * kCamera.width + x)];
      if (depth == 0) continue;
      const Vec3 in_b = b.ToCamera(a.ToWorld(depth * kCamera.Ray({static_cast<double>(x), static_cast<double>(y)})));
      if (in_b.z <= 0.1) continue;
      const Pixel p = kCamera.Project(in_b);
      const int bx = static_cast<int>(std::lround(p.x)), by = static_cast<int>(std::lround(p.y));
      if (bx < 0 || bx >= kCamera.width || by < 0 || by >= kCamera.height) continue;
      const double other = depth_b[static_cast<size_t>(by * kCamera.width + bx)];
      if (std::fabs(other - in_b.z) > 0.02 * in_b.z) continue;  // hidden
      sum += std::abs(image_a.row(y)[x] - image_b.row(by)[bx]);
      ++compared;
    }
  }
  EXPECT_GT(compared, kCamera.width * kCamera.height / 4);
  return sum / compared;
}

class WorldTest : public ::testing::TestWithParam<bool> {
 protected:
  const Path path_ = GetParam() ? Block() : Flight();
};

TEST_P(WorldTest, PosesAndDepthsTieFramesTogether) {
  World world(path_, 1);
  EXPECT_EQ(world.has_streets(), GetParam());
  for (const size_t i : {0, 60, 120}) {
    EXPECT_LT(Disagreement(&world, path_[i].pose, path_[i + 1].pose), 12) << i;
  }
}

TEST_P(WorldTest, NothingStandsInTheWay) {
  World world(path_, 2);
  for (size_t i = 0; i < path_.size(); i += 5) {
    std::vector<float> depth = world.Depth(kCamera, path_[i].pose);
    depth.erase(std::remove(depth.begin(), depth.end(), 0.0f), depth.end());
    ASSERT_FALSE(depth.empty()) << i;
    EXPECT_GT(*std::min_element(depth.begin(), depth.end()), 0.3f) << i;
  }
}

TEST_P(WorldTest, SeedsAndPlacesDiffer) {
  World one(path_, 1), again(path_, 1), other(path_, 2);
  const Pose& pose = path_[30].pose;
  EXPECT_EQ(Fnv1a(one.Render(kCamera, pose)), Fnv1a(again.Render(kCamera, pose)));
  EXPECT_NE(Fnv1a(one.Render(kCamera, pose)), Fnv1a(other.Render(kCamera, pose)));
}

INSTANTIATE_TEST_SUITE_P(Kinds, WorldTest, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "Streets" : "Room"; });

TEST(WorldBytes, AreTheSameOnEveryMachine) {
  World streets(Block(), 7), room(Flight(), 7);
  EXPECT_EQ(Fnv1a(streets.Render(kCamera, Block()[50].pose)), 1879235640u);
  EXPECT_EQ(Fnv1a(room.Render(kCamera, Flight()[50].pose)), 1809845659u);
}

TEST(SensorTest, NoiseGainAndBlurAreWhatIsAskedFor) {
  const Path path = Flight();
  World world(path, 1);
  const StereoHead head = {kCamera, 0.1, Mat3{}};
  const double seconds = path[40].seconds;
  const Image plain = Expose({}, head, false, path, seconds, 40, &world);
  const auto statistics = [&](const SensorOptions& options) {
    const Image image = Expose(options, head, false, path, seconds, 40, &world);
    double sum = 0, squares = 0, counted = 0;
    for (int y = 0; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x) {
        if (plain.row(y)[x] < 40 || plain.row(y)[x] > 180) continue;  // nothing is cut off
        const double difference = image.row(y)[x] - plain.row(y)[x];
        sum += difference, squares += difference * difference, counted += 1;
      }
    }
    return std::pair(sum / counted, std::sqrt(squares / counted));
  };
  const auto [bias, deviation] = statistics({2, 0, 0});
  EXPECT_NEAR(bias, 0, 0.05);
  EXPECT_NEAR(deviation, std::sqrt(4 + 1 / 12.0), 0.1);
  EXPECT_GT(std::fabs(statistics({0, 0.3, 0}).first), 5);  // t = 2 s of 7
  EXPECT_GT(statistics({0, 0, 0.02}).second, 2);
}

TEST(SensorTest, TheRightEyeIsTurnedAndMoved) {
  const StereoHead head = {kCamera, 0.1, Rotation(1, 2, 3)};
  const Pose left = Flight()[20].pose;
  const Pose right = EyeOf(head, left, true);
  // A point of the left camera, in the right one.
  const Vec3 point = {0.3, -0.2, 2};
  const Vec3 expected = Rotation(1, 2, 3) * (point - Vec3{0.1, 0, 0});
  const Vec3 actual = right.ToCamera(left.ToWorld(point));
  for (const Vec3 axis : {Vec3{1, 0, 0}, Vec3{0, 1, 0}, Vec3{0, 0, 1}}) {
    EXPECT_NEAR(Dot(axis, actual), Dot(axis, expected), 1e-12);
  }
}

TEST(ArrivalsTest, DropAboutTheShareInBursts) {
  const std::vector<bool> arrives = Arrivals(20000, 0.1, 5, 3);
  EXPECT_NEAR(static_cast<double>(std::count(arrives.begin(), arrives.end(), false)), 2000, 300);
  EXPECT_TRUE(std::all_of(arrives.begin(), arrives.begin() + 10, [](bool a) { return a; }));
  const std::vector<bool> all = Arrivals(100, 0, 5, 3);
  EXPECT_EQ(std::count(all.begin(), all.end(), false), 0);
}

class PathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = (std::filesystem::temp_directory_path() / absl::StrCat("glint-path-", getpid(), ".txt")).string();
  }
  void TearDown() override { std::filesystem::remove(file_); }
  absl::StatusOr<Path> Read(const std::string& text) {
    std::ofstream(file_) << text;
    return ReadPath(file_);
  }
  std::string file_;
};

TEST_F(PathTest, IsReadAndAskedInBetween) {
  const auto path = Read("# t x y z q\n0 0 0 0 0 0 0 1\n\n2 4 0 0 0 0.70710678 0 0.70710678\n");
  ASSERT_TRUE(path.ok()) << path.status();
  ASSERT_EQ(path->size(), 2u);
  EXPECT_NEAR(PoseAtTime(*path, 1).position.x, 2, 1e-12);
  EXPECT_NEAR(Dot(PoseAtTime(*path, 1).rotation.column(2), Rotation(45, 0, 0).column(2)), 1, 1e-12);
  EXPECT_NEAR(Dot(PoseAtTime(*path, 9).rotation.column(2), Rotation(90, 0, 0).column(2)), 1, 1e-9);
  EXPECT_EQ(PoseAtTime(*path, -1).position.x, 0);
}

TEST_F(PathTest, PosesOutOfOrderAreSkipped) {
  const auto path = Read("0 0 0 0 0 0 0 1\n1 1 0 0 0 0 0 1\n1 2 0 0 0 0 0 1\n0.5 3 0 0 0 0 0 1\n2 4 0 0 0 0 0 1\n");
  ASSERT_TRUE(path.ok()) << path.status();
  ASSERT_EQ(path->size(), 3u);
  EXPECT_EQ(path->back().pose.position.x, 4);
}

TEST_F(PathTest, ErrorsNameTheLine) {
  EXPECT_THAT(Read("0 0 0 0 0 0 0\n").status().message(), ::testing::HasSubstr(":1: not"));
  EXPECT_THAT(Read("0 0 0 0 0 0 0 0\n").status().message(), ::testing::HasSubstr(":1: not"));
  EXPECT_THAT(Read("# nothing\n").status().message(), ::testing::HasSubstr("has no pose"));
  EXPECT_THAT(ReadPath("/nowhere").status().message(), ::testing::HasSubstr("cannot be read"));
}

class WorldToolTest : public PathTest {
 protected:
  void SetUp() override {
    PathTest::SetUp();
    tool_ = std::getenv("GLINT_SCENE_TOOL");
    ASSERT_NE(tool_, nullptr);
    folder_ = absl::StrCat(file_, ".d");
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    PathTest::TearDown();
  }
  int Run(const std::string& flags) {
    return std::system(
        absl::StrCat("'", tool_, "' --out '", folder_, "' --trajectory '", file_, "' ", flags, " 2>/dev/null").c_str());
  }
  const char* tool_ = nullptr;
  std::string folder_;
};

TEST_F(WorldToolTest, WritesPicturesCalibrationAndTruth) {
  ASSERT_TRUE(Read("0 0 0 0 0 0 0 1\n0.1 0 0 0.1 0 0 0 1\n0.2 0 0 0.2 0 0 0 1\n").ok());
  ASSERT_EQ(Run("--width 64 --height 48 --stereo --truth --noise 2 --gain 0.2 --first 1 --format pnm"), 0);
  for (const char* name : {"000001.pgm", "000002.pgm", "right/000002.pgm", "truth/depth_000001.pfm"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_ + "/" + name)) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/000000.pgm"));
  const auto truth = ReadPath(folder_ + "/truth/trajectory.txt");
  ASSERT_TRUE(truth.ok()) << truth.status();
  EXPECT_EQ(truth->size(), 2u);
  std::string projection;
  std::ifstream calibration(folder_ + "/calib.txt");
  calibration >> projection;
  EXPECT_EQ(projection, "P0:");
}

TEST_F(WorldToolTest, RefusesWhatIsOutOfRange) {
  ASSERT_TRUE(Read("0 0 0 0 0 0 0 1\n").ok());
  for (const char* flags : {"--noise 51", "--gain nan", "--first 1", "--drop 0.6", "--burst 0", "--rig_rotation 1,2",
                            "--rig_rotation 1,2,9", "--cx 640", "--focal 0.5"}) {
    EXPECT_NE(Run(flags), 0) << flags;
  }
}

}  // namespace
}  // namespace glint::scene
