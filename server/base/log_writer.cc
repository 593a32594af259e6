#include "server/base/log_writer.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace glint {
namespace {

constexpr auto kLastWords = absl::Seconds(1);
constexpr int kPollMs = 50;  // latency of noticing stop_

}  // namespace

LogWriter::LogWriter(int fd, size_t capacity) : fd_(fd), capacity_(capacity) {
  waiting_.reserve(capacity_);
  // Blocks signals in this thread: the program's threads handle them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LogWriter::~LogWriter() {
  Flush(kLastWords);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LogWriter::Write(absl::string_view line, absl::FunctionRef<std::string(int64_t)> tell) {
  int64_t untold;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    untold = std::exchange(untold_, 0);
  }
  std::string notice;
  if (untold > 0) notice = tell(untold);
  if (!notice.empty()) notice += '\n';
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (waiting_.size() + notice.size() + line.size() + 1 > capacity_) {
      ++dropped_;
      untold_ += untold + 1;
      return;
    }
    (notice.empty() ? untold_ : told_) += untold;
    waiting_ += notice;
    waiting_.append(line.data(), line.size());
    waiting_.push_back('\n');
    ++queued_;
  }
  changed_.notify_all();
}

bool LogWriter::Flush(absl::Duration timeout) {
  std::unique_lock<std::mutex> lock(mutex_);
  const uint64_t wanted = queued_;
  return changed_.wait_for(lock, absl::ToChronoNanoseconds(timeout), [&] { return written_ >= wanted; });
}

void LogWriter::Run() {
  std::string batch;
  batch.reserve(capacity_);  // it is swapped with waiting_
  for (;;) {
    uint64_t lines;
    int64_t told, lost = 0;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      batch.clear();
      batch.swap(waiting_);
      lines = queued_;
      told = std::exchange(told_, 0);
    }
    if (!WriteOut(batch, &lost)) return;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (lost > 0) {
        dropped_ += lost;
        untold_ += lost + told;
      }
      written_ = lines;
    }
    changed_.notify_all();
  }
}

bool LogWriter::WriteOut(absl::string_view bytes, int64_t* lost) {
  while (!bytes.empty()) {
    // A pipe that is ready takes PIPE_BUF bytes without blocking.
    pollfd ready = {fd_, POLLOUT, 0};
    const int polled = poll(&ready, 1, kPollMs);
    if (polled == 0 && stop_) return false;
    if (polled <= 0) continue;
    const ssize_t written = write(fd_, bytes.data(), std::min<size_t>(bytes.size(), PIPE_BUF));
    if (written > 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (written < 0 && errno != EINTR && errno != EAGAIN) {
      // The line cannot be written: a closed pipe, a full disk. Later lines are tried again.
      *lost = std::count(bytes.begin(), bytes.end(), '\n');
      return true;
    }
  }
  return true;
}

LogWriter& StandardErrorWriter() {
  static LogWriter* const writer = new LogWriter(STDERR_FILENO);
  return *writer;
}

}  // namespace glint
