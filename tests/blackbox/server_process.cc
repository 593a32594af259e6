#include "tests/blackbox/server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace glint::testing {
namespace {

// The first of the values after `name` in a log; empty without.
std::string FirstOf(const std::string& log, const std::string& name) {
  const size_t at = log.find(name);
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size();
  return log.substr(begin, log.find_first_of(" ,\n", begin) - begin);
}

}  // namespace

std::string ServerBinary() {
  const char* elsewhere = std::getenv("GLINT_SERVER_TOOL");
  return elsewhere != nullptr ? elsewhere : GLINT_SERVER_BINARY;
}

ServerProcess::ServerProcess(const std::vector<std::string>& flags, const std::function<bool()>& before) {
  std::vector<std::string> arguments = {ServerBinary(), "--listen=127.0.0.1:0", "--metrics-listen=", "--backend=cpu"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int pipe_fds[2];
  if (pipe(pipe_fds) != 0) return;
  pid_ = fork();
  if (pid_ == 0) {
    dup2(pipe_fds[1], STDERR_FILENO);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    if (before != nullptr && !before()) _exit(126);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(pipe_fds[1]);
  log_fd_ = pipe_fds[0];
  const std::string log = LogUntil("serving");
  address_ = FirstOf(log, " listen=");
  metrics_address_ = FirstOf(log, " metrics=");
}

ServerProcess::~ServerProcess() {
  if (!code_.has_value()) {
    Signal(SIGKILL);
    Join();
  }
  close(log_fd_);
}

void ServerProcess::Signal(int signal) {
  if (pid_ > 0) kill(pid_, signal);
}

int ServerProcess::Join() {
  if (!code_.has_value()) {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  return *code_;
}

void ServerProcess::ShrinkLogPipe() { fcntl(log_fd_, F_SETPIPE_SZ, 4096); }

std::string ServerProcess::LogUntil(const std::string& text) {
  // Only whole lines count.
  const auto found = [&] {
    const size_t at = text.empty() ? std::string::npos : log_.find(text);
    return at != std::string::npos && log_.find('\n', at) != std::string::npos;
  };
  char buffer[4096];
  while (!found()) {
    const ssize_t n = read(log_fd_, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    log_.append(buffer, static_cast<size_t>(n));
  }
  return log_;
}

}  // namespace glint::testing
