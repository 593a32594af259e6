// Results of work on shared threads, which are there whether a thread is free or not; and threads that cannot be made.
#include "features/background.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "features/thread.h"
#include "tests/support/one_thread.h"

namespace glint {
namespace {

std::unique_ptr<BackgroundThreads> Threads(int count) { return *BackgroundThreads::Create("test", count); }

TEST(BackgroundTest, WorkRunsOnAnotherThread) {
  const auto threads = Threads(1);
  auto result = RunInBackground(threads.get(), [] { return std::this_thread::get_id(); });
  EXPECT_TRUE(result.valid());
  while (!result.ready()) std::this_thread::yield();
  EXPECT_NE(result.get(), std::this_thread::get_id());
  EXPECT_FALSE(result.valid());
}

TEST(BackgroundTest, WithoutThreadsItIsDoneAtOnce) {
  auto result = RunInBackground(nullptr, [] { return std::this_thread::get_id(); });
  EXPECT_TRUE(result.ready());
  EXPECT_EQ(result.get(), std::this_thread::get_id());
}

TEST(BackgroundTest, WhoNeedsAResultWaitsForNoThread) {
  const auto threads = Threads(1);
  std::promise<void> begun, end;
  auto slow = RunInBackground(threads.get(), [&] {
    begun.set_value();
    end.get_future().wait();
    return 1;
  });
  begun.get_future().wait();
  auto quick = RunInBackground(threads.get(), [] { return std::this_thread::get_id(); });
  EXPECT_FALSE(quick.ready());
  EXPECT_EQ(quick.get(), std::this_thread::get_id());
  end.set_value();
  EXPECT_EQ(slow.get(), 1);
}

TEST(BackgroundTest, ADroppedResultIsNotComputedAfterwards) {
  const auto threads = Threads(1);
  std::promise<void> begun, end;
  std::atomic<bool> ended{false}, ran{false};
  auto slow = RunInBackground(threads.get(), [&] {
    begun.set_value();
    end.get_future().wait();
    ended = true;
    return 1;
  });
  begun.get_future().wait();
  {
    const auto dropped = RunInBackground(threads.get(), [&] {
      ran = true;
      return 2;
    });
  }
  end.set_value();
  slow = BackgroundResult<int>();  // waits, since it has begun
  EXPECT_TRUE(ended);
  EXPECT_EQ(RunInBackground(threads.get(), [] { return 3; }).get(), 3);
  EXPECT_FALSE(ran);
}

TEST(BackgroundTest, AnExceptionIsThatOfGet) {
  const auto threads = Threads(1);
  auto result = RunInBackground(threads.get(), []() -> int { throw std::bad_alloc(); });
  EXPECT_THROW(result.get(), std::bad_alloc);
  EXPECT_FALSE(result.valid());
}

#ifndef GLINT_SANITIZED  // sanitizers have threads of their own
TEST(ThreadTest, OneThatCannotBeMadeIsAnErrorThatNamesTheLimit) {
  const int status = InOneThread([] {
    const absl::Status refused = StartThread("lanes", [] {}).status();
    if (refused.code() != absl::StatusCode::kResourceExhausted) return 1;
    // A group of the machine's may be smaller.
    const std::string text(refused.message());
    const bool names_limit =
        text.find(" limited to 1 by RLIMIT_NPROC") != std::string::npos || text.find("pids.max") != std::string::npos;
    if (text.find("lanes: ") != 0 || !names_limit) return 2;
    return BackgroundThreads::Create("test", 2).status().code() == absl::StatusCode::kResourceExhausted ? 0 : 3;
  });
  if (status == kNotLimited) GTEST_SKIP() << "the system does not hold RLIMIT_NPROC here";
  EXPECT_EQ(status, 0);
}
#endif

}  // namespace
}  // namespace glint
