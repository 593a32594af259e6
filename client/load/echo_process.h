// An echo server in a process of its own, as the server that it is compared with is.
#ifndef GLINT_CLIENT_LOAD_ECHO_PROCESS_H_
#define GLINT_CLIENT_LOAD_ECHO_PROCESS_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace glint::load {

// True for addresses of this machine: unix:PATH, localhost, 127.0.0.0/8 and ::1.
bool IsLocalAddress(const std::string& address);

// Ends with this object, or with the thread that made it. Thread-compatible.
class EchoProcess {
 public:
  // Runs "PROGRAM echo-server" on a transport like that of `server`, which must be local: a unix socket in a folder of
  // its own, or any free port of the loopback. UNAVAILABLE when it does not come up.
  static absl::StatusOr<EchoProcess> Start(const std::string& program, const std::string& server);
  EchoProcess(EchoProcess&& other) noexcept;
  EchoProcess& operator=(EchoProcess&&) = delete;
  ~EchoProcess();

  const std::string& address() const { return address_; }

 private:
  EchoProcess() = default;

  pid_t child_ = -1;
  std::string folder_;  // of the socket; empty without one
  std::string address_;
};

}  // namespace glint::load

#endif  // GLINT_CLIENT_LOAD_ECHO_PROCESS_H_
