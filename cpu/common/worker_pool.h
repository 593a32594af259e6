// A few threads that share the tasks of one frame. Between frames they sleep; within a frame, where one set of tasks
// follows another within microseconds, they spin for a while first.
#ifndef GLINT_CPU_COMMON_WORKER_POOL_H_
#define GLINT_CPU_COMMON_WORKER_POOL_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "features/parallel.h"

namespace glint::cpu {

// Thread-compatible: one caller at a time.
class WorkerPool final : public Parallel {
 public:
  // `threads` >= 1, the caller's included. Throws std::system_error if one of them cannot be made.
  explicit WorkerPool(int threads);
  ~WorkerPool() override;
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int threads() const override { return static_cast<int>(workers_.size()) + 1; }

  // Calls task(i, worker) for i = 0..count-1, each once, in any order, and returns when all are done. `worker` is in
  // 0..threads()-1, and no two calls at a time have the same. Allocates nothing.
  template <typename Task>
  void ForEach(int count, Task task) {
    if (workers_.empty() || count <= 1) {
      for (int i = 0; i < count; ++i) task(i, 0);
      return;
    }
    Run(
        count, [](void* context, int i, int worker) { (*static_cast<Task*>(context))(i, worker); }, &task);
  }

  void Share(int count, absl::FunctionRef<void(int i)> task) override {
    ForEach(count, [task](int i, int) { task(i); });
  }

 private:
  using Call = void (*)(void* context, int i, int worker);

  void Run(int count, Call call, void* context);
  void Work(int worker);
  void TakeTasks(int worker);
  void End();

  // Written only while no worker is inside.
  Call call_ = nullptr;
  void* context_ = nullptr;
  int count_ = 0;

  std::atomic<int> next_{0};
  // Bits 32..63: number of the run; bit 31: open to workers; bits 0..30: how many are inside. A worker that comes late
  // finds it closed and leaves without having touched anything.
  std::atomic<uint64_t> gate_{0};
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::thread> workers_;
};

}  // namespace glint::cpu

#endif  // GLINT_CPU_COMMON_WORKER_POOL_H_
