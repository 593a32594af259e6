// Recordings as sources of the command line: what comes out of them is what files of the same pictures give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/base/command.h"
#include "ros/messages.h"
#include "tests/client/bag_writer.h"
#include "tests/scene/sensor.h"

namespace glint::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr int kPairs = 16;
constexpr char kLeft[] = "/cam0/image_rect", kRight[] = "/cam1/image_rect";

scene::StereoHead Head() { return {{376, 240, 229, 187.5, 119.5}, 0.11, {}}; }

struct Pair {
  cv::Mat left, right;
};

cv::Mat MatOf(const Image& image) {
  const ImageView view = image.view();
  return cv::Mat(view.height, view.width, CV_8U, const_cast<uint8_t*>(view.data), static_cast<size_t>(view.stride))
      .clone();
}

// A drive along an arc, rendered once.
const std::vector<Pair>& Drive() {
  static const std::vector<Pair>* const pairs = [] {
    scene::Path path;
    for (int i = 0; i < kPairs; ++i) {
      const scene::Vec3 position = {1.5 * (1 - scene::CosDegrees(i)), 0, 1.5 * scene::SinDegrees(i)};
      path.push_back({i / 20.0, {scene::Rotation(0.8 * i, 0, 0), position}, ""});
    }
    scene::World world(path, 1);
    auto* const rendered = new std::vector<Pair>;
    for (int i = 0; i < kPairs; ++i) {
      Pair pair;
      for (const bool right : {false, true}) {
        (right ? pair.right : pair.left) =
            MatOf(scene::Expose({2, 0, 0}, Head(), right, path, i / 20.0, static_cast<uint32_t>(i), &world));
      }
      rendered->push_back(pair);
    }
    return rendered;
  }();
  return *pairs;
}

ros::CameraInfo InfoOf(bool right) {
  const scene::Camera c = Head().camera;
  ros::CameraInfo info;
  info.width = static_cast<uint32_t>(c.width);
  info.height = static_cast<uint32_t>(c.height);
  info.distortion_model = "plumb_bob";
  info.d = {0, 0, 0, 0, 0};
  info.k = {c.focal, 0, c.cx, 0, c.focal, c.cy, 0, 0, 1};
  info.r = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  info.p = {c.focal, 0, c.cx, right ? -c.focal * Head().baseline : 0, 0, c.focal, c.cy, 0, 0, 0, 1, 0};
  return info;
}

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class BagCommand : public BagTest {
 protected:
  // The drive, as a recorder gets it: each camera's images some time after their capture, and what else robots say.
  void WriteDrive(const std::string& name) const {
    BagWriter bag(Path(name));
    for (int i = 0; i < kPairs; ++i) {
      const int64_t time = TimeOf(i);
      const Pair& pair = Drive()[static_cast<size_t>(i)];
      bag.Write("/cam0/camera_info", time + 1'000'000, InfoOf(false));
      bag.Write("/cam1/camera_info", time + 1'000'000, InfoOf(true));
      bag.Write(kLeft, time + 3'000'000, ImageOf(pair.left, "mono8", time));
      bag.WriteBytes("/tf", "tf2_msgs/msg/TFMessage", time + 4'000'000, {0, 1, 0, 0, 0, 0, 0, 0});
      bag.Write("/depth/compressedDepth", time + 5'000'000, ros::CompressedImage());
      for (int k = 0; k < 10; ++k) bag.Write("/imu0", time + 5'000'000 * (k + 1), ImuOf(10 * i + k));
      bag.Write(kRight, time + 55'000'000, ImageOf(pair.right, "mono8", time));  // after the next left one
    }
    bag.Close();
  }
  Outcome Localize(std::vector<std::string> arguments, const std::string& trajectory) const {
    arguments.insert(arguments.end(), {"--server", "inproc", "--backend", "cpu", "--format", "none", "--features",
                                       "500", "--trajectory", Path(trajectory)});
    return RunCommand(RunLocalize, arguments);
  }
};

TEST_F(BagCommand, LocalizeGivesTheBytesThatFilesGive) {
  WriteDrive("drive.mcap");
  std::filesystem::create_directories(Path("left"));
  std::filesystem::create_directories(Path("right"));
  for (int i = 0; i < kPairs; ++i) {
    const std::string file = absl::StrCat("/", TimeOf(i), ".png");
    ASSERT_TRUE(cv::imwrite(Path("left") + file, Drive()[static_cast<size_t>(i)].left));
    ASSERT_TRUE(cv::imwrite(Path("right") + file, Drive()[static_cast<size_t>(i)].right));
  }
  std::ofstream(Path("calib.txt")) << "P0: 229 0 187.5 0 0 229 119.5 0 0 0 1 0\n"
                                   << absl::StrFormat("P1: 229 0 187.5 %.17g 0 229 119.5 0 0 0 1 0\n", -229 * 0.11);
  const Outcome files = Localize({"--calibration", Path("calib.txt"), Path("left"), Path("right")}, "files.txt");
  ASSERT_EQ(files.status, 0) << files.said;
  const Outcome bag = Localize({"--bag", Path("drive.mcap"), "--left", kLeft, "--right", kRight}, "bag.txt");
  EXPECT_EQ(bag.status, 0) << bag.said;
  EXPECT_THAT(bag.said, AllOf(HasSubstr("drive.mcap:/cam0/camera_info and "), HasSubstr("taken for rectified")));
  const std::string path = BytesOf(Path("files.txt"));
  EXPECT_THAT(path, StartsWith("1403636579.7635555"));
  EXPECT_THAT(std::vector<std::string>(absl::StrSplit(path, '\n')), SizeIs(kPairs + 1));
  EXPECT_EQ(BytesOf(Path("bag.txt")), path);

  // Cut off: the beginning of the same, and what is lost is said.
  const std::string whole = BytesOf(Path("drive.mcap"));
  std::ofstream(Path("cut.mcap"), std::ios::binary) << whole.substr(0, whole.size() * 3 / 4);
  const Outcome cut = Localize({"--bag", Path("cut.mcap"), "--left", kLeft, "--right", kRight}, "cut.txt");
  EXPECT_EQ(cut.status, 1);
  EXPECT_THAT(cut.said, HasSubstr("cut.mcap: cut off"));
  const std::string begin = BytesOf(Path("cut.txt"));
  EXPECT_GT(begin.size(), path.size() / 4);
  EXPECT_LT(begin.size(), path.size());
  EXPECT_EQ(path.substr(0, begin.size()), begin);
  const Outcome listed = RunCommand(RunBag, {Path("cut.mcap")});
  EXPECT_EQ(listed.status, 1);
  EXPECT_THAT(listed.said, HasSubstr("cut.mcap: warning: cut off"));
  EXPECT_THAT(listed.printed, HasSubstr(kLeft));
}

