// What clients of Foxglove's protocol get of a scene, by Foxglove's numbers of fields.
#include <cmath>

#include "client/view/foxglove/messages.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/view/wire_fields.h"

namespace glint::view {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Channels kAll = Of(kChannelCount) - 1;
const absl::Time kTime = absl::FromUnixNanos(1700000000123456789);

FoxgloveMessages Encode(const Scene& scene, Channels channels = kAll, const EncodedPicture& picture = {}) {
  return EncodeForFoxglove(scene, channels, kTime, [&]() -> const EncodedPicture& { return picture; });
}

WireFields Only(const FoxgloveMessages& messages, Channel channel) {
  EXPECT_THAT(messages.of[channel], SizeIs(1));
  return WireFields(messages.of[channel].empty() ? "" : messages.of[channel][0]);
}

void ExpectTime(const WireFields& timestamp) {
  EXPECT_EQ(timestamp.Number(1), 1700000000u);
  EXPECT_EQ(timestamp.Number(2), 123456789u);
}

std::vector<double> Doubles(const WireFields& of, int count) {
  std::vector<double> all;
  for (int number = 1; number <= count; ++number) all.push_back(of.Double(number));
  return all;
}

TEST(EncodeForFoxglove, HasThePictureAsItIs) {
  const std::string jpeg("\xff\xd8\xff\0file", 8), png("\x89PNG\r\n\x1a\n");
  const FoxgloveMessages messages = Encode({}, kAll, {jpeg, 640, 480});
  EXPECT_EQ(messages.time_ns, 1700000000123456789u);
  const WireFields image = Only(messages, kImageChannel);
  ExpectTime(image.Message(1));
  EXPECT_EQ(image.Text(2), jpeg);
  EXPECT_EQ(image.Text(3), "jpeg");
  EXPECT_EQ(image.Text(4), "camera");
  EXPECT_EQ(Only(Encode({}, kAll, {png}), kImageChannel).Text(3), "png");
  EXPECT_THAT(Encode({}).of[kImageChannel], IsEmpty());
}

TEST(EncodeForFoxglove, MarksAreDotsInPixelsOfTheFile) {
  Scene scene;
  scene.palette = Palette::kRamp;
  scene.marks = {{{10.25f, 20.5f}, 31, 90, 0}, {{0, 0}, 0, -1, 255}};
  EncodedPicture picture;
  picture.scale = 0.5;
  const WireFields all = Only(Encode(scene, kAll, picture), kAnnotationsChannel);
  ExpectTime(all.Message(5));
  ASSERT_THAT(all.Texts(2), SizeIs(1));
  const WireFields dots = all.Message(2);
  ExpectTime(dots.Message(1));
  EXPECT_EQ(dots.Number(2), 1u);  // POINTS
  ASSERT_THAT(dots.Texts(3), SizeIs(2));
  EXPECT_THAT(Doubles(WireFields(dots.Texts(3)[0]), 2), ElementsAre(5.375, 10.5));
  EXPECT_THAT(Doubles(WireFields(dots.Texts(3)[1]), 2), ElementsAre(0.25, 0.25));
  ASSERT_THAT(dots.Texts(5), SizeIs(2));
  EXPECT_THAT(Doubles(WireFields(dots.Texts(5)[0]), 4), ElementsAre(0, 0, 1, 1));  // blue
  EXPECT_THAT(Doubles(WireFields(dots.Texts(5)[1]), 4), ElementsAre(1, 0, 0, 1));  // red
  EXPECT_GT(dots.Double(7), 0);
}

TEST(EncodeForFoxglove, OctavesGoFromGreenToRed) {
  Scene scene;
  scene.marks = {{{0, 0}, 1, -1, 0}, {{0, 0}, 1, -1, 200}};
  const WireFields dots = Only(Encode(scene), kAnnotationsChannel).Message(2);
  const std::vector<double> first = Doubles(WireFields(dots.Texts(5)[0]), 4);
  EXPECT_THAT(first, ElementsAre(DoubleNear(0, 0.02), 1, DoubleNear(0, 0.02), 1));
  EXPECT_THAT(Doubles(WireFields(dots.Texts(5)[1]), 4), ElementsAre(1, 0, 0, 1));
}

TEST(EncodeForFoxglove, TrailsAreStrips) {
  Scene scene;
  scene.trails = {{255, {{1, 2}, {3, 4}, {5.5f, 6}}}, {0, {{7, 8}}}};
  const WireFields all = Only(Encode(scene), kAnnotationsChannel);
  ASSERT_THAT(all.Texts(2), SizeIs(2));
  const WireFields line(all.Texts(2)[0]), dot(all.Texts(2)[1]);
  EXPECT_EQ(line.Number(2), 3u);  // LINE_STRIP
  ASSERT_THAT(line.Texts(3), SizeIs(3));
  EXPECT_THAT(Doubles(WireFields(line.Texts(3)[2]), 2), ElementsAre(6, 6.5));
  EXPECT_THAT(Doubles(line.Message(4), 4), ElementsAre(1, 0, 0, 1));
  EXPECT_EQ(dot.Number(2), 1u);
}

TEST(EncodeForFoxglove, ThePoseTakesTheCameraToTheMap) {
  Scene scene;
  scene.pose = {{0.5, -0.5, 0.5, -0.5}, {1.25, -2.5, 1e-3}};
  const FoxgloveMessages messages = Encode(scene);
  const WireFields pose = Only(messages, kPoseChannel);
  ExpectTime(pose.Message(1));
  EXPECT_EQ(pose.Text(2), "map");
  EXPECT_THAT(Doubles(pose.Message(3).Message(1), 3), ElementsAre(1.25, -2.5, 1e-3));
  EXPECT_THAT(Doubles(pose.Message(3).Message(2), 4), ElementsAre(0.5, -0.5, 0.5, -0.5));
  const WireFields transform = Only(messages, kTransformChannel);
  ExpectTime(transform.Message(1));
  EXPECT_EQ(transform.Text(2), "map");
  EXPECT_EQ(transform.Text(3), "camera");
  EXPECT_THAT(Doubles(transform.Message(4), 3), ElementsAre(1.25, -2.5, 1e-3));
  EXPECT_THAT(Doubles(transform.Message(5), 4), ElementsAre(0.5, -0.5, 0.5, -0.5));
  for (const Channel channel : {kPoseChannel, kTransformChannel}) EXPECT_THAT(Encode({}).of[channel], IsEmpty());
}

TEST(EncodeForFoxglove, APathHasWhereTheCameraWasLocated) {
  Scene scene;
  for (int i = 0; i < 5000; ++i) {
    Step step;
    step.state = i < 100 ? Step::kLost : Step::kLocated;
    step.pose.position = {static_cast<double>(i), 0, 0};
    scene.path.push_back(step);
  }
  const WireFields path = Only(Encode(scene), kPathChannel);
  EXPECT_EQ(path.Text(2), "map");
  const std::vector<std::string> poses = path.Texts(3);
  ASSERT_THAT(poses, SizeIs(980 + 1));  // one of five, and the last
  EXPECT_EQ(WireFields(poses.front()).Message(1).Double(1), 100);
  EXPECT_EQ(WireFields(poses[1]).Message(1).Double(1), 105);
  EXPECT_EQ(WireFields(poses.back()).Message(1).Double(1), 4999);
  EXPECT_EQ(WireFields(poses.back()).Message(2).Double(4), 1);
}

TEST(EncodeForFoxglove, MapPointsAreACloud) {
  Scene scene;
  scene.map = std::make_shared<const MapPoints>(MapPoints{{1, -2.5f, 3}, {0, 0, 1e6f}});
  const WireFields cloud = Only(Encode(scene), kMapChannel);
  ExpectTime(cloud.Message(1));
  EXPECT_EQ(cloud.Text(2), "map");
  EXPECT_EQ(cloud.Message(3).Message(2).Double(4), 1);
  EXPECT_EQ(cloud.Number(4), 12u);
  ASSERT_THAT(cloud.Texts(5), SizeIs(3));
  for (size_t i = 0; i < 3; ++i) {
    const WireFields field(cloud.Texts(5)[i]);
    EXPECT_EQ(field.Text(1), std::string(1, static_cast<char>('x' + i)));
    EXPECT_EQ(field.Number(2), 4 * i);
    EXPECT_EQ(field.Number(3), 7u);  // FLOAT32
  }
  const std::string data = cloud.Text(6);
  ASSERT_EQ(data.size(), 24u);
  EXPECT_EQ(LittleEndian(data, 0, 4), 0x3f800000u);
  EXPECT_EQ(LittleEndian(data, 4, 4), 0xc0200000u);
  EXPECT_EQ(LittleEndian(data, 20, 4), 0x49742400u);
  EXPECT_THAT(Encode({}).of[kMapChannel], IsEmpty());
}

TEST(EncodeForFoxglove, StagesAreMilliseconds) {
  Scene scene;
  scene.name = "a \"b\".png";
  scene.stages = {{"receive", 1500000}, {"detect", 250000}};
  EXPECT_THAT(
      Encode(scene).of[kStagesChannel],
      ElementsAre(
          R"({"frame": "a \"b\".png","stages": [{"name": "receive","ms": 1.5},{"name": "detect","ms": 0.25}]})"));
}

TEST(EncodeForFoxglove, TheLogHasFiguresAndWarnings) {
  Scene scene;
  scene.name = "f\xff.png";
  scene.text = "3 keypoints";
  scene.warnings = {"the lens is dirty"};
  const FoxgloveMessages messages = Encode(scene);
  ASSERT_THAT(messages.of[kLogChannel], SizeIs(2));
  const WireFields figures(messages.of[kLogChannel][0]), warning(messages.of[kLogChannel][1]);
  ExpectTime(figures.Message(1));
  EXPECT_EQ(figures.Number(2), 2u);  // INFO
  EXPECT_EQ(figures.Text(3), "f\\xff.png: 3 keypoints");
  EXPECT_EQ(warning.Number(2), 3u);  // WARNING
  EXPECT_EQ(warning.Text(3), "the lens is dirty");
  const WireFields notice = Only(EncodeNotice("no server", kTime), kLogChannel);
  EXPECT_EQ(notice.Number(2), 3u);
  EXPECT_EQ(notice.Text(3), "no server");
}

TEST(EncodeForFoxglove, MakesWhatIsWantedAlone) {
  Scene scene;
  scene.pose.emplace();
  const auto none = []() -> const EncodedPicture& {
    ADD_FAILURE() << "a picture is made";
    static const EncodedPicture picture;
    return picture;
  };
  const FoxgloveMessages messages =
      EncodeForFoxglove(scene, kAll & ~Of(kImageChannel) & ~Of(kAnnotationsChannel) & ~Of(kPoseChannel), kTime, none);
  EXPECT_THAT(messages.of[kPoseChannel], IsEmpty());
  EXPECT_THAT(messages.of[kTransformChannel], SizeIs(1));
}

}  // namespace
}  // namespace glint::view
