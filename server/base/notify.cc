#include "server/base/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace glint {

absl::Status Notify(const std::string& address, absl::string_view state) {
  if (address.empty()) return absl::OkStatus();
  sockaddr_un to = {};
  to.sun_family = AF_UNIX;
  if (address.size() >= sizeof(to.sun_path) || (address[0] != '/' && address[0] != '@')) {
    return absl::InvalidArgumentError(absl::StrCat("NOTIFY_SOCKET: '", address, "' is neither a path nor @name"));
  }
  std::memcpy(to.sun_path, address.data(), address.size());
  if (address[0] == '@') to.sun_path[0] = '\0';
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return absl::ErrnoToStatus(errno, "NOTIFY_SOCKET");
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
  const ssize_t sent =
      sendto(fd, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to), length);
  const int error = errno;
  close(fd);
  if (sent < 0) return absl::ErrnoToStatus(error, absl::StrCat("NOTIFY_SOCKET ", address));
  return absl::OkStatus();
}

ServiceManager ServiceManager::FromEnvironment() {
  ServiceManager manager;
  if (const char* address = std::getenv("NOTIFY_SOCKET")) manager.address = address;
  const char* const usec = std::getenv("WATCHDOG_USEC");
  const char* const pid = std::getenv("WATCHDOG_PID");
  int64_t value = 0;
  if (usec == nullptr || !absl::SimpleAtoi(usec, &value) || value <= 0) return manager;
  // WATCHDOG_PID names another process: a shell between the manager and this one has passed on its environment.
  int64_t owner = 0;
  if (pid != nullptr && (!absl::SimpleAtoi(pid, &owner) || owner != getpid())) return manager;
  manager.watchdog = absl::Microseconds(value);
  return manager;
}

Watchdog::Watchdog(const ServiceManager& manager, Probe probe, std::function<void(const absl::Status&)> failed)
    : address_(manager.address), period_(manager.watchdog / 3), probe_(std::move(probe)), failed_(std::move(failed)) {
  if (manager.watchdog > absl::ZeroDuration() && !address_.empty()) thread_ = std::thread([this] { Main(); });
}

Watchdog::~Watchdog() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  stop_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::Main() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_) {
    lock.unlock();
    absl::Status alive = probe_(period_);
    if (alive.ok()) alive = Notify(address_, "WATCHDOG=1");
    if (!alive.ok()) failed_(alive);
    lock.lock();
    stop_changed_.wait_for(lock, absl::ToChronoNanoseconds(period_), [this] { return stop_; });
  }
}

}  // namespace glint