TEST_F(BagCommand, TopicsAreListedWithTheirUse) {
  WriteDrive("drive.mcap");
  const Outcome table = RunCommand(RunBag, {Path("drive.mcap")});
  EXPECT_EQ(table.status, 0) << table.said;
  const auto line = [&](const std::string& topic) {
    for (const absl::string_view text : absl::StrSplit(table.printed, '\n')) {
      std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
      if (!words.empty() && words[0] == topic) return absl::StrJoin(words, " ");
    }
    return std::string();
  };
  EXPECT_EQ(line(kLeft),
            "/cam0/image_rect sensor_msgs/msg/Image 16 20.0 0.050 left camera of a pair with "
            "/cam1/image_rect, 376x240 mono8");
  EXPECT_THAT(line(kRight), HasSubstr("right camera of a pair with /cam0/image_rect"));
  EXPECT_EQ(line("/imu0"), "/imu0 sensor_msgs/msg/Imu 160 200.0 0.005 IMU");
  EXPECT_THAT(line("/cam1/camera_info"), HasSubstr(" 20.0 0.050 calibration of /cam1/image_rect"));
  EXPECT_THAT(line("/tf"), HasSubstr(" not used: type tf2_msgs/msg/TFMessage"));
  EXPECT_THAT(line("/depth/compressedDepth"), HasSubstr(" not used: compressedDepth"));
  EXPECT_THAT(table.printed, HasSubstr(absl::StrCat("\n  glint localize --bag ", Path("drive.mcap"), " --left ", kLeft,
                                                    " --right ", kRight, " --imu /imu0 --camera-from-imu FILE\n")));
  const Outcome json = RunCommand(RunBag, {"--format", "json", "--no-scan", Path("drive.mcap")});
  EXPECT_EQ(json.status, 0);
  EXPECT_THAT(json.printed,
              AllOf(HasSubstr("{\"name\":\"/imu0\",\"type\":\"sensor_msgs/msg/Imu\",\"encoding\":\"cdr\",\"messages\":"
                              "160,\"first_ns\":1403636579768555584,"),
                    HasSubstr("\"rate_hz\":200,\"use\":\"IMU\"}"), HasSubstr(",\"damage\":[]}"),
                    Not(HasSubstr("largest_gap_ns"))));
}

TEST_F(BagCommand, WrongTopicsAreToldOfThoseThatThereAre) {
  WriteDrive("drive.mcap");
  const auto localize = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"--bag", Path("drive.mcap")});
    return Localize(std::move(options), "path.txt");
  };
  Outcome outcome = localize({"--left", "/cam9", "--right", kRight});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.said, HasSubstr("no topic '/cam9'; topics of cameras: /cam0/image_rect, /cam1/image_rect"));
  EXPECT_THAT(localize({"--left", "/imu0", "--right", kRight}).said,
              HasSubstr("/imu0 is of type sensor_msgs/msg/Imu; topics of cameras: /cam0/image_rect"));
  EXPECT_THAT(localize({"--left", "/depth/compressedDepth", "--right", kRight}).said,
              HasSubstr("compressedDepth is not read"));
  EXPECT_THAT(localize({"--left", kLeft, "--right", kRight, "--imu", kLeft}).said,
              HasSubstr("topics of inertial sensors: /imu0"));
  outcome = localize({"--left", kLeft, "--right", kRight, "--imu", "/imu0"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.said, HasSubstr("--camera-from-imu FILE says where it is"));
  outcome = localize({});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.said, HasSubstr("option '--bag': needs --left TOPIC"));
  EXPECT_THAT(localize({"left/", "right/"}).said, HasSubstr("option '--bag': not with 'left/'"));
  EXPECT_THAT(Localize({"--left", kLeft, "left/", "right/"}, "path.txt").said,
              HasSubstr("option '--left': needs --bag"));
  EXPECT_THAT(localize({"--left", kLeft, "--depth-topic", kRight}).said,
              HasSubstr("option '--depth-topic': needs --depth"));
  outcome = RunCommand(RunStream, {"--bag", Path("drive.mcap"), "--server", "inproc", "--backend", "cpu"});
  EXPECT_EQ(outcome.status, 1);  // one of two cameras
  EXPECT_THAT(outcome.said, HasSubstr("name one topic; topics of cameras: /cam0/image_rect, /cam1/image_rect"));
  EXPECT_EQ(RunCommand(RunBag, {Path("none.mcap")}).status, 1);
  EXPECT_EQ(RunCommand(RunBag, {}).status, 2);
}

}  // namespace
}  // namespace glint::cli
