// What waits for its answer, in the order of the writes.
#ifndef GLINT_CLIENT_CLI_SOURCE_WAITING_H_
#define GLINT_CLIENT_CLI_SOURCE_WAITING_H_

#include <deque>
#include <mutex>
#include <utility>

namespace glint::cli {

// Thread-safe: one thread writes and another one reads answers.
template <typename T>
class Waiting {
 public:
  // It stays where it is until Pop().
  const T& Push(T one) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(std::move(one));
    return waiting_.back();
  }
  const T& Front() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return waiting_.front();
  }
  T Pop() {
    const std::lock_guard<std::mutex> lock(mutex_);
    T one = std::move(waiting_.front());
    waiting_.pop_front();
    return one;
  }
  void Clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.clear();
  }

 private:
  std::mutex mutex_;
  std::deque<T> waiting_;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_WAITING_H_
