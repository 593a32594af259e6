#include "client/cli/base/command.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"

namespace glint::cli {
namespace {

constexpr std::chrono::milliseconds kInterruptPoll(50), kInterruptGrace(1000), kEndGrace(5000);

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

void Complain(absl::string_view command, absl::string_view message) {
  std::fputs(absl::StrCat("glint", command.empty() ? "" : " ", command, ": ", message, "\n").c_str(), stderr);
}

int UsageError(absl::string_view command, absl::string_view message) {
  Complain(command, message);
  std::fputs(absl::StrCat("Try 'glint", command.empty() ? "" : " ", command, " --help'.\n").c_str(), stderr);
  return kUsage;
}

int CallError(absl::string_view command, const absl::Status& status) {
  if (Interrupted() && absl::IsCancelled(status)) {
    Complain(command, "interrupted; what was not answered within a second is left out");
    return kInterrupted;
  }
  Complain(command, Describe(status));
  if (Interrupted()) return kInterrupted;
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      return kUnavailable;
    case absl::StatusCode::kInvalidArgument:
      return kUsage;
    default:
      return kFailed;
  }
}

int SourceError(absl::string_view command, const absl::Status& status) {
  Complain(command, status.message());
  return Interrupted() ? kInterrupted : kFailed;
}

std::string Describe(const absl::Status& status) {
  return absl::StrCat(absl::StatusCodeToString(status.code()), ": ", status.message());
}

bool Interrupted() { return interrupted != 0; }

void CatchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // the second one is not caught
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

CancelOnInterrupt::CancelOnInterrupt(std::function<void()> cancel) {
  thread_ = std::thread([this, cancel = std::move(cancel)] {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto is_over = [this] { return over_; };
    while (!Interrupted()) {
      if (changed_.wait_for(lock, kInterruptPoll, is_over)) return;
    }
    if (changed_.wait_for(lock, kInterruptGrace, is_over)) return;
    lock.unlock();
    cancel();
    lock.lock();
    if (changed_.wait_for(lock, kEndGrace, is_over)) return;
    std::fflush(nullptr);
    _exit(kInterrupted);
  });
}

CancelOnInterrupt::~CancelOnInterrupt() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

}  // namespace glint::cli
