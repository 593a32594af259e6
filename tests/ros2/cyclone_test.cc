// glint-ros2 with a camera on another maker's DDS: a program of Cyclone DDS (cyclone/camera.cc) in a process of its
// own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "ros2/app/node.h"
#include "tests/server/harness.h"
#include "tests/server/localize_pairs.h"

namespace glint::ros2 {
namespace {

constexpr Shape kShape = {320, 200};
constexpr double kStepMetres = 0.16;
constexpr int kPairs = 20, kSent = 100;
// By unicast to this machine, as our side with ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST.
constexpr char kCycloneUri[] =
    "<CycloneDDS><Domain><General><AllowMulticast>false</AllowMulticast></General><Discovery>"
    "<ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>"
    "<Peers><Peer address='127.0.0.1'/></Peers></Discovery></Domain></CycloneDDS>";

TEST(CycloneTest, CameraIsLocated) {
  setenv("ROS_DOMAIN_ID", absl::StrCat(20 + getpid() % 200).c_str(), 1);
  setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST", 1);
  setenv("CYCLONEDDS_URI", kCycloneUri, 1);
  const std::string pixels = glint::testing::UniqueSocketPath() + ".pixels";
  {
    std::ofstream file(pixels, std::ios::binary);
    for (const auto& pair : glint::testing::PairsAlongAWall(kShape, kPairs)) {
      for (const Image* image : {&pair.left, &pair.right}) {
        for (int y = 0; y < kShape.height; ++y) {
          file.write(reinterpret_cast<const char*>(image->row(y)), kShape.width);
        }
      }
    }
  }
  ServerOptions options = glint::testing::TestOptions();
  const glint::testing::TestServer server(options);
  Config config;
  config.server.address = options.listen[0];
  config.camera.left = "/left/image_rect";
  config.camera.right = "/right/image_rect";
  config.localize.detector = "orb";
  config.localize.max_keypoints = 300;
  config.localize.realtime = false;
  config.frames.base_from_camera = {0, 0, 0, -0.5, 0.5, -0.5, 0.5};
  const auto node = Node::Create(config);
  ASSERT_TRUE(node.ok()) << node.status();

  const std::string command =
      absl::StrCat("'" GLINT_CYCLONE_CAMERA "' '", pixels, "' ", kShape.width, " ", kShape.height, " ",
                   glint::testing::kFocal, " ", glint::testing::kBaseline, " ", kSent);
  FILE* const camera = popen(command.c_str(), "r");
  ASSERT_NE(camera, nullptr);
  std::map<int64_t, int> sent;
  int located = 0, first = 0;
  double start = 0;
  for (char line[200]; std::fgets(line, sizeof(line), camera) != nullptr;) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "sent") {
      int number = 0;
      int64_t stamp = 0;
      words >> number >> stamp;
      sent[stamp] = number;
      continue;
    }
    ASSERT_EQ(kind, "odometry") << line;
    int64_t stamp = 0;
    double x = 0, y = 0, z = 0;
    words >> stamp >> x >> y >> z;
    ASSERT_EQ(sent.count(stamp), 1u) << line;
    if (located++ == 0) {
      first = sent[stamp];
      start = y;
    }
    EXPECT_NEAR(start - y, kStepMetres * (sent[stamp] - first), 0.1) << line;  // it moves to the right
    EXPECT_NEAR(x, 0, 0.1) << line;
    EXPECT_NEAR(z, 0, 0.1) << line;
  }
  EXPECT_EQ(pclose(camera), 0);
  EXPECT_EQ(sent.size(), static_cast<size_t>(kSent));
  EXPECT_GT(located, kSent / 2);  // the rest: while they find one another, and on a busy machine
  std::remove(pixels.c_str());
}

}  // namespace
}  // namespace glint::ros2
