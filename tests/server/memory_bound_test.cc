// The bound on memory that limits allow, what the process may use, and that the default limits fit common cameras.
#include "server/memory/memory_bound.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "proto/location.h"
#include "server/app/server.h"
#include "server/base/usable_memory.h"
#include "server/operations/localize/imu_inbox.h"
#include "server/pixels/rectification.h"
#include "server/schedule/frame_queue.h"
#include "server/session/places.h"
#include "slam/inertial/imu_buffer.h"
#include "slam/inertial/preintegration.h"
#include "tests/server/fake_lane.h"
#include "tests/support/limits_root.h"

namespace glint {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int64_t kGiB = int64_t{1} << 30;

TEST(UsableMemoryTest, IsThreeQuartersOfTheMachineWithoutALimit) {
  const testing::LimitsRoot root("0::/user.slice");
  root.Write("/sys/fs/cgroup/user.slice/memory.max", "max");
  const UsableMemory memory = FindUsableMemory(root.path(), 8 * kGiB);
  EXPECT_EQ(memory.bytes, 6 * kGiB);
  EXPECT_EQ(memory.source, "three quarters of the machine");
}

TEST(UsableMemoryTest, IsTheSmallestLimitOfTheGroupsAboveInV2) {
  const testing::LimitsRoot root("0::/system.slice/glint-server.service");
  root.Write("/sys/fs/cgroup/system.slice/glint-server.service/memory.max", absl::StrCat(6 * kGiB));
  EXPECT_EQ(FindUsableMemory(root.path(), 16 * kGiB).bytes, 6 * kGiB);
  root.Write("/sys/fs/cgroup/system.slice/memory.max", absl::StrCat(4 * kGiB));
  const UsableMemory memory = FindUsableMemory(root.path(), 8 * kGiB);
  EXPECT_EQ(memory.bytes, 4 * kGiB);
  EXPECT_THAT(memory.source, ::testing::EndsWith("/sys/fs/cgroup/system.slice/memory.max"));
  EXPECT_EQ(FindUsableMemory(root.path(), 4 * kGiB).bytes, 3 * kGiB);
}

// A container sees its own group as the root of the mount; with v1 /proc names it as the host does.
TEST(UsableMemoryTest, IsTheContainersLimit) {
  {
    const testing::LimitsRoot root("0::/");
    root.Write("/sys/fs/cgroup/memory.max", absl::StrCat(2 * kGiB));
    EXPECT_EQ(FindUsableMemory(root.path(), 8 * kGiB).bytes, 2 * kGiB);
  }
  const testing::LimitsRoot root("12:cpu,cpuacct:/docker/1f\n9:memory:/docker/1f\n1:name=systemd:/docker/1f");
  root.Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", absl::StrCat(3 * kGiB));
  EXPECT_EQ(FindUsableMemory(root.path(), 8 * kGiB).bytes, 3 * kGiB);
  root.Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(FindUsableMemory(root.path(), 8 * kGiB).bytes, 6 * kGiB);
}

TEST(UsableMemoryTest, OfThisProcessIsAtMostTheMachines) {
  const UsableMemory memory = FindUsableMemory();
  EXPECT_GT(memory.bytes, 0);
  EXPECT_LE(memory.bytes, int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE) / 4 * 3);
}

// Pairs take more of lanes with separate buffers for both images.
TEST(MemoryBoundTest, CountsPairs) {
  ServerOptions options;
  options.lanes.max_image_pixels = 1000;
  options.max_features = 10;
  const MemoryBound one_thread = ComputeMemoryBound(options, 3);
  EXPECT_EQ(one_thread.lanes, 3 * (1000 * kLaneBytesPerPixel + 10 * (kLaneBytesPerFeature + kTrackBytesPerFeature)));
  options.lanes.jpeg = JpegDecoding::kCpu;
  const int64_t on_cuda = 30 * kCudaPairBytesPerFeature + 3 * kCudaPlansBytes;
  EXPECT_EQ(ComputeMemoryBound(options, 3, Backend::kCuda).lanes - one_thread.lanes, on_cuda);
  options.lanes.jpeg = JpegDecoding::kAuto;
  EXPECT_EQ(ComputeMemoryBound(options, 3, Backend::kCuda).lanes - one_thread.lanes,
            on_cuda + 3 * (1000 * kCudaJpegBytesPerPixel + kCudaJpegBytes));
  options.lanes.threads_per_lane = 2;
  EXPECT_EQ(ComputeMemoryBound(options, 3).lanes - one_thread.lanes, 3000 * kPairBytesPerPixel);
}

