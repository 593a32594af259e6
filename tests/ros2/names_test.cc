#include "ros2/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace glint::ros2 {
namespace {

using ::testing::HasSubstr;

std::string Whole(absl::string_view name, absl::string_view node_namespace = "/robot",
                  absl::string_view node = "glint") {
  const auto whole = WholeName(name, node_namespace, node);
  return whole.ok() ? *whole : absl::StrCat("error: ", whole.status().message());
}

TEST(Names, NamesAreMadeWholeByNamespaceAndNode) {
  EXPECT_EQ(Whole("/camera/left"), "/camera/left");
  EXPECT_EQ(Whole("camera/left"), "/robot/camera/left");
  EXPECT_EQ(Whole("camera", "/"), "/camera");
  EXPECT_EQ(Whole("~/pose"), "/robot/glint/pose");
  EXPECT_EQ(Whole("~/pose", "/"), "/glint/pose");
  EXPECT_EQ(Whole("~", "/a/b", "c"), "/a/b/c");
  EXPECT_EQ(Whole("/_a1/B_2"), "/_a1/B_2");
}

TEST(Names, WhatRosRefusesIsRefused) {
  for (const char* name : {"", "/", "a//b", "//a", "a/", "/a/", "a b", "a-b", "1a", "a/1b", "~a", "a~", "a/~/b", "~//a",
                           "a.b", "\xc3\xa4", "a\n"}) {
    EXPECT_THAT(Whole(name), HasSubstr("error: ")) << name;
  }
  EXPECT_THAT(Whole("{node}/a"), HasSubstr("\"{node}/a\" has a substitution, which is not supported"));
  EXPECT_EQ(Whole("/" + std::string(246, 'a')), "/" + std::string(246, 'a'));
  EXPECT_THAT(Whole("/" + std::string(247, 'a')), HasSubstr("is longer than 247 characters"));
}

TEST(Names, NodesAndNamespaces) {
  for (const char* name : {"glint", "_g", "G1", "a_"}) EXPECT_TRUE(CheckNodeName(name).ok()) << name;
  for (const char* name : {"", "1a", "a/b", "/a", "a-b", "a ", "~"}) EXPECT_FALSE(CheckNodeName(name).ok()) << name;
  EXPECT_TRUE(CheckNodeName(std::string(255, 'a')).ok());
  EXPECT_FALSE(CheckNodeName(std::string(256, 'a')).ok());
  for (const char* name : {"/", "/a", "/a/b_1"}) EXPECT_TRUE(CheckNamespace(name).ok()) << name;
  for (const char* name : {"", "a", "/a/", "//a", "/1", "/a b", "~"}) EXPECT_FALSE(CheckNamespace(name).ok()) << name;
}

TEST(Names, TheFirstRemapThatAppliesCounts) {
  const std::vector<Remap> remaps = {{"left", "/first", "other"},
                                     {"/robot/left", "second", ""},
                                     {"left", "third", ""},
                                     {"~/pose", "~/where/pose", "glint"},
                                     {"second", "fourth", ""}};
  const auto remapped = [&](absl::string_view name, absl::string_view node = "glint") {
    return Remapped(name, remaps, "/robot", node).value_or("error");
  };
  EXPECT_EQ(remapped("left"), "/robot/second");  // and not again to fourth
  EXPECT_EQ(remapped("/robot/left"), "/robot/second");
  EXPECT_EQ(remapped("left", "other"), "/first");
  EXPECT_EQ(remapped("/left"), "/left");
  EXPECT_EQ(remapped("~/pose"), "/robot/glint/where/pose");
  EXPECT_EQ(remapped("glint/pose"), "/robot/glint/where/pose");
  EXPECT_EQ(remapped("~/pose", "other"), "/robot/other/pose");
  EXPECT_EQ(remapped("left right"), "error");
}

TEST(Names, OfDds) {
  EXPECT_EQ(DdsTopic("/a/b"), "rt/a/b");
  EXPECT_EQ(DdsRequestTopic("/go"), "rq/goRequest");
  EXPECT_EQ(DdsReplyTopic("/go"), "rr/goReply");
  EXPECT_EQ(DdsType("sensor_msgs/msg/Image"), "sensor_msgs::msg::dds_::Image_");
  EXPECT_EQ(DdsType("std_srvs/srv/Trigger_Request"), "std_srvs::srv::dds_::Trigger_Request_");
}

}  // namespace
}  // namespace glint::ros2
