// Where a server's threads run, and how deep idle processors sleep.
#include "server/base/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/app/server.h"

namespace glint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int> CpusOfThisThread() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu <= kMaxCpu; ++cpu) {
    if (CPU_ISSET(static_cast<size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

// How many threads of this process may run on `cpus` and nowhere else.
int ThreadsOn(const std::vector<int>& cpus) {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    int tid = 0;
    cpu_set_t set;
    if (!absl::SimpleAtoi(task.path().filename().string(), &tid)) continue;
    if (sched_getaffinity(tid, sizeof(set), &set) != 0) continue;
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    for (const int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &wanted);
    if (CPU_EQUAL(&set, &wanted)) ++count;
  }
  return count;
}

ServerOptions SmallServer() {
  ServerOptions options;
  options.listen.clear();
  options.metrics_listen.clear();
  options.lanes.backend = Backend::kCpu;
  options.lanes.lanes = 1;
  return options;
}

TEST(CpusTest, ParsesAndPrintsLists) {
  EXPECT_THAT(*ParseCpus("lane-cpus", "0-3,8"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(*ParseCpus("lane-cpus", "5,1-2,2"), ElementsAre(1, 2, 5));
  EXPECT_TRUE(ParseCpus("lane-cpus", "")->empty());
  for (const char* text : {"0-3,8", "1", "0,2,4-5", ""}) EXPECT_EQ(CpusText(*ParseCpus("f", text)), text);
  EXPECT_EQ(CpusText({0, 1}), "0-1");
}

TEST(CpusTest, RefusesWhatIsNoList) {
  for (const char* text : {"a", "1-", "-1", "1-2-3", "3-1", "1,,2", "0x1"}) {
    const auto cpus = ParseCpus("lane-cpus", text);
    ASSERT_FALSE(cpus.ok()) << text;
    EXPECT_THAT(std::string(cpus.status().message()), HasSubstr(absl::StrCat("lane-cpus: \"", text, "\""))) << text;
  }
  EXPECT_THAT(std::string(ParseCpus("lane-cpus", "1024").status().message()), HasSubstr("1023"));
  EXPECT_FALSE(ParseCpus("lane-cpus", "0-999999999").ok());
}

TEST(ScopedCpusTest, ThreadsInheritThemAndTheCallerGetsItsOwnBack) {
  const std::vector<int> before = CpusOfThisThread();
  const std::vector<int> last = {before.back()};
  std::vector<int> inherited;
  {
    const ScopedCpus scoped("lane-cpus", last);
    ASSERT_TRUE(scoped.status().ok()) << scoped.status();
    std::thread([&inherited] { inherited = CpusOfThisThread(); }).join();
  }
  EXPECT_EQ(inherited, last);
  EXPECT_EQ(CpusOfThisThread(), before);
}

TEST(ScopedCpusTest, NamesAProcessorThatIsNotThere) {
  const std::vector<int> before = CpusOfThisThread();
  if (before.back() == kMaxCpu) GTEST_SKIP() << "this machine has every processor that there can be";
  const ScopedCpus scoped("completion-cpus", {kMaxCpu});
  EXPECT_THAT(std::string(scoped.status().message()),
              HasSubstr(absl::StrCat("completion-cpus: processor 1023 is not one that this process may use (",
                                     CpusText(before), ")")));
  EXPECT_EQ(CpusOfThisThread(), before);
}

TEST(CpuDmaLatencyTest, WritesTheNumberAndKeepsTheDeviceOpen) {
  const std::string device = absl::StrCat(::testing::TempDir(), "cpu_dma_latency-", getpid());
  std::ofstream(device).close();
  const auto open_files = [&device] {
    int count = 0;
    for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      count += std::filesystem::read_symlink(file.path(), gone) == device ? 1 : 0;
    }
    return count;
  };
  {
    CpuDmaLatency latency;
    ASSERT_TRUE(latency.Hold(20, device).ok());
    EXPECT_EQ(open_files(), 1);
    int32_t value = -1;
    std::ifstream(device, std::ios::binary).read(reinterpret_cast<char*>(&value), sizeof(value));
    EXPECT_EQ(value, 20);
  }
  EXPECT_EQ(open_files(), 0);
  std::filesystem::remove(device);
}

TEST(CpuDmaLatencyTest, SaysWhyItCannotBeHeld) {
  CpuDmaLatency latency;
  const absl::Status status = latency.Hold(0, "/no/such/device");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cpu-dma-latency: /no/such/device: No such file"));
}

TEST(PlacementTest, LanesAndGrpcRunWhereTheyAreTold) {
  const std::vector<int> all = CpusOfThisThread();
  if (all.size() < 2) GTEST_SKIP() << "needs two processors";
  ServerOptions options = SmallServer();
  options.lane_cpus = {all[0]};
  options.completion_cpus = {all[1]};
  auto server = Server::Create(options);
  ASSERT_TRUE(server.ok()) << server.status();
  ASSERT_TRUE((*server)->Start().ok());
  EXPECT_GE(ThreadsOn({all[0]}), 1);
  EXPECT_GE(ThreadsOn({all[1]}), 2);
  EXPECT_EQ(CpusOfThisThread(), all);
}

TEST(PlacementTest, AServerRefusesProcessorsThatAreNotThere) {
  const std::vector<int> all = CpusOfThisThread();
  if (all.back() == kMaxCpu) GTEST_SKIP() << "this machine has every processor that there can be";
  ServerOptions options = SmallServer();
  options.lane_cpus = {kMaxCpu};
  EXPECT_THAT(std::string(Server::Create(options).status().message()), HasSubstr("lane-cpus: processor 1023"));
  options.lane_cpus = {kMaxCpu + 1};
  EXPECT_THAT(std::string(Server::Create(options).status().message()), HasSubstr("lane-cpus: 1024"));
  options.lane_cpus.clear();
  options.cpu_dma_latency_us = -2;
  EXPECT_THAT(std::string(Server::Create(options).status().message()), HasSubstr("cpu-dma-latency: -2"));
}

}  // namespace
}  // namespace glint
