#include "features/background.h"

#include "features/status_macros.h"
#include "features/thread.h"

namespace glint {

absl::StatusOr<std::unique_ptr<BackgroundThreads>> BackgroundThreads::Create(absl::string_view what, int count) {
  std::unique_ptr<BackgroundThreads> made(new BackgroundThreads);
  for (int i = 0; i < count; ++i) {
    GLINT_ASSIGN_OR_RETURN(std::thread thread, StartThread(what, [threads = made.get()] { threads->Main(); }));
    made->threads_.push_back(std::move(thread));
  }
  return made;
}

BackgroundThreads::~BackgroundThreads() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void BackgroundThreads::Add(std::shared_ptr<BackgroundTask> task) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void BackgroundThreads::Main() {
  for (;;) {
    std::shared_ptr<BackgroundTask> task;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return over_ || !tasks_.empty(); });
      if (over_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    if (task->Claim()) task->Run();
  }
}

}  // namespace glint