// What a GPU has in memory of its own is the host's where it is integrated: then nothing is page-locked for it.
TEST(MemoryBoundTest, CountsTheMemoryOfIntegratedGpus) {
  ServerOptions options;
  options.lanes.max_image_pixels = 1000;
  options.max_features = 10;
  LaneSet lanes;
  lanes.lanes.resize(3);
  lanes.backend = Backend::kCuda;
  EXPECT_TRUE(LanesToBound(lanes).integrated);
  const int64_t integrated = ComputeMemoryBound(options, LanesToBound(lanes)).lanes;
  lanes.pinning.pin = [](absl::Span<const uint8_t>) { return absl::OkStatus(); };
  EXPECT_FALSE(LanesToBound(lanes).integrated);
  EXPECT_EQ(integrated - ComputeMemoryBound(options, LanesToBound(lanes)).lanes,
            3 * (1000 * kIntegratedBytesPerPixel + 10 * kIntegratedBytesPerFeature + kIntegratedBytes +
                 9 * options.max_rectification_bytes));
  lanes.pinning.pin = nullptr;
  lanes.backend = Backend::kCpu;
  EXPECT_FALSE(LanesToBound(lanes).integrated);
}

TEST(MemoryBoundTest, CountsTheTablesOfRawImages) {
  ServerOptions options;
  options.max_rectification_bytes = 0;
  const int64_t without = ComputeMemoryBound(options, 1).total();
  options.max_rectification_bytes = 12345678;
  EXPECT_EQ(ComputeMemoryBound(options, 1).total() - without, 12345678);
}

// Whether a stream has an inertial sensor is not known before its options are.
TEST(MemoryBoundTest, CountsTheReadingsOfInertialSensors) {
  ServerOptions options;
  options.max_map_bytes = options.max_localize_pixels = 0;
  options.max_features = 0;
  options.max_localize_streams = 3;
  EXPECT_EQ(ComputeMemoryBound(options, 1).maps, 3 * kInertialBytes);
  constexpr size_t kWaiting = 2 * ImuInbox::kCapacity * (sizeof(int64_t) + sizeof(slam::ImuReading));
  constexpr size_t kMessage = 2 * 2 * kMaxImuReadings * sizeof(slam::ImuReading);
  constexpr size_t kBuffer = 2 * 4 * slam::ImuBuffer::kCapacity * sizeof(slam::ImuReading);
  constexpr size_t kInterval = 3 * slam::ImuBuffer::kCapacity * sizeof(slam::ImuSample);
  constexpr size_t kMeasured = 72 * slam::Preintegration::kMaxSamples * sizeof(slam::ImuSample);
  constexpr size_t kPoses = (kMaxImuReadings + 512) * (sizeof(int64_t) + sizeof(ImuPose));
  EXPECT_GE(static_cast<size_t>(kInertialBytes), kWaiting + kMessage + kBuffer + kInterval + kMeasured + kPoses);
}

// Two images of half as many keypoints, of five floats, an octave, 32 bytes and a ray, each query with eight matches of
// two indices and a distance. Indices below 2^14 have two bytes.
TEST(MemoryBoundTest, CountsTheLongestReplies) {
  EXPECT_EQ(ReplyBytesPerFeature(16384), 5 * 4 + 1 + 32 + 3 * 4 + 8 * (2 + 2 + 2) / 2);
  EXPECT_EQ(ReplyBytesPerFeature(65536), 5 * 4 + 1 + 32 + 3 * 4 + 8 * (3 + 3 + 2) / 2);
  ServerOptions options;
  options.max_features = 1000;
  options.max_detect_calls = 3;
  options.max_sessions = 5;
  options.max_in_flight = 7;
  EXPECT_EQ(ComputeMemoryBound(options, 1).detect_replies, 3 * 1000 * 89);
  EXPECT_EQ(ComputeMemoryBound(options, 1).replies, 5 * 7 * 1000 * 89);
}

// On machines of up to four processors, and the two lanes that a GPU has there.
TEST(MemoryBoundTest, OfTheDefaultsIsBelowFourGibibytes) {
  const ServerOptions defaults;
  for (const int lanes : {1, 2, 4}) {
    EXPECT_LT(ComputeMemoryBound(defaults, lanes, Backend::kCpu).total(), 4 * kGiB) << lanes;
  }
  EXPECT_LT(ComputeMemoryBound(defaults, 2, Backend::kCuda).total(), 4 * kGiB);
}

TEST(MemoryExcessTest, IsThereOnceTheBoundIsAboveWhatMayBeUsed) {
  const ServerOptions defaults;
  const int64_t bound = ComputeMemoryBound(defaults, 4, Backend::kCpu).total();
  for (const int64_t enough : {bound, 4 * kGiB, 24 * kGiB}) {
    EXPECT_EQ(MemoryExcess(defaults, {4, Backend::kCpu}, {enough, "test"}), "");
  }
  for (const int64_t little : {bound - 1, 2 * kGiB, kGiB, int64_t{0}}) {
    EXPECT_THAT(MemoryExcess(defaults, {4, Backend::kCpu}, {little, "test"}),
                StartsWith(absl::StrCat(bound >> 20, " MiB are allowed by the limits, but test is ", little >> 20,
                                        " MiB; most by ")));
  }
  // More lanes take more.
  EXPECT_NE(MemoryExcess(defaults, {64, Backend::kCpu}, {4 * kGiB, "test"}), "");
}

