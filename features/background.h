// Work whose result is needed later, on a few threads that any number of callers share. Nobody waits for a thread: who
// needs a result that no thread has begun computes it.
#ifndef GLINT_FEATURES_BACKGROUND_H_
#define GLINT_FEATURES_BACKGROUND_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace glint {

class BackgroundTask {
 public:
  virtual ~BackgroundTask() = default;
  // False for all but the first caller, who then runs the task or drops it.
  bool Claim() { return !claimed_.exchange(true); }
  virtual void Run() = 0;

 private:
  std::atomic<bool> claimed_{false};
};

// As std::future. Thread-compatible.
template <typename Result>
class BackgroundResult {
 public:
  BackgroundResult() = default;
  template <typename Work>
  explicit BackgroundResult(Work work) : task_(std::make_shared<Task>(std::move(work))) {}
  BackgroundResult(BackgroundResult&&) noexcept = default;
  BackgroundResult& operator=(BackgroundResult&& other) noexcept {
    Drop();
    task_ = std::move(other.task_);
    return *this;
  }
  // Work that a thread has begun is waited for; other work is not done.
  ~BackgroundResult() { Drop(); }

  bool valid() const { return task_ != nullptr; }
  // The functions below need a valid() result.
  bool ready() const { return task_->result.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
  void wait() const {
    if (task_->Claim()) task_->Run();
    task_->result.wait();
  }
  // Once: the result is not valid() any more. Throws what the work threw.
  Result get() {
    wait();
    const std::shared_ptr<Task> task = std::move(task_);
    return task->result.get();
  }
  std::shared_ptr<BackgroundTask> task() const { return task_; }

 private:
  struct Task final : BackgroundTask {
    template <typename Work>
    explicit Task(Work work) : call(std::move(work)), result(call.get_future()) {}
    void Run() override { call(); }

    std::packaged_task<Result()> call;
    std::future<Result> result;
  };

  void Drop() {
    if (task_ != nullptr && !task_->Claim()) task_->result.wait();
    task_ = nullptr;
  }

  std::shared_ptr<Task> task_;
};

// Thread-safe. Must outlive the results of its work.
class BackgroundThreads {
 public:
  // Makes `count` >= 0 threads for `what`. RESOURCE_EXHAUSTED: ThreadError(`what`).
  static absl::StatusOr<std::unique_ptr<BackgroundThreads>> Create(absl::string_view what, int count);
  ~BackgroundThreads();
  BackgroundThreads(const BackgroundThreads&) = delete;
  BackgroundThreads& operator=(const BackgroundThreads&) = delete;

  void Add(std::shared_ptr<BackgroundTask> task);

 private:
  BackgroundThreads() = default;
  void Main();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<BackgroundTask>> tasks_;
  bool over_ = false;
  std::vector<std::thread> threads_;
};

// Has `threads` call `work`; without threads it is called at once.
template <typename Work>
auto RunInBackground(BackgroundThreads* threads, Work work) -> BackgroundResult<decltype(work())> {
  BackgroundResult<decltype(work())> result(std::move(work));
  if (threads != nullptr) {
    threads->Add(result.task());
  } else {
    result.wait();
  }
  return result;
}

}  // namespace glint

#endif  // GLINT_FEATURES_BACKGROUND_H_
