// The real glint-server as a child process. Knows it only as its users do: by flags, signals, log and exit code.
#ifndef GLINT_TESTS_BLACKBOX_SERVER_PROCESS_H_
#define GLINT_TESTS_BLACKBOX_SERVER_PROCESS_H_

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace glint::testing {

class ServerProcess {
 public:
  // Starts the binary with a free loopback port, without metrics page, and `flags` after that; waits for the line that
  // says it serves, or for its end. `before`, if there is one, is called in the child, which ends with code 126 if it
  // returns false.
  explicit ServerProcess(const std::vector<std::string>& flags = {}, const std::function<bool()>& before = nullptr);
  // Kills it if it still runs.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // "HOST:PORT" of the first address; empty if it did not start.
  const std::string& address() const { return address_; }
  // Of the metrics page; empty without.
  const std::string& metrics_address() const { return metrics_address_; }
  void Signal(int signal);
  // Waits for the end. The exit code, or minus the signal that ended it.
  int Join();
  // Makes the pipe that it logs to as small as the system has them.
  void ShrinkLogPipe();
  // What it has logged so far, up to a line with `text` in it or its end.
  std::string LogUntil(const std::string& text);
  std::string LogToEnd() { return LogUntil(""); }

 private:
  pid_t pid_ = -1;
  int log_fd_ = -1;
  std::string log_;
  std::string address_, metrics_address_;
  std::optional<int> code_;
};

// The path of the binary.
std::string ServerBinary();

}  // namespace glint::testing

#endif  // GLINT_TESTS_BLACKBOX_SERVER_PROCESS_H_
