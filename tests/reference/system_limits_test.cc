// What control groups, as trees of files, let a process have of processors and threads.
#include "features/system_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/limits_root.h"

namespace glint {
namespace {

using ::testing::EndsWith;

TEST(UsableProcessorsTest, AreThoseOfTheMaskWithoutAQuota) {
  const testing::LimitsRoot root("0::/a");
  root.Write("/sys/fs/cgroup/a/cpu.max", "max 100000");
  const UsableProcessors found = FindUsableProcessors(root.path(), 6);
  EXPECT_EQ(found.count, 6);
  EXPECT_EQ(found.share, 6);
  EXPECT_EQ(found.source, "affinity");
}

TEST(UsableProcessorsTest, AreTheSmallestQuotaOfTheGroupsAboveInV2) {
  const testing::LimitsRoot root("0::/kube/pod");
  root.Write("/sys/fs/cgroup/kube/pod/cpu.max", "350000 100000");
  UsableProcessors found = FindUsableProcessors(root.path(), 8);
  EXPECT_EQ(found.count, 4);
  EXPECT_DOUBLE_EQ(found.share, 3.5);
  EXPECT_THAT(found.source, EndsWith("/sys/fs/cgroup/kube/pod/cpu.max"));
  root.Write("/sys/fs/cgroup/kube/cpu.max", "100000 50000");
  found = FindUsableProcessors(root.path(), 8);
  EXPECT_EQ(found.count, 2);
  EXPECT_THAT(found.source, EndsWith("/sys/fs/cgroup/kube/cpu.max"));
  EXPECT_EQ(FindUsableProcessors(root.path(), 1).source, "affinity");
}

TEST(UsableProcessorsTest, OfLessThanOneAreOne) {
  const testing::LimitsRoot root("0::/");
  root.Write("/sys/fs/cgroup/cpu.max", "50000 100000");
  const UsableProcessors found = FindUsableProcessors(root.path(), 64);
  EXPECT_EQ(found.count, 1);
  EXPECT_DOUBLE_EQ(found.share, 0.5);
}

TEST(UsableProcessorsTest, KnowV1InEitherFolder) {
  for (const char* folder : {"cpu", "cpu,cpuacct"}) {
    // A container sees its own group as the root of the mount, and /proc names it as the host does.
    const testing::LimitsRoot root("4:cpu,cpuacct:/docker/1f\n3:pids:/docker/1f");
    root.Write(absl::StrCat("/sys/fs/cgroup/", folder, "/cpu.cfs_quota_us"), "-1");
    root.Write(absl::StrCat("/sys/fs/cgroup/", folder, "/cpu.cfs_period_us"), "100000");
    EXPECT_EQ(FindUsableProcessors(root.path(), 8).count, 8) << folder;
    root.Write(absl::StrCat("/sys/fs/cgroup/", folder, "/cpu.cfs_quota_us"), "250000");
    EXPECT_EQ(FindUsableProcessors(root.path(), 8).count, 3) << folder;
  }
}

TEST(UsableProcessorsTest, OfThisProcessAreAtLeastOne) {
  const UsableProcessors found = FindUsableProcessors();
  EXPECT_GE(found.count, 1);
  EXPECT_GT(found.share, 0);
}

TEST(ThreadLimitTest, IsTheSmallestOfTheGroups) {
  for (const bool v1 : {false, true}) {
    const testing::LimitsRoot root(v1 ? "3:pids:/a/b" : "0::/a/b");
    const std::string folder = v1 ? "/sys/fs/cgroup/pids" : "/sys/fs/cgroup";
    root.Write(folder + "/a/b/pids.max", "12");
    root.Write(folder + "/a/b/pids.current", "4");
    root.Write(folder + "/a/pids.max", "9");
    ThreadLimit limit = FindThreadLimit(root.path());
    EXPECT_EQ(limit.most, 9);
    EXPECT_EQ(limit.in_use, -1);
    EXPECT_THAT(limit.source, EndsWith(folder + "/a/pids.max"));
    // What is reached is what refuses.
    root.Write(folder + "/a/b/pids.current", "12");
    limit = FindThreadLimit(root.path());
    EXPECT_EQ(limit.most, 12);
    EXPECT_EQ(limit.in_use, 12);
    EXPECT_THAT(limit.source, EndsWith(folder + "/a/b/pids.max"));
  }
}

TEST(ThreadLimitTest, IsTheMachinesWithoutOne) {
  const testing::LimitsRoot root("0::/a");
  root.Write("/sys/fs/cgroup/a/pids.max", "max");
  root.Write("/proc/sys/kernel/threads-max", "3");  // less than any user's
  const ThreadLimit limit = FindThreadLimit(root.path());
  EXPECT_EQ(limit.most, 3);
  EXPECT_THAT(limit.source, EndsWith("/proc/sys/kernel/threads-max"));
}

}  // namespace
}  // namespace glint