TEST(MemoryExcessTest, NamesTheFlagsOfTheLargestParts) {
  ServerOptions options;
  options.max_localize_streams = 9;
  options.max_map_bytes = 100 * kGiB;
  options.max_sessions = 1000;
  EXPECT_THAT(MemoryExcess(options, {128, Backend::kCpu}, {kGiB, "test"}),
              ContainsRegex("most by --max-localize-streams=9, --max-map-bytes=107374182400, .*; "
                            "--max-sessions=1000, --max-message-bytes=[0-9]+ \\([0-9]+ MiB\\); "
                            "128 lanes \\(--lanes\\), --max-image-pixels=[0-9]+, --max-features=[0-9]+ "
                            "\\([0-9]+ MiB\\)$"));
}

// What a robot sends at the same time: a stereo camera of 1920x1080 in colour, to two streams, another one that is
// located, and four cameras of 1280x720, each by itself and all in one stream.
TEST(DefaultLimitsTest, TakeTheCamerasOfARobot) {
  constexpr int64_t kFullHd = 1920 * 1080, kHd = 1280 * 720, kFieldsBytes = 1024;
  const ServerOptions defaults;
  EXPECT_GE(defaults.max_message_bytes, 2 * 3 * kFullHd + kFieldsBytes);
  EXPECT_GE(defaults.max_message_bytes, 4 * 3 * kHd + kFieldsBytes);
  const int64_t reserve = FrameQueue::ReserveOf(defaults.max_pending_bytes, defaults.max_message_bytes);
  EXPECT_GE(defaults.max_pending_bytes - reserve, 2 * (2 * 3 * kFullHd + kFieldsBytes) + 5 * 3 * kHd);
  EXPECT_GT(reserve / FrameQueue::kReserveParts, std::max(kFullHd, 2 * kHd) + kFieldsBytes);  // grey
  EXPECT_GE(defaults.lanes.max_image_pixels, 2 * kFullHd);
  EXPECT_GE(defaults.max_localize_pixels, 2 * kFullHd);
  EXPECT_GE(defaults.max_rectification_bytes, RectificationBytes({1920, 1080}));  // raw, in both streams
  EXPECT_GE(defaults.max_track_pixels, 4 * kHd);
  EXPECT_GE(defaults.max_track_cameras, 4);
  EXPECT_GE(ShareOfOnePeer(defaults.max_sessions), 1 + 2 + 4 + 1);
  EXPECT_GE(defaults.max_track_streams, 1);
  EXPECT_GE(defaults.max_localize_streams, 2);
  EXPECT_GE(defaults.max_features, 2 * 2000);
}

TEST(MemoryLimitTest, AServerWithLessDoesNotStart) {
  testing::LaneControl control;
  ServerOptions options;
  options.listen = {};
  options.metrics_listen = "";
  options.memory_limit = 4 * kGiB;
  options.create_lanes = testing::FakeLanes(&control);
  auto server = Server::Create(options);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ((*server)->machine().memory.bytes, 4 * kGiB);
  EXPECT_EQ((*server)->machine().memory.source, "--memory-limit");
  EXPECT_EQ((*server)->memory_excess(), "");
  EXPECT_EQ((*server)->memory_bound_bytes(), ComputeMemoryBound(options, 1).total());
  options.memory_limit = 2 * kGiB;
  const absl::Status refused = Server::Create(options).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(StartsWith("memory-limit: "), HasSubstr(" but --memory-limit is 2048 MiB; most by ")));
}

// Unless their number is given.
TEST(MemoryLimitTest, LanesTakeHalfOfTheMemory) {
  testing::LaneControl control;
  ServerOptions options;
  options.listen = {};
  options.metrics_listen = "";
  options.lanes.max_image_pixels = 16 << 20;
  options.memory_limit = 8 * kGiB;
  options.create_lanes = [&control](LaneOptions lanes) {
    lanes.lanes = 8;
    return testing::FakeLanes(&control)(lanes);
  };
  auto server = Server::Create(options);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ((*server)->lanes().lanes.size(), 3u);  // a GiB each, and something for features
  EXPECT_THAT((*server)->lanes().note, HasSubstr("3 lanes in place of 8, for half of the memory: --memory-limit"));
  EXPECT_EQ((*server)->memory_bound_bytes(), ComputeMemoryBound(options, 3).total());
  options.memory_limit = 64 * kGiB;
  EXPECT_EQ((*Server::Create(options))->lanes().lanes.size(), 8u);
  options.lanes.lanes = 8;
  options.memory_limit = 8 * kGiB;
  EXPECT_EQ(Server::Create(options).status().code(), absl::StatusCode::kInvalidArgument);
}

// Without --memory-limit it starts, and says so.
TEST(MemoryLimitTest, AMachineWithLessIsWarnedOf) {
  testing::LaneControl control;
  ServerOptions options;
  options.listen = {};
  options.metrics_listen = "";
  options.max_map_bytes = int64_t{1} << 40;
  options.create_lanes = testing::FakeLanes(&control);
  auto server = Server::Create(options);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_THAT((*server)->memory_excess(), HasSubstr("most by --max-localize-streams="));
}

}  // namespace
}  // namespace glint
