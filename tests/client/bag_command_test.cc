// Recordings as sources of the command line: what comes out of them is what files of the same pictures give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <opencv2/imgcodecs.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/bag/survey.h"
#include "client/cli/base/command.h"
#include "client/cli/source/bag_file.h"
#include "tests/client/bag_drive.h"

namespace glint::cli {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

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

// A scan that its time has ended at once: what topics are is found out all the same.
TEST_F(BagCommand, TopicsThatNoScanReachesAreLookedInto) {
  WriteDrive("drive.mcap");
  const auto bag = BagFile::Open(Path("drive.mcap"));
  ASSERT_TRUE(bag.ok()) << bag.status();
  const auto index = [&](absl::string_view name) {
    const auto& topics = (*bag)->topics();
    return static_cast<size_t>(
        std::find_if(topics.begin(), topics.end(), [&](const auto& t) { return t.name == name; }) - topics.begin());
  };
  const auto brief = SurveyBag(bag->get(), 1e-9), whole = SurveyBag(bag->get(), 1e10), none = SurveyBag(bag->get(), 0);
  for (const auto* facts : {&brief, &whole, &none}) {
    ASSERT_TRUE(facts->ok()) << facts->status();
    const std::vector<TopicFacts>& topics = (*facts)->topics;
    EXPECT_EQ(topics[index(kLeft)].image, (Shape{376, 240}));
    EXPECT_TRUE(topics[index("/cam1/camera_info")].info.has_value());
    EXPECT_TRUE(topics[index("/imu0")].turns && topics[index("/imu0")].accelerates);
    EXPECT_EQ((*facts)->is_whole, facts == &whole);
    EXPECT_EQ((*facts)->read > 0, facts == &whole);
    EXPECT_EQ(topics[index(kLeft)].read, facts == &whole ? kPairs : 0);
    EXPECT_EQ(topics[index(kLeft)].largest_gap_ns > 0, facts == &whole);
  }
}

// The index counts what damaged chunks no longer have.
TEST_F(BagCommand, MessagesThatCannotBeReadAreNotCountedAsRead) {
  WriteDrive("drive.mcap");
  std::string bytes = BytesOf(Path("drive.mcap"));
  bytes[bytes.size() / 2] ^= 1;
  std::ofstream(Path("damaged.mcap"), std::ios::binary) << bytes;
  const Outcome table = RunCommand(RunBag, {"--scan", Path("damaged.mcap")});
  EXPECT_EQ(table.status, 1);
  EXPECT_THAT(table.said, AllOf(HasSubstr(" is left out: "), HasSubstr("that could be read, of those counted: "),
                                ContainsRegex("/imu0 [0-9]+ of 160")));
  EXPECT_THAT(table.printed, ContainsRegex("/imu0 +sensor_msgs/msg/Imu +[0-9]+ of 160 "));
  const Outcome json = RunCommand(RunBag, {"--scan", "--format=json", Path("damaged.mcap")});
  EXPECT_THAT(json.printed, AllOf(HasSubstr(",\"read_to_end\":true"), HasSubstr("\"messages\":160,\"messages_read\":"),
                                  Not(HasSubstr("\"messages\":160,\"messages_read\":160"))));
  // Without a scan it is not known.
  const Outcome listed = RunCommand(RunBag, {"--no-scan", "--format=json", Path("damaged.mcap")});
  EXPECT_THAT(listed.printed, AllOf(HasSubstr(",\"read_to_end\":false"), Not(HasSubstr("messages_read"))));
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
