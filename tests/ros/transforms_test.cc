// Chains of fixed transforms.
#include "ros/transforms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"

namespace glint::ros {
namespace {

using ::testing::HasSubstr;

TransformStamped Stamped(const std::string& parent, const std::string& child, const Vector3& translation,
                         const Quaternion& rotation = {}) {
  return {{{}, parent}, child, {translation, rotation}};
}

Eigen::Vector3d Moved(const Transforms& transforms, const std::string& to, const std::string& from,
                      const Eigen::Vector3d& point) {
  const auto found = transforms.Find(to, from);
  EXPECT_TRUE(found.has_value()) << to << " from " << from;
  return found.value_or(RigidTransform()) * point;
}

TEST(Transforms, AreChainedBothWays) {
  const double h = std::sqrt(0.5);
  Transforms transforms;
  EXPECT_TRUE(transforms.empty());
  // b is turned by 90 degrees about a's z; c is in b, d in a.
  ASSERT_TRUE(transforms.Add({{Stamped("a", "b", {1, 2, 3}, {0, 0, h, h}), Stamped("b", "c", {10, 0, 0})}}).ok());
  ASSERT_TRUE(transforms.Add({{Stamped("/a", "/d", {0, 0, 5})}}).ok());
  EXPECT_TRUE(Moved(transforms, "a", "c", {0, 0, 0}).isApprox(Eigen::Vector3d(1, 12, 3)));
  EXPECT_TRUE(Moved(transforms, "a", "c", {0, 1, 0}).isApprox(Eigen::Vector3d(0, 12, 3)));
  EXPECT_TRUE(Moved(transforms, "c", "a", {0, 12, 3}).isApprox(Eigen::Vector3d(0, 1, 0)));
  EXPECT_TRUE(Moved(transforms, "/d", "c", {0, 0, 0}).isApprox(Eigen::Vector3d(1, 12, -2)));
  EXPECT_TRUE(Moved(transforms, "c", "/c", {1, 2, 3}).isApprox(Eigen::Vector3d(1, 2, 3)));
  EXPECT_FALSE(transforms.Find("a", "e").has_value());
  EXPECT_FALSE(transforms.Find("e", "a").has_value());
  EXPECT_FALSE(transforms.Find("", "a").has_value());
  ASSERT_TRUE(transforms.Add({{Stamped("b", "c", {20, 0, 0})}}).ok());  // in place of the other
  EXPECT_TRUE(Moved(transforms, "a", "c", {0, 0, 0}).isApprox(Eigen::Vector3d(1, 22, 3)));
}

TEST(Transforms, OfLongChainsAndLoops) {
  Transforms transforms;
  TFMessage chain;
  for (int i = 0; i < 500; ++i) {
    chain.transforms.push_back(Stamped(absl::StrCat("f", i), absl::StrCat("f", i + 1), {1, 0, 0}));
  }
  ASSERT_TRUE(transforms.Add(chain).ok());
  EXPECT_EQ(Moved(transforms, "f0", "f500", {0, 0, 0}).x(), 500);
  ASSERT_TRUE(transforms.Add({{Stamped("f500", "f0", {0, 7, 0})}}).ok());
  EXPECT_EQ(Moved(transforms, "f0", "f500", {0, 0, 0}).y(), -7);  // the shorter way
}

TEST(Transforms, WhatCannotBeIsLeftOut) {
  const auto why = [](const TransformStamped& bad) {
    Transforms transforms;
    const absl::Status status = transforms.Add({{bad, Stamped("p", "q", {1, 0, 0})}});
    EXPECT_TRUE(transforms.Find("p", "q").has_value());
    EXPECT_FALSE(transforms.Find("a", "b").has_value());
    return std::string(status.message());
  };
  EXPECT_THAT(why(Stamped("a", "b", {}, {0, 0, 0, 0})),
              HasSubstr("tf2_msgs/msg/TFMessage.transforms[0].transform.rotation: its length 0 is not 1"));
  EXPECT_THAT(why(Stamped("a", "b", {}, {std::nan(""), 0, 0, 1})), HasSubstr("rotation: its length nan"));
  EXPECT_THAT(why(Stamped("a", "b", {0, std::numeric_limits<double>::infinity(), 0})), HasSubstr("is not finite"));
  EXPECT_THAT(why(Stamped("", "b", {})), HasSubstr("header.frame_id: is empty"));
  EXPECT_THAT(why(Stamped("a", "/", {})), HasSubstr("child_frame_id: is empty"));
  EXPECT_THAT(why(Stamped("b", "/b", {})), HasSubstr("\"b\" is its parent"));
  EXPECT_THAT(why(Stamped("a", std::string(1001, 'b'), {})), HasSubstr("1001 bytes are more than 1000"));
}

TEST(Transforms, AreOfABoundedNumber) {
  Transforms transforms;
  TFMessage many;
  for (size_t i = 0; i < Transforms::kMost + 5; ++i) {
    many.transforms.push_back(Stamped("root", absl::StrCat("f", i), {1, 0, 0}));
  }
  const absl::Status status = transforms.Add(many);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("more than 10000"));
  EXPECT_TRUE(transforms.Find("root", "f9999").has_value());
  EXPECT_FALSE(transforms.Find("root", "f10000").has_value());
  ASSERT_TRUE(transforms.Add({{Stamped("root", "f7", {2, 0, 0})}}).ok());
  EXPECT_EQ(Moved(transforms, "root", "f7", {0, 0, 0}).x(), 2);
}

}  // namespace
}  // namespace glint::ros
