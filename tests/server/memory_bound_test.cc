// Limits follow the memory that the process may use.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/app/server.h"
#include "server/base/usable_memory.h"
#include "server/memory/memory_bound.h"
#include "tests/server/fake_lane.h"

namespace glint {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr int64_t kGiB = int64_t{1} << 30;

// A root folder with /proc/self/cgroup and limits below /sys/fs/cgroup.
class Root {
 public:
  explicit Root(const std::string& groups) : path_(absl::StrCat(::testing::TempDir(), "glint-root-", getpid())) {
    Write("/proc/self/cgroup", groups);
  }
  ~Root() { std::filesystem::remove_all(path_); }
  void Write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = path_ + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

TEST(UsableMemoryTest, IsTheMachinesWithoutALimit) {
  const Root root("0::/user.slice");
  root.Write("/sys/fs/cgroup/user.slice/memory.max", "max");
  const UsableMemory memory = FindUsableMemory(root.path(), 8 * kGiB);
  EXPECT_EQ(memory.bytes, 8 * kGiB);
  EXPECT_EQ(memory.source, "machine");
  EXPECT_TRUE(memory.whole_machine);
}

TEST(UsableMemoryTest, IsTheSmallestLimitOfTheGroupsAboveInV2) {
  const Root root("0::/system.slice/glint-server.service");
  root.Write("/sys/fs/cgroup/system.slice/glint-server.service/memory.max", absl::StrCat(6 * kGiB));
  EXPECT_EQ(FindUsableMemory(root.path(), 8 * kGiB).bytes, 6 * kGiB);
  root.Write("/sys/fs/cgroup/system.slice/memory.max", absl::StrCat(4 * kGiB));
  const UsableMemory memory = FindUsableMemory(root.path(), 8 * kGiB);
  EXPECT_EQ(memory.bytes, 4 * kGiB);
  EXPECT_THAT(memory.source, ::testing::EndsWith("/sys/fs/cgroup/system.slice/memory.max"));
  EXPECT_FALSE(memory.whole_machine);
  EXPECT_EQ(FindUsableMemory(root.path(), 2 * kGiB).bytes, 2 * kGiB);
}

// A container sees its own group as the root of the mount; with v1 /proc names it as the host does.
TEST(UsableMemoryTest, IsTheContainersLimit) {
  {
    const Root root("0::/");
    root.Write("/sys/fs/cgroup/memory.max", absl::StrCat(2 * kGiB));
    EXPECT_EQ(FindUsableMemory(root.path(), 8 * kGiB).bytes, 2 * kGiB);
  }
  const Root root("12:cpu,cpuacct:/docker/1f\n9:memory:/docker/1f\n1:name=systemd:/docker/1f");
  root.Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", absl::StrCat(3 * kGiB));
  EXPECT_EQ(FindUsableMemory(root.path(), 8 * kGiB).bytes, 3 * kGiB);
  root.Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(FindUsableMemory(root.path(), 8 * kGiB).bytes, 8 * kGiB);
}

TEST(UsableMemoryTest, OfThisProcessIsAtMostTheMachines) {
  const UsableMemory memory = FindUsableMemory();
  EXPECT_GT(memory.bytes, 0);
  EXPECT_LE(memory.bytes, int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE));
}

MemoryFit Fit(int64_t limit, int lanes, ServerOptions* options) {
  return FitToMemory({limit, "test", false}, lanes, 1, options);
}

// Pairs take more of lanes that keep both eyes apart.
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

TEST(MemoryFitTest, EnoughMemoryChangesNothing) {
  ServerOptions options;
  const ServerOptions defaults;
  const MemoryFit fit = Fit(64 * kGiB, 2, &options);
  EXPECT_THAT(fit.lowered, IsEmpty());
  EXPECT_EQ(fit.lanes, 2);
  EXPECT_EQ(fit.bound, ComputeMemoryBound(defaults, 2).total());
  EXPECT_EQ(options.max_sessions, defaults.max_sessions);
  EXPECT_EQ(options.lanes.max_image_pixels, defaults.lanes.max_image_pixels);
}

TEST(MemoryFitTest, TheBoundIsWithinTheBudgetFromOneGibibyteOn) {
  for (int64_t limit = kGiB; limit <= 32 * kGiB; limit *= 2) {
    for (const int lanes : {1, 2, 8, 64}) {
      ServerOptions options;
      const MemoryFit fit = Fit(limit, lanes, &options);
      EXPECT_TRUE(fit.fits()) << limit << " " << lanes << ": " << fit.bound;
      EXPECT_EQ(fit.budget, limit / 4 * 3);
      EXPECT_EQ(fit.bound, ComputeMemoryBound(options, fit.lanes).total());
      EXPECT_GE(fit.lanes, 1);
      EXPECT_LE(fit.lanes, lanes);
      EXPECT_GE(options.max_sessions, 2);
      EXPECT_GE(options.lanes.max_image_pixels, 1920 * 1080);
      EXPECT_GE(options.max_message_bytes, options.lanes.max_image_pixels);
      EXPECT_TRUE(ValidateServerOptions(options).ok()) << ValidateServerOptions(options);
    }
  }
}

TEST(MemoryFitTest, HalfOfAMachineIsLeftToOthers) {
  ServerOptions options;
  EXPECT_EQ(FitToMemory({8 * kGiB, "machine", true}, 4, 1, &options).budget, 4 * kGiB);
}

TEST(MemoryFitTest, WhatWasSetStays) {
  ServerOptions options;
  options.max_sessions = 20;
  options.given = {"max-image-pixels"};
  options.lanes.lanes = 4;
  const MemoryFit fit = Fit(2 * kGiB, 4, &options);
  EXPECT_FALSE(fit.fits());  // four lanes of 8K
  EXPECT_EQ(options.max_sessions, 20);
  EXPECT_EQ(options.lanes.max_image_pixels, ServerOptions().lanes.max_image_pixels);
  EXPECT_EQ(fit.lanes, 4);
  EXPECT_EQ(options.max_detect_calls, 2);
  EXPECT_THAT(fit.lowered, Contains("max-detect-calls=2"));
}

TEST(MemoryFitTest, EachDeviceKeepsALane) {
  ServerOptions options;
  EXPECT_EQ(FitToMemory({kGiB, "test", false}, 8, 2, &options).lanes, 2);
}

TEST(MemoryFitTest, AServerHasTheLimitsThatFit) {
  testing::LaneControl control;
  ServerOptions options;
  options.listen = {};
  options.metrics_listen = "";
  options.memory_limit = 2 * kGiB;
  options.create_lanes = testing::FakeLanes(&control);
  auto server = Server::Create(options);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_TRUE((*server)->memory_fit().fits());
  EXPECT_EQ((*server)->memory_fit().usable.source, "--memory-limit");
  EXPECT_LE((*server)->memory_bound_bytes(), 2 * kGiB / 4 * 3);
  EXPECT_EQ((*server)->memory_bound_bytes(), (*server)->memory_fit().bound);
  options.max_sessions = 1000;
  EXPECT_THAT(std::string(Server::Create(options).status().message()),
              ::testing::AllOf(StartsWith("memory-limit: 2147483648 bytes are less than the "),
                               HasSubstr(" that the other limits allow")));
}

}  // namespace
}  // namespace glint
