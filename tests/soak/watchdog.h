// For what may take a while but must come to an end.
#ifndef GLINT_TESTS_SOAK_WATCHDOG_H_
#define GLINT_TESTS_SOAK_WATCHDOG_H_

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace glint::soak {

// Ends the program, after `explain`, if it is not destroyed within a minute.
class Watchdog {
 public:
  explicit Watchdog(std::function<void()> explain)
      : thread_([this, explain = std::move(explain)] {
          std::unique_lock<std::mutex> lock(mutex_);
          if (over_.wait_for(lock, std::chrono::minutes(1), [this] { return is_over_; })) return;
          std::printf("WRONG: nothing has moved for a minute\n");
          std::fflush(stdout);
          explain();
          std::fflush(stdout);
          std::_Exit(1);
        }) {}
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      is_over_ = true;
    }
    over_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace glint::soak

#endif  // GLINT_TESTS_SOAK_WATCHDOG_H_
