// Notifications for a service manager (systemd's Type=notify): ready, stopping, watchdog. No-op without NOTIFY_SOCKET
// in the environment. Protocol: sd_notify(3), one datagram per message.
#ifndef GLINT_SERVER_BASE_NOTIFY_H_
#define GLINT_SERVER_BASE_NOTIFY_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace glint {

// Sends `state`, for example "READY=1" or "STOPPING=1\nSTATUS=draining", to the socket at `address`: a path, or "@name"
// for an abstract one. OK when `address` is empty. Thread-safe.
absl::Status Notify(const std::string& address, absl::string_view state);

// Settings of the service manager, from the environment of this process.
struct ServiceManager {
  std::string address;                             // empty: none
  absl::Duration watchdog = absl::ZeroDuration();  // silence that gets the process killed; zero: never

  static ServiceManager FromEnvironment();
};

// Feeds a service manager's watchdog as long as `probe` succeeds. It runs three times per watchdog interval, on a
// thread of this object, and should give up after its argument. If it fails, nothing is sent and `failed` gets the
// error; the manager kills the process unless a later probe succeeds in time.
class Watchdog {
 public:
  using Probe = std::function<absl::Status(absl::Duration timeout)>;

  // No thread and no probes if `manager` has no watchdog. Throws std::system_error if the thread cannot be made.
  Watchdog(const ServiceManager& manager, Probe probe, std::function<void(const absl::Status&)> failed);
  // Waits for a probe that is under way.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void Main();

  const std::string address_;
  const absl::Duration period_;
  const Probe probe_;
  const std::function<void(const absl::Status&)> failed_;

  std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace glint

#endif  // GLINT_SERVER_BASE_NOTIFY_H_
