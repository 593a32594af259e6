// Subscribers to changes of the serving status.
#ifndef GLINT_SERVER_RPC_HEALTH_WATCHERS_H_
#define GLINT_SERVER_RPC_HEALTH_WATCHERS_H_

#include <mutex>
#include <unordered_set>

namespace glint {

// Thread-safe.
class HealthWatchers {
 public:
  // Callback, with the lock of HealthWatchers held: at once when added, and at each change.
  class Watcher {
   public:
    virtual void HealthIs(bool serving) = 0;

   protected:
    ~Watcher() = default;
  };

  void Set(bool serving) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (serving == serving_) return;
    serving_ = serving;
    for (Watcher* watcher : watchers_) watcher->HealthIs(serving);
  }
  bool serving() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return serving_;
  }
  void Add(Watcher* watcher) {
    std::lock_guard<std::mutex> lock(mutex_);
    watchers_.insert(watcher);
    watcher->HealthIs(serving_);
  }
  // Removes a watcher; no-op if it was not added.
  void Remove(Watcher* watcher) {
    std::lock_guard<std::mutex> lock(mutex_);
    watchers_.erase(watcher);
  }

 private:
  mutable std::mutex mutex_;
  bool serving_ = false;
  std::unordered_set<Watcher*> watchers_;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_HEALTH_WATCHERS_H_
