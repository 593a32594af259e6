// Every task once, whatever the number of threads and tasks, and whether workers sleep or not.
#include "cpu/common/worker_pool.h"

#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/one_thread.h"

namespace glint {
namespace {

class WorkerPoolTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, WorkerPoolTest, ::testing::Values(1, 2, 4, 9));

TEST_P(WorkerPoolTest, RunsEachTaskOnce) {
  cpu::WorkerPool pool(GetParam());
  ASSERT_EQ(pool.threads(), GetParam());
  for (int round = 0; round < 300; ++round) {
    const int count = round % 23;
    std::vector<std::atomic<int>> done(static_cast<size_t>(count));
    pool.ForEach(count, [&](int i, int worker) {
      EXPECT_GE(worker, 0);
      EXPECT_LT(worker, pool.threads());
      ++done[static_cast<size_t>(i)];
    });
    for (const auto& d : done) ASSERT_EQ(d, 1);
    // Now and then long enough for the workers to fall asleep.
    if (round % 50 == 49) std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
}

TEST_P(WorkerPoolTest, NoTwoTasksShareAWorker) {
  cpu::WorkerPool pool(GetParam());
  std::vector<std::atomic<int>> inside(static_cast<size_t>(pool.threads()));
  for (int round = 0; round < 50; ++round) {
    pool.ForEach(40, [&](int, int worker) {
      std::atomic<int>& mine = inside[static_cast<size_t>(worker)];
      EXPECT_EQ(mine.fetch_add(1), 0);
      std::this_thread::yield();
      mine.fetch_sub(1);
    });
  }
}

#ifndef GLINT_SANITIZED  // sanitizers have threads of their own
// The workers that were made before have ended.
TEST(WorkerPoolLimitTest, AThreadThatCannotBeMadeIsThrown) {
  const int status = InOneThread([] {
    try {
      cpu::WorkerPool pool(3);
    } catch (const std::system_error&) {
      return cpu::WorkerPool(1).threads() == 1 ? 0 : 1;
    }
    return 2;
  });
  if (status == kNotLimited) GTEST_SKIP() << "the system does not hold RLIMIT_NPROC here";
  EXPECT_EQ(status, 0);
}
#endif

}  // namespace
}  // namespace glint
