// The bytes that a browser gets, and what it may say.
#include "client/view/message.h"

#include <cmath>
#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glint::view {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

uint32_t U32(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

int U16(const std::string& bytes, size_t at) {
  return static_cast<int>(U32(bytes + std::string(4, '\0'), at) & 0xffff);
}

struct Parts {
  std::string header, rest;
};

Parts Split(const std::string& message) {
  const uint32_t bytes = U32(message, 0);
  return {message.substr(4, bytes), message.substr(4 + bytes)};
}

TEST(EncodeScene, HasEverySectionInOrder) {
  Scene scene;
  scene.name = "a \"b\".png";
  scene.text = "3 keypoints";
  scene.marks = {{{10.25f, 20.5f}, 31, 90, 5}, {{1, 2}, 0, -1, 7}};
  scene.trails = {{200, {{1, 1}, {2.5f, 3}}}};
  scene.path = {{1.5f, -2.5f, Step::kLost, true}};
  scene.strips = {{"bias, rad/s", {0.5, -2, std::nan("")}}};
  scene.stages = {{"detect", 1234567}};
  const Parts parts = Split(EncodeScene(scene, {"FILE", 640, 480}));
  EXPECT_EQ(parts.header.size() % 4, 0u);
  EXPECT_THAT(parts.header,
              AllOf(HasSubstr(R"("a \"b\".png")"), HasSubstr(R"("3 keypoints")"), HasSubstr("1234567"),
                    HasSubstr("640"), HasSubstr("octaves"), HasSubstr(R"("strips": [["bias, rad/s",0.5,-2,null]])")));
  ASSERT_EQ(parts.rest.size(), 2 * 8u + 2 + 2 * 4 + 12 + 4);
  EXPECT_EQ(U16(parts.rest, 0), 41);
  EXPECT_EQ(U16(parts.rest, 2), 82);
  EXPECT_EQ(U16(parts.rest, 4), 124);
  EXPECT_EQ(parts.rest[6], 5);
  EXPECT_EQ(parts.rest[7], 64);  // 90 degrees in 1/255 of a turn
  EXPECT_EQ(static_cast<uint8_t>(parts.rest[15]), 255);
  EXPECT_EQ(static_cast<uint8_t>(parts.rest[16]), 200);
  EXPECT_EQ(parts.rest[17], 2);
  EXPECT_EQ(U16(parts.rest, 22), 10);
  EXPECT_EQ(U16(parts.rest, 24), 12);
  float z = 0;
  std::memcpy(&z, &parts.rest[30], sizeof(z));
  EXPECT_EQ(z, -2.5f);
  EXPECT_EQ(parts.rest[34], Step::kLost);
  EXPECT_EQ(parts.rest[35], 1);
  EXPECT_EQ(parts.rest.substr(38), "FILE");
}

TEST(EncodeScene, BringsWhatCannotBeWrittenToTheBorder) {
  Scene scene;
  scene.marks = {{{-3, 1e9f}, NAN, 359.9f, 0}};
  const Parts parts = Split(EncodeScene(scene, {}));
  ASSERT_EQ(parts.rest.size(), 8u);
  EXPECT_EQ(U16(parts.rest, 0), 0);
  EXPECT_EQ(U16(parts.rest, 2), 65535);
  EXPECT_EQ(U16(parts.rest, 4), 0);
  EXPECT_EQ(parts.rest[7], 0) << "255 would mean no angle";
}

TEST(EncodeScene, KeepsTheNewestPointsOfATrail) {
  Scene scene;
  scene.trails.resize(1);
  for (int i = 0; i < 300; ++i) scene.trails[0].points.push_back({static_cast<float>(i), 0});
  const Parts parts = Split(EncodeScene(scene, {}));
  ASSERT_EQ(parts.rest.size(), 2 + 255 * 4u);
  EXPECT_EQ(U16(parts.rest, 2), 4 * 45);
  EXPECT_EQ(U16(parts.rest, 2 + 254 * 4), 4 * 299);
}

TEST(EncodeState, HasOnlyTheSlidersThereAre) {
  State state;
  state.title = "street";
  state.max_features = 500;
  EXPECT_THAT(EncodeState(state), AllOf(HasSubstr("\"features\": 500"), Not(HasSubstr("threshold"))));
}

TEST(ParseRequest, TakesWhatPagesSayAndNothingElse) {
  EXPECT_EQ(ParseRequest("ready")->kind, Request::kReady);
  EXPECT_EQ(ParseRequest("pause")->kind, Request::kPause);
  EXPECT_EQ(ParseRequest("resume")->kind, Request::kResume);
  EXPECT_EQ(ParseRequest("threshold 254")->value, 254);
  EXPECT_EQ(ParseRequest("features 65536")->kind, Request::kFeatures);
  for (const char* text : {"", "ready ", "stop", "threshold", "threshold ", "threshold 0", "threshold 255",
                           "threshold 1x", "features 0", "features 65537", "features -1"}) {
    EXPECT_FALSE(ParseRequest(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace glint::view
