// Results as recordings (--mcap), which are those of the other outputs; and topics of recordings for the commands of
// keypoints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/base/command.h"
#include "tests/bag/read_all.h"
#include "tests/client/bag_drive.h"
#include "tests/view/wire_fields.h"

namespace glint::cli {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The messages of a topic with their times.
std::vector<std::pair<int64_t, view::WireFields>> MessagesOf(const std::string& path, const std::string& topic) {
  std::vector<std::pair<int64_t, view::WireFields>> messages;
  const auto bag = bag::SelectAll(bag::Bag::Open(path));
  if (bag == nullptr) return messages;
  for (const bag::Seen& seen : bag::ReadAll(bag.get())) {
    if (bag->topics()[static_cast<size_t>(seen.topic)].name == topic) messages.emplace_back(seen.time_ns, seen.data);
  }
  EXPECT_THAT(bag->notes(), IsEmpty());
  return messages;
}

// The fields of rows below a header that has these names; empty: a name that it lacks.
std::vector<std::vector<std::string>> Rows(const std::string& csv, const std::vector<std::string>& names) {
  const std::vector<std::string> lines = absl::StrSplit(csv, '\n', absl::SkipEmpty());
  const std::vector<std::string> header = absl::StrSplit(lines.at(0), ',');
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = absl::StrSplit(lines[i], ',');
    rows.emplace_back();
    for (const std::string& name : names) {
      const auto at = static_cast<size_t>(std::find(header.begin(), header.end(), name) - header.begin());
      rows.back().push_back(at < fields.size() ? fields[at] : "");
    }
  }
  return rows;
}

double Number(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

// Image, x and y of each keypoint, match or living track.
std::vector<std::tuple<std::string, double, double>> Points(const std::string& csv) {
  std::vector<std::tuple<std::string, double, double>> points;
  for (const auto& row : Rows(csv, {"image", "x", "y", "state"})) {
    if (!row[3].empty() && row[3] != "tracked") continue;
    points.emplace_back(row[0], std::strtof(row[1].c_str(), nullptr), std::strtof(row[2].c_str(), nullptr));
  }
  return points;
}

TEST_F(BagCommand, LocalizeWritesARecordingOfItsAnswers) {
  WriteDrive("drive.mcap");
  const Outcome done = RunCommand(
      RunLocalize, {"--bag", Path("drive.mcap"), "--left", kLeft, "--right", kRight, "--server", "inproc", "--backend",
                    "cpu", "--features", "500", "--csv", "--mcap", Path("out.mcap"), "--mcap-images"});
  ASSERT_EQ(done.status, 0) << done.said;
  const auto rows = Rows(done.printed, {"x", "y", "z", "qx", "qy", "qz", "qw", "points"});
  const auto poses = MessagesOf(Path("out.mcap"), "/pose"), transforms = MessagesOf(Path("out.mcap"), "/tf");
  ASSERT_THAT(rows, SizeIs(kPairs));
  ASSERT_THAT(poses, SizeIs(kPairs));
  ASSERT_THAT(transforms, SizeIs(kPairs));
  for (size_t i = 0; i < kPairs; ++i) {
    EXPECT_EQ(poses[i].first, TimeOf(static_cast<int>(i)));
    const view::WireFields pose = poses[i].second.Message(3);
    for (int k = 0; k < 7; ++k) {
      const double value = k < 3 ? pose.Message(1).Double(k + 1) : pose.Message(2).Double(k - 2);
      EXPECT_EQ(value, Number(rows[i][static_cast<size_t>(k)])) << i << " " << k;
    }
    EXPECT_EQ(transforms[i].second.Message(4).Double(3), Number(rows[i][2]));
  }
  const auto maps = MessagesOf(Path("out.mcap"), "/map");
  ASSERT_FALSE(maps.empty());
  EXPECT_EQ(maps.back().first, TimeOf(kPairs - 1));
  EXPECT_EQ(maps.back().second.Text(6).size(), 12 * static_cast<size_t>(Number(rows.back().back())));
  const auto images = MessagesOf(Path("out.mcap"), "/image");
  ASSERT_THAT(images, SizeIs(kPairs));
  const std::string jpeg = images[3].second.Text(2);
  const cv::Mat image = cv::imdecode(std::vector<char>(jpeg.begin(), jpeg.end()), cv::IMREAD_GRAYSCALE);
  ASSERT_EQ(image.size(), Drive()[3].left.size());
  EXPECT_LT(cv::norm(image, Drive()[3].left, cv::NORM_L1), 4.0 * static_cast<double>(image.total()));

  const Outcome listed = RunCommand(RunBag, {Path("out.mcap")});
  EXPECT_EQ(listed.status, 0) << listed.said;
  EXPECT_THAT(listed.printed, ContainsRegex("/pose +foxglove.PoseInFrame +16 +20.0 +0.050 +not used"));
  EXPECT_THAT(listed.printed, ContainsRegex("/stages +glint.Stages +16 +20.0 "));
}

using Places = std::vector<std::pair<double, double>>;

// Dots, and where lines end, by position.
Places Drawn(const view::WireFields& annotations) {
  Places places;
  for (const std::string& text : annotations.Texts(2)) {
    const view::WireFields one(text);
    std::vector<std::string> points = one.Texts(3);
    if (one.Number(2) == 3) points = {points.back()};  // LINE_STRIP
    for (const std::string& point : points) {
      places.emplace_back(view::WireFields(point).Double(1), view::WireFields(point).Double(2));
    }
  }
  std::sort(places.begin(), places.end());
  return places;
}

TEST_F(BagCommand, RecordingsHaveThePointsOfTheRows) {
  WriteDrive("drive.mcap");
  const auto check = [&](int (*command)(const std::vector<std::string>&), std::vector<std::string> options) {
    options.insert(options.end(), {"--bag", Path("drive.mcap"), "--server", "inproc", "--backend", "cpu", "--features",
                                   "200", "--format", "csv", "--mcap", Path("out.mcap")});
    const Outcome done = RunCommand(command, options);
    ASSERT_EQ(done.status, 0) << done.said;
    std::map<std::string, Places> rows;  // by image
    for (const auto& [name, x, y] : Points(done.printed)) {
      rows[name].emplace_back(x + 0.5, y + 0.5);  // from the picture's corner
    }
    ASSERT_THAT(rows, SizeIs(kPairs));
    const auto annotations = MessagesOf(Path("out.mcap"), "/annotations");
    ASSERT_THAT(annotations, SizeIs(kPairs));
    for (size_t i = 0; i < kPairs; ++i) {
      EXPECT_EQ(annotations[i].first, TimeOf(static_cast<int>(i)));
      Places& wanted = std::next(rows.begin(), static_cast<ptrdiff_t>(i))->second;
      std::sort(wanted.begin(), wanted.end());
      EXPECT_GT(wanted.size(), 20u);
      EXPECT_EQ(Drawn(annotations[i].second), wanted) << i;
    }
  };
  check(RunStream, {"--topic", kLeft});
  check(RunTrack, {"--topic", kLeft});
  check(RunStereo, {"--left", kLeft, "--right", kRight});
}

TEST_F(BagCommand, WrongOptionsOfRecordingsAreErrors) {
  WriteDrive("drive.mcap");
  const std::string before = BytesOf(Path("drive.mcap"));
  const auto stream = [&](std::vector<std::string> options) {
    options.insert(options.end(),
                   {"--bag", Path("drive.mcap"), "--topic", kLeft, "--server", "inproc", "--backend", "cpu"});
    return RunCommand(RunStream, options);
  };
  Outcome outcome = stream({"--mcap", Path("./drive.mcap")});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.said, HasSubstr("is the recording of --bag"));
  EXPECT_EQ(BytesOf(Path("drive.mcap")), before);
  EXPECT_THAT(stream({"--mcap", "-"}).said, HasSubstr("option '--mcap': '-' is not a file"));
  EXPECT_THAT(stream({"--mcap-images"}).said, HasSubstr("option '--mcap-images': needs --mcap"));
  EXPECT_THAT(stream({"--mcap", Path("out.mcap"), "--loop"}).said, HasSubstr("option '--mcap': not with --loop"));
  EXPECT_FALSE(std::filesystem::exists(Path("out.mcap")));
  outcome = stream({"--mcap", "/dev/full"});
  EXPECT_EQ(outcome.status, 74);
  EXPECT_THAT(outcome.said, HasSubstr("/dev/full: No space left on device"));
}

