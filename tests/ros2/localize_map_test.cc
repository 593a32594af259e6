// Maps of localization: saved, loaded and begun anew, by services, by topics and by themselves; and what Foxglove
// shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/ros2/localize_fixture.h"

namespace glint::ros2 {
namespace {

using ::testing::HasSubstr;

using LocalizeMap = LocalizeTest;

TEST_F(LocalizeMap, MapsAreSavedResetAndLoaded) {
  StartServer();
  Start();
  EXPECT_FALSE(node_.Call("/glint/save_map").success);  // no stream yet
  for (size_t i = 0; i < 20; ++i) Locate(i);
  const ros::TriggerResponse saved = node_.Call("/glint/save_map");
  EXPECT_TRUE(saved.success);
  EXPECT_EQ(saved.message, "map \"ros2\" saved");
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/ros2.glintmap"));
  EXPECT_TRUE(node_.Call("/glint/reset").success);
  ASSERT_TRUE(LocateAgain(12)) << Told();
  EXPECT_NEAR(Left(), 0, 0.02);  // of a new map
  EXPECT_TRUE(node_.Call("/glint/load_map").success);
  ASSERT_TRUE(LocateAgain(13)) << Told();
  EXPECT_NEAR(Left(), -13 * kStep, 0.1);
  node_.Send("/glint/load_map_from", "nowhere");
  EXPECT_TRUE(Eventually([&] { return Told().find("map \"nowhere\" not loaded: ") != std::string::npos; })) << Told();
  node_.Send("/glint/save_map_as", "copy");
  EXPECT_TRUE(Eventually([&] { return std::filesystem::exists(directory_ + "/copy.glintmap"); })) << Told();
}

TEST_F(LocalizeMap, SaysThatTheServerKeepsNoMaps) {
  options_.map_directory = "";
  StartServer();
  Start();
  for (size_t i = 0; i < 3; ++i) Locate(i);
  const ros::TriggerResponse saved = node_.Call("/glint/save_map");
  EXPECT_FALSE(saved.success);
  EXPECT_THAT(saved.message, HasSubstr("--map-directory"));
}

TEST_F(LocalizeMap, LoadsAtStartWhatItHasSavedByItself) {
  config_.localize.load_at_start = true;
  config_.localize.save_every = 0.3;
  StartServer();
  Start();
  for (size_t i = 0; i < 20; ++i) Locate(i);
  // Once more after the last pair.
  std::filesystem::remove(directory_ + "/ros2.glintmap");
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(directory_ + "/ros2.glintmap"); })) << Told();
  server_.reset();
  StartServer();
  ASSERT_TRUE(LocateAgain(14)) << Told();
  EXPECT_NEAR(Left(), -14 * kStep, 0.1);
  operation_.reset();  // and after the node's end
  connection_.reset();
  Start();
  ASSERT_TRUE(LocateAgain(9)) << Told();
  EXPECT_NEAR(Left(), -9 * kStep, 0.1);
}

}  // namespace
}  // namespace glint::ros2
