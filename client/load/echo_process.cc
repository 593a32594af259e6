#include "client/load/echo_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace glint::load {
namespace {

constexpr char kUnix[] = "unix:";

absl::Status SystemError(const char* what) {
  return absl::UnavailableError(absl::StrCat("echo server: ", what, ": ", std::strerror(errno)));
}

// The line that the echo server prints when it listens, or nothing.
std::string ReadLine(int descriptor) {
  std::string line;
  char c = 0;
  while (read(descriptor, &c, 1) == 1 && c != '\n') line += c;
  return c == '\n' ? line : "";
}

}  // namespace

bool IsLocalAddress(const std::string& address) {
  return absl::StartsWith(address, kUnix) || absl::StartsWith(address, "127.") ||
         absl::StartsWith(address, "localhost:") || absl::StartsWith(address, "[::1]:");
}

absl::StatusOr<EchoProcess> EchoProcess::Start(const std::string& program, const std::string& server) {
  EchoProcess echo;
  std::string listen = "127.0.0.1:0";
  if (absl::StartsWith(server, kUnix)) {
    const char* const temporary = std::getenv("TMPDIR");
    std::string folder = absl::StrCat(temporary != nullptr ? temporary : "/tmp", "/glint-echo-XXXXXX");
    if (mkdtemp(folder.data()) == nullptr) return SystemError("no folder for its socket");
    echo.folder_ = folder;
    listen = absl::StrCat(kUnix, folder, "/socket");
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return SystemError("no pipe");
  const char* const arguments[] = {program.c_str(), "echo-server", "--listen", listen.c_str(), nullptr};
  echo.child_ = fork();
  if (echo.child_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(ends[1], STDOUT_FILENO);
    execv(program.c_str(), const_cast<char* const*>(arguments));
    _exit(127);
  }
  close(ends[1]);
  if (echo.child_ > 0) echo.address_ = ReadLine(ends[0]);
  close(ends[0]);
  if (echo.child_ < 0) return SystemError("no process");
  if (echo.address_.empty()) return absl::UnavailableError(absl::StrCat("echo server: did not listen on ", listen));
  return echo;
}

EchoProcess::EchoProcess(EchoProcess&& other) noexcept
    : child_(std::exchange(other.child_, -1)),
      folder_(std::exchange(other.folder_, "")),
      address_(std::move(other.address_)) {}

EchoProcess::~EchoProcess() {
  if (child_ > 0) {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  if (folder_.empty()) return;
  unlink((folder_ + "/socket").c_str());
  rmdir(folder_.c_str());
}

}  // namespace glint::load
