// A drive through a rendered room by the service alone: darkness on the way, a map that is saved, and a second server
// process in which another pass, beside the first one, is found.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/client.h"
#include "tests/blackbox/server_process.h"
#include "tests/slam/rendered_drive.h"

namespace glint::testing {
namespace {

using client::LocalizeAnswer;

constexpr int kPoses = 60;                       // of each pass
constexpr int kDark = 40;                        // after this pose of the first one
constexpr int kBlack = 30;                       // frames
constexpr double kBeside = 0.15, kBelow = 0.05;  // metres, of the second pass

// An arc through a room, 20 poses a second, 0.5 m/s; then the same poses again, moved and half a step on.
scene::Path TwoPasses() {
  scene::Path path;
  for (int i = 0; i < 2 * kPoses; ++i) {
    const double at = i < kPoses ? i : i - kPoses + 0.5;
    const scene::Mat3 turned = scene::Rotation(0.8 * at, 4 * scene::SinDegrees(5 * at), 0);
    scene::Vec3 position = {1.5 * (1 - scene::CosDegrees(at)), 0.1 * scene::SinDegrees(3 * at),
                            1.5 * scene::SinDegrees(at)};
    if (i >= kPoses) position = position + kBeside * turned.column(0) + kBelow * turned.column(1);
    path.push_back({i / 20.0, {turned, position}, ""});
  }
  return path;
}

slam::DriveOptions Drive(int first, int every) {
  slam::DriveOptions options;
  options.head = {{376, 240, 229, 187.5, 119.5}, 0.11, {}};
  options.sensor = {2, 0.2, 0};
  options.first = first;
  options.frames = kPoses;
  options.every = every;
  return options;
}

client::LocalizeStreamOptions Calibrated() {
  const scene::Camera camera = Drive(0, 1).head.camera;
  client::LocalizeStreamOptions options;
  options.detector.max_features = 700;
  options.camera = {camera.width, camera.height, camera.focal, camera.cx, camera.cy, Drive(0, 1).head.baseline};
  return options;
}

// A server process of its own, and a stream of it whose answers come one by one.
class Service {
 public:
  explicit Service(const std::string& maps) : process_({"--map-directory=" + maps, "--backend=cpu", "--lanes=2"}) {
    auto client = client::Client::Connect(process_.address());
    EXPECT_TRUE(client.ok()) << client.status();
    client_ = std::make_unique<client::Client>(*std::move(client));
    auto stream =
        client_->OpenLocalizeStream(Calibrated(), [this](const LocalizeAnswer& answer) { answers_.push_back(answer); });
    EXPECT_TRUE(stream.ok()) << stream.status();
    stream_ = *std::move(stream);
  }

  client::LocalizeStream* stream() { return stream_.get(); }
  // Ends stream and process.
  std::vector<LocalizeAnswer> Finish() {
    const absl::Status status = stream_->Finish();
    EXPECT_TRUE(status.ok()) << status;
    process_.Signal(SIGTERM);
    EXPECT_EQ(process_.Join(), 0);
    return answers_;
  }

 private:
  ServerProcess process_;
  std::unique_ptr<client::Client> client_;
  std::vector<LocalizeAnswer> answers_;
  std::unique_ptr<client::LocalizeStream> stream_;
};

Eigen::Vector3d PositionOf(const LocalizeAnswer& answer) {
  return Eigen::Map<const Eigen::Vector3d>(answer.location.pose.position.data());
}

TEST(LocalizeProcess, ADrivesMapServesAnotherPassInAnotherProcess) {
  const std::string maps = absl::StrCat(::testing::TempDir(), "glint-process-maps-", getpid());
  std::filesystem::create_directories(maps);
  slam::DriveOptions options = Drive(0, 1);
  options.dark = kDark;
  slam::RenderedDrive first(TwoPasses(), options);
  const slam::Pose world = first.Render(0).truth;  // of the map
  std::vector<LocalizeAnswer> answers;
  {
    Service service(maps);
    for (size_t i = 0; i < first.count(); ++i) {
      const slam::DriveFrame frame = first.Render(i);
      const auto ns = static_cast<int64_t>(std::llround(frame.seconds * 1e9)) + 1;
      ASSERT_TRUE(service.stream()->Write(i, frame.left, frame.right, ns).ok());
    }
    ASSERT_TRUE(service.stream()->SaveMap(first.count(), "room").ok());
    answers = service.Finish();
  }
  ASSERT_EQ(answers.size(), first.count() + 1);
  for (const LocalizeAnswer& answer : answers) ASSERT_TRUE(answer.status.ok()) << answer.status;
  // Lost in the first black frame, found within five once there is light.
  EXPECT_EQ(answers[kDark].location.status, LocationStatus::kTracking);
  EXPECT_EQ(answers[kDark + 1].location.status, LocationStatus::kLost);
  EXPECT_EQ(answers[kDark + kBlack].location.status, LocationStatus::kLost);
  int found_after = 1;
  while (found_after <= 5 && answers[kDark + kBlack + found_after].location.status != LocationStatus::kRelocalized) {
    ++found_after;
  }
  EXPECT_LE(found_after, 5);
  EXPECT_EQ(answers[first.count() - 1].location.status, LocationStatus::kTracking);

  slam::RenderedDrive second(TwoPasses(), Drive(kPoses, 2));
  std::vector<slam::Pose> truth;
  {
    Service service(maps);
    ASSERT_TRUE(service.stream()->LoadMap(0, "room").ok());
    for (size_t i = 0; i < second.count(); ++i) {
      const slam::DriveFrame frame = second.Render(i);
      truth.push_back(world.Inverse() * frame.truth);
      ASSERT_TRUE(service.stream()->Relocalize(i + 1, frame.left, frame.right).ok());
    }
    answers = service.Finish();
  }
  std::filesystem::remove_all(maps);
  ASSERT_EQ(answers.size(), truth.size() + 1);
  ASSERT_TRUE(answers[0].status.ok()) << answers[0].status;
  size_t found = 0;
  double farthest = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    const LocalizeAnswer& answer = answers[i + 1];
    ASSERT_TRUE(answer.status.ok()) << answer.status;
    if (answer.location.status != LocationStatus::kRelocalized) continue;
    ++found;
    farthest = std::max(farthest, (PositionOf(answer) - truth[i].translation).norm());
  }
  EXPECT_GE(20 * found, 19 * truth.size()) << found << " of " << truth.size();
  EXPECT_LT(farthest, 0.5);
}

}  // namespace
}  // namespace glint::testing
