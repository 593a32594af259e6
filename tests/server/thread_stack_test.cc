// The stack of a thread that cannot say itself where it is.
#include "server/base/thread_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"

namespace glint {
namespace {

using ::testing::HasSubstr;

std::atomic<bool> go_on{false};

// Never tail calls, so that it stays on the stack.
__attribute__((noinline)) void WaitInAPlaceWithAName() {
  while (!go_on) absl::SleepFor(absl::Milliseconds(1));
  asm volatile("");
}

class ThreadStackTest : public ::testing::Test {
 protected:
  // `blocked`: it takes no signals.
  void StartThread(bool blocked) {
    go_on = false;
    threads_.emplace_back([this, blocked] {
      sigset_t all;
      sigfillset(&all);
      if (blocked) pthread_sigmask(SIG_BLOCK, &all, nullptr);
      tid_ = static_cast<pid_t>(syscall(SYS_gettid));
      WaitInAPlaceWithAName();
    });
    while (tid_ == 0) absl::SleepFor(absl::Milliseconds(1));
  }
  void EndThreads() {
    go_on = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  ~ThreadStackTest() override { EndThreads(); }

  std::atomic<pid_t> tid_{0};
  std::vector<std::thread> threads_;
};

TEST_F(ThreadStackTest, NamesTheFunctionsOfAThreadThatWaits) {
  StartThread(false);
  for (int i = 0; i < 3; ++i) {
    const std::string stack = StackOfThread(tid_, absl::Seconds(30));
    EXPECT_THAT(stack, HasSubstr("WaitInAPlaceWithAName"));
    EXPECT_THAT(stack, HasSubstr("thread_stack_test+0x"));
  }
}

TEST_F(ThreadStackTest, SaysWhatTheKernelKnowsOfAThreadThatDoesNotAnswer) {
  StartThread(true);
  EXPECT_THAT(StackOfThread(tid_, absl::Milliseconds(20)), HasSubstr("no answer to a signal; state "));
  EndThreads();
}

TEST_F(ThreadStackTest, AThreadThatHasEndedIsNone) {
  StartThread(false);
  EndThreads();
  EXPECT_EQ(StackOfThread(tid_, absl::Seconds(1)), "no such thread");
}

// Many threads, asked from many threads, with next to no time to answer.
TEST_F(ThreadStackTest, AnswersThatComeLateAreNobodyElses) {
  StartThread(false);
  std::vector<std::thread> askers;
  for (int a = 0; a < 4; ++a) {
    askers.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        EXPECT_NE(StackOfThread(tid_, absl::ZeroDuration()), "");
      }
    });
  }
  for (std::thread& asker : askers) asker.join();
  EXPECT_THAT(StackOfThread(tid_, absl::Seconds(30)), HasSubstr("WaitInAPlaceWithAName"));
}

}  // namespace
}  // namespace glint
