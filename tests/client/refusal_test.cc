// glint whose user may have few threads, as by a container's limit of processes: it works, or one line names the limit.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/app/server.h"
#include "tests/support/one_thread.h"

namespace glint {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kCannotBeTried = 126;  // and 127: the other user may not run the binary
constexpr auto kPatience = std::chrono::seconds(60);

struct Outcome {
  int code;  // minus the signal that ended it; it is killed after kPatience
  std::string said;
};

// `glint detect --server SERVER` of a picture on standard input.
Outcome Detect(const std::string& server, rlim_t threads) {
  int picture[2], said[2];
  EXPECT_EQ(pipe(picture), 0);
  EXPECT_EQ(pipe(said), 0);
  const std::string pgm = absl::StrCat("P5 64 64 255\n", std::string(64 * 64, '\x40'));
  EXPECT_EQ(write(picture[1], pgm.data(), pgm.size()), static_cast<ssize_t>(pgm.size()));
  const pid_t child = fork();
  if (child == 0) {
    dup2(picture[0], STDIN_FILENO);
    dup2(said[1], STDERR_FILENO);
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    for (const int fd : {picture[0], picture[1], said[0], said[1]}) close(fd);
    if (!LimitThreads(threads)) _exit(kCannotBeTried);
    execl(GLINT_CLI, GLINT_CLI, "detect", "--server", server.c_str(), "--backend", "cpu", "-", nullptr);
    _exit(kCannotBeTried + 1);
  }
  for (const int fd : {picture[0], picture[1], said[1]}) close(fd);
  int status = 0;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  Outcome outcome = {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), ""};
  char buffer[4096];
  for (ssize_t got; (got = read(said[0], buffer, sizeof(buffer))) > 0;) outcome.said.append(buffer, got);
  close(said[0]);
  return outcome;
}

void ExpectWorkOrALine(const std::string& server) {
  int refused = 0, answered = 0;
  for (rlim_t threads = 1; threads < 48; threads += threads < 24 ? 1 : 4) {
    const Outcome outcome = Detect(server, threads);
    if (outcome.code == kCannotBeTried || outcome.code == kCannotBeTried + 1) {
      GTEST_SKIP() << "another user cannot run glint";
    }
    if (outcome.code == 0) {
      ++answered;
      continue;
    }
    ++refused;
    EXPECT_EQ(outcome.code, 1) << threads << " threads: " << outcome.said;
    EXPECT_THAT(outcome.said, AnyOf(HasSubstr("RLIMIT_NPROC"), HasSubstr("pids.max"))) << threads << " threads";
  }
  if (refused == 0) GTEST_SKIP() << "the system does not hold RLIMIT_NPROC here";
  EXPECT_GT(answered, 0);
}

TEST(RefusalTest, AClientWorksOrSaysWhatItLacks) {
  ServerOptions options;
  options.listen = {"127.0.0.1:0"};
  options.lanes.backend = Backend::kCpu;
  auto server = Server::Create(options);
  ASSERT_TRUE(server.ok()) << server.status();
  ASSERT_TRUE((*server)->Start().ok());
  ASSERT_TRUE((*server)->WaitUntilServing(absl::Minutes(1)));
  ExpectWorkOrALine((*server)->addresses().front());
}

TEST(RefusalTest, SoDoesAServerInTheProcess) { ExpectWorkOrALine("inproc"); }

}  // namespace
}  // namespace glint