TEST_F(BagCommand, DetectAndViewTakeTopics) {
  WriteDrive("drive.mcap");
  const auto run = [&](int (*command)(const std::vector<std::string>&), std::vector<std::string> options) {
    options.insert(options.end(),
                   {"--bag", Path("drive.mcap"), "--server", "inproc", "--backend", "cpu", "--features", "50"});
    return RunCommand(command, options);
  };
  const auto csv = [&](int (*command)(const std::vector<std::string>&), const std::string& topics) {
    const Outcome done = run(command, {"--topic", topics, "--format", "csv"});
    EXPECT_EQ(done.status, 0) << done.said;
    return done.printed;
  };
  const std::string left = csv(RunStream, kLeft), right = csv(RunStream, kRight);
  EXPECT_THAT(Points(left), SizeIs(kPairs * 50));
  EXPECT_EQ(csv(RunDetect, kLeft), left);
  EXPECT_EQ(csv(RunDetect, absl::StrCat(kLeft, ",", kRight)), left + right.substr(right.find('\n') + 1));
  EXPECT_EQ(run(RunDetect, {"photo.jpg"}).status, 2);
  EXPECT_THAT(run(RunDetect, {"--pixel-format", "gray8", "--size", "4x4"}).said,
              HasSubstr("option '--bag': not with --pixel-format"));

  const Outcome view = run(RunView, {"--topic", kLeft, "--no-loop", "--rate", "0", "--view", "127.0.0.1:0"});
  EXPECT_EQ(view.status, 0) << view.said;
  EXPECT_THAT(view.said, HasSubstr("live view at http://127.0.0.1:"));
  EXPECT_THAT(run(RunView, {"--view", "127.0.0.1:0"}).said, HasSubstr("name one topic"));

  // What cannot be read is said and passed over; damage makes the exit status 1.
  std::ofstream(Path("drive.mcap"), std::ios::binary | std::ios::app) << "more";
  EXPECT_EQ(run(RunDetect, {"--topic", kLeft}).status, 1);
  EXPECT_EQ(run(RunView, {"--topic", kLeft, "--no-loop", "--rate", "0", "--view", "127.0.0.1:0"}).status, 1);
}

}  // namespace
}  // namespace glint::cli
