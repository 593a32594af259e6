// Threads that are kept for gRPC, which makes some while it serves. It does not notice when the system refuses one: its
// timers stop, or work that was meant for the thread is never done. pthread_create() of glint-server
// (pthread_create.cc) gives it one of these instead, and the process learns when there is none.
#ifndef GLINT_SERVER_BASE_SPARE_THREADS_H_
#define GLINT_SERVER_BASE_SPARE_THREADS_H_

#include <pthread.h>

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"

namespace glint {

// Thread-safe, apart from destruction.
class SpareThreads {
 public:
  using Body = void* (*)(void*);

  // `exhausted` is called once, on a thread of this object, after a Take() that found no thread. RESOURCE_EXHAUSTED:
  // the threads cannot be made.
  static absl::StatusOr<std::unique_ptr<SpareThreads>> Create(int count, std::function<void()> exhausted);
  // Ends the threads that were not taken. Those that were must have ended.
  ~SpareThreads();
  SpareThreads(const SpareThreads&) = delete;
  SpareThreads& operator=(const SpareThreads&) = delete;

  // Runs body(argument) on one of the threads, which becomes the caller's: detached if `attributes` say so, else to be
  // joined. False: there is none. May be called while any lock is held that `body` does not need to begin.
  bool Take(const pthread_attr_t* attributes, Body body, void* argument, pthread_t* thread);
  // Whether a Take() has found none.
  bool exhausted();

 private:
  struct Spare {
    SpareThreads* owner;
    pthread_t thread;
    Body body = nullptr;  // once it is taken
    void* argument = nullptr;
  };

  explicit SpareThreads(std::function<void()> exhausted);
  static void* Wait(void* spare);
  static void* TellExhausted(void* threads);

  const std::function<void()> exhausted_;
  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Spare>> spares_;  // the last one calls exhausted_
  size_t taken_ = 0;                            // of these, the first ones
  bool over_ = false;
};

// pthread_create() takes threads from `threads` from now on; null: from none. `threads` must live until the next call.
void SetSpareThreads(SpareThreads* threads);
// Take() of these; false without any.
bool TakeSpareThread(const pthread_attr_t* attributes, SpareThreads::Body body, void* argument, pthread_t* thread);

}  // namespace glint

#endif  // GLINT_SERVER_BASE_SPARE_THREADS_H_
