// What is said of images that come, and lead to nothing.
#include "ros2/input/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ros2/input_helpers.h"

namespace glint::ros2 {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Level = ros::DiagnosticStatus;

ros::DiagnosticStatus OfPairs(const PairCounts& now, const PairCounts& before) {
  Diagnosis diagnosis("input");
  diagnosis.AddPairs(now, before, "left", "right");
  return diagnosis.Take();
}

TEST(DiagnosisTest, PairsThatDoNotComeAboutAreWarnedOf) {
  PairCounts before, now;
  before.pairs = now.pairs = 7;
  EXPECT_EQ(OfPairs(now, before).level, Level::kOk);  // nothing came
  now.apart_ns = 20'400'000;
  const ros::DiagnosticStatus status = OfPairs(now, before);
  EXPECT_EQ(status.level, Level::kWarn);
  EXPECT_THAT(status.message, AllOf(StartsWith("left and right images make no pairs: their stamps are 20.4 ms apart"),
                                    HasSubstr("camera.max_time_difference")));
  ++now.pairs;  // one image alone among pairs
  EXPECT_EQ(OfPairs(now, before).level, Level::kOk);
}

TEST(DiagnosisTest, AClockThatWasSetBackIsWarnedOfOnce) {
  PairCounts before, now;
  now.restarts = 2;
  EXPECT_EQ(OfPairs(now, before).level, Level::kWarn);
  EXPECT_THAT(OfPairs(now, before).message, HasSubstr("set back"));
  EXPECT_EQ(OfPairs(now, now).level, Level::kOk);
}

TEST(DiagnosisTest, SeveralPublishersAreWarnedOf) {
  constexpr int64_t kNow = 1'700'000'000'000'000'000;
  const auto with = [](int publishers, bool needed) {
    Diagnosis diagnosis("input");
    TopicFigures figures;
    figures.newest_ns = kNow;
    SubscriptionCounts counts;
    counts.matched = publishers;
    diagnosis.AddTopic("/left", needed, figures, counts, kNow);
    return diagnosis.Take();
  };
  EXPECT_EQ(with(1, true).level, Level::kOk);
  EXPECT_EQ(with(2, false).level, Level::kOk);  // as of /tf_static
  EXPECT_EQ(with(2, true).level, Level::kWarn);
  EXPECT_THAT(with(2, true).message, StartsWith("/left: 2 publishers"));
}

TEST(DiagnosisTest, ImagesWithoutAFrameAreWarnedOf) {
  for (const bool is_named : {false, true}) {
    Config config;
    config.camera.left = "/left/image_raw";
    if (is_named) config.frames.camera = "left_optical";
    testing::Opened opened(config);
    ASSERT_TRUE(opened.status.ok()) << opened.status;
    const auto level = [&](const std::string& frame, int64_t ms) {
      opened.participant.Send("/left/image_raw", testing::Grey(8, 8, ms, frame).message);
      const ros::DiagnosticStatus status = opened.input->Diagnose();
      EXPECT_TRUE(status.level == Level::kOk || status.message.find("header.frame_id") != std::string::npos)
          << status.message;
      return status.level;
    };
    EXPECT_EQ(level("", 0), is_named ? Level::kOk : Level::kWarn);
    EXPECT_EQ(level("cam", 50), Level::kOk);
  }
}

}  // namespace
}  // namespace glint::ros2
