// The operation "localize" of a node without DDS, and servers in this process, on pairs along a wall.
#ifndef GLINT_TESTS_ROS2_LOCALIZE_FIXTURE_H_
#define GLINT_TESTS_ROS2_LOCALIZE_FIXTURE_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/client.h"
#include "client/view/view.h"
#include "ros/cdr.h"
#include "ros2/operations/connection.h"
#include "ros2/operations/live.h"
#include "ros2/operations/localize/localize.h"
#include "tests/ros2/fake_services.h"
#include "tests/server/harness.h"
#include "tests/server/localize_pairs.h"

namespace glint::ros2 {

using ::glint::testing::Eventually;
using ::glint::testing::kFrameNs;
using ::glint::testing::TestServer;

inline constexpr Shape kShape = {320, 200};
inline constexpr int64_t kStart = 1'700'000'000'000'000'000;  // ns
inline constexpr double kStep = 0.16;                         // metres from pair to pair, to the right

class LocalizeTest : public ::testing::Test {
 protected:
  LocalizeTest() : pairs_(glint::testing::PairsAlongAWall(kShape, 30)) {
    config_.camera.left = "/left/image_rect";
    config_.camera.right = "/right/image_rect";
    config_.localize.detector = "orb";
    config_.localize.max_keypoints = 300;
    config_.localize.realtime = false;
    // 1 m ahead of the base and 0.5 m above it, looking ahead.
    config_.frames.base_from_camera = {1, 0, 0.5, -0.5, 0.5, -0.5, 0.5};
    options_.listen = {"unix:" + glint::testing::UniqueSocketPath()};
    options_.map_directory = directory_;
    std::filesystem::create_directories(directory_);
    config_.server.address = options_.listen[0];
    Cameras cameras;
    cameras.camera = Camera();
    input_.Set(cameras);
  }
  ~LocalizeTest() override {
    operation_.reset();
    connection_.reset();
    std::filesystem::remove_all(directory_);
  }

  static client::StereoCamera Camera() {
    return {kShape.width, kShape.height, glint::testing::kFocal, 160, 100, glint::testing::kBaseline};
  }
  void StartServer() { server_ = std::make_unique<TestServer>(options_); }
  void Start() {
    connection_ = std::make_unique<Connection>(Connection::Options{config_.server, 8}, &input_);
    if (view_ != nullptr) live_ = std::make_unique<Live>(view_.get(), config_);
    auto made = MakeLocalize({&config_, &node_, &input_, connection_.get(), live_.get()});
    ASSERT_TRUE(made.ok()) << made.status();
    operation_ = *std::move(made);
  }
  void Take(const client::ImageInput& left, const client::ImageInput& second, bool has_depth = false) {
    const auto frame = std::make_shared<Frame>();
    Picture* const other = has_depth ? &frame->depth : &frame->right;
    for (auto [picture, image] : {std::pair(&frame->left, &left), std::pair(other, &second)}) {
      picture->stamp_ns = kStart + (taken_ + 1) * kFrameNs;
      picture->received_ns = absl::GetCurrentTimeNanos();
      picture->frame_id = "left_optical";
      picture->image = *image;
    }
    other->stamp_ns = frame->left.stamp_ns;
    ++taken_;
    operation_->Take(frame);
  }
  // The odometry of the pair, once that is published.
  ros::Odometry Locate(size_t i) {
    const size_t before = Count("/odometry");
    Take(pairs_[i].left, pairs_[i].right);
    EXPECT_TRUE(Eventually([&] { return Count("/odometry") > before; })) << i << ": " << operation_->Diagnose().message;
    return Last<ros::Odometry>("/odometry");
  }
  // Takes pairs until one is located: the server has been away, or the map is another one.
  bool LocateAgain(size_t i) {
    const size_t before = Count("/odometry");
    return Eventually([&] {
      Take(pairs_[i].left, pairs_[i].right);
      absl::SleepFor(absl::Milliseconds(50));
      return Count("/odometry") > before;
    });
  }
  size_t Count(const std::string& topic) { return node_.topic(topic)->count(); }
  template <class T>
  T Last(const std::string& topic) {
    T message;
    last_ = node_.topic(topic)->Messages().back();
    EXPECT_TRUE(ros::ReadCdr(last_, &message).ok());
    return message;
  }
  // To the left in the frame "map".
  double Left() { return Last<ros::PoseWithCovarianceStamped>("/pose").pose.pose.position.y; }
  std::string Told() {
    const ros::DiagnosticStatus status = operation_->Diagnose();
    std::string all = status.message;
    for (const ros::KeyValue& value : status.values) all += absl::StrCat("\n", value.key, ": ", value.value);
    return all;
  }

  const std::string directory_ = glint::testing::UniqueSocketPath() + ".maps";
  const std::vector<glint::testing::Pair> pairs_;
  Config config_;
  ServerOptions options_ = glint::testing::TestOptions();
  testing::NodeWithServices node_;
  testing::FakeInput input_;
  std::unique_ptr<view::View> view_;  // null: none
  std::unique_ptr<Live> live_;        // likewise
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Operation> operation_;
  std::vector<uint8_t> last_;
  int64_t taken_ = 0;
};

}  // namespace glint::ros2

#endif  // GLINT_TESTS_ROS2_LOCALIZE_FIXTURE_H_
