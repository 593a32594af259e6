// Threads that were made in time stand in for those that cannot be made any more.
#include "server/base/spare_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "tests/support/one_thread.h"

namespace glint {
namespace {

void* Count(void* counter) {
  ++*static_cast<std::atomic<int>*>(counter);
  return counter;
}

TEST(SpareThreadsTest, RunWhatTheyAreTakenFor) {
  std::atomic<int> exhausted{0}, runs{0};
  const auto threads = *SpareThreads::Create(2, [&] { ++exhausted; });
  pthread_t thread;
  ASSERT_TRUE(threads->Take(nullptr, Count, &runs, &thread));
  void* result = nullptr;
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, &runs);
  EXPECT_EQ(runs, 1);
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  std::promise<bool> ran;
  const SpareThreads::Body tell = [](void* promise) -> void* {
    static_cast<std::promise<bool>*>(promise)->set_value(true);
    return nullptr;
  };
  ASSERT_TRUE(threads->Take(&detached, tell, &ran, &thread));
  pthread_attr_destroy(&detached);
  EXPECT_TRUE(ran.get_future().get());
  EXPECT_EQ(exhausted, 0);
  EXPECT_FALSE(threads->exhausted());
}

TEST(SpareThreadsTest, TellOnceThatThereAreNone) {
  std::promise<std::thread::id> told;
  std::atomic<int> runs{0};
  const auto threads = *SpareThreads::Create(0, [&] { told.set_value(std::this_thread::get_id()); });
  pthread_t thread;
  EXPECT_FALSE(threads->Take(nullptr, Count, &runs, &thread));
  EXPECT_NE(told.get_future().get(), std::this_thread::get_id());
  EXPECT_FALSE(threads->Take(nullptr, Count, &runs, &thread));  // a second set_value() would throw
  EXPECT_EQ(runs, 0);
  EXPECT_TRUE(threads->exhausted());
}

TEST(SpareThreadsTest, AreTakenByThoseWhoKnowThem) {
  std::atomic<int> runs{0};
  pthread_t thread;
  EXPECT_FALSE(TakeSpareThread(nullptr, Count, &runs, &thread));
  const auto threads = *SpareThreads::Create(1, [] {});
  SetSpareThreads(threads.get());
  ASSERT_TRUE(TakeSpareThread(nullptr, Count, &runs, &thread));
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  EXPECT_EQ(runs, 1);
  SetSpareThreads(nullptr);
}

#ifndef GLINT_SANITIZED  // sanitizers have threads of their own
TEST(SpareThreadsTest, ThatCannotBeMadeAreAnError) {
  const int status =
      InOneThread([] { return absl::IsResourceExhausted(SpareThreads::Create(2, [] {}).status()) ? 0 : 1; });
  if (status == kNotLimited) GTEST_SKIP() << "the system does not hold RLIMIT_NPROC here";
  EXPECT_EQ(status, 0);
}
#endif

}  // namespace
}  // namespace glint
