// The glint command with a server that falls silent: each command ends by its timeout, and by one signal.
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/silent_server.h"

namespace glint {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

constexpr int kFailed = 1, kUsage = 2, kInterrupted = 130;

struct Outcome {
  int status = -1;  // exit status, or 128 + signal
  std::string err;
};

class CliSilenceTest : public ::testing::Test {
 protected:
  CliSilenceTest() {
    std::string folder = ::testing::TempDir() + "glint-silence-XXXXXX";
    folder_ = mkdtemp(folder.data());
    fs::create_directory(folder_ / "pictures");
    for (const char* name : {"0.pgm", "1.pgm", "2.pgm"}) {
      std::ofstream(folder_ / "pictures" / name) << "P5 64 64 255\n" << std::string(64 * 64, 'x');
    }
    std::ofstream(folder_ / "calib.txt") << "P0: 100 0 32 0 0 100 32 0 0 0 1 0\nP1: 100 0 32 -50 0 100 32 0 0 0 1 0\n";
  }
  ~CliSilenceTest() override { fs::remove_all(folder_); }

  // Starts glint with `address` as its server.
  pid_t Start(const std::string& address, std::vector<std::string> arguments) {
    const std::string error = folder_ / "err";
    const pid_t child = fork();
    if (child != 0) return child;
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
    dup2(open(error.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), STDERR_FILENO);
    setenv("GLINT_SERVER", address.c_str(), 1);
    arguments.insert(arguments.begin(), GLINT_CLI);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  Outcome Wait(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    std::ifstream file(folder_ / "err");
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
            std::string(std::istreambuf_iterator<char>(file), {})};
  }

  // Commands with streams, and with calls.
  std::vector<std::vector<std::string>> Streams() const {
    const std::string folder = folder_ / "pictures";
    return {{"stream", folder},
            {"track", folder},
            {"match", folder},
            {"stereo", folder, folder},
            {"localize", "--calibration", folder_ / "calib.txt", folder, folder}};
  }
  std::vector<std::vector<std::string>> Calls() const {
    return {{"detect", folder_ / "pictures" / "0.pgm"}, {"info"}, {"health"}};
  }

  fs::path folder_;
};

TEST_F(CliSilenceTest, ATimeoutEndsEveryCommand) {
  const client::SilentServer server;
  for (std::vector<std::string> command : Streams()) {
    command.insert(command.end(), {"--timeout", "0.5"});
    const Outcome outcome = Wait(Start(server.address(), command));
    EXPECT_EQ(outcome.status, kFailed) << command[0];
    EXPECT_THAT(outcome.err, EndsWith("DEADLINE_EXCEEDED: no answer from the server for 500ms\n")) << command[0];
  }
  for (std::vector<std::string> command : Calls()) {
    command.insert(command.end(), {"--timeout", "0.5"});
    const Outcome outcome = Wait(Start(server.address(), command));
    EXPECT_EQ(outcome.status, kFailed) << command[0];
    EXPECT_THAT(outcome.err, HasSubstr("DEADLINE_EXCEEDED")) << command[0];
  }
}

TEST_F(CliSilenceTest, PatienceEndsAStreamThatIsTriedAgain) {
  const client::SilentServer server;
  const Outcome outcome = Wait(Start(server.address(), {"stream", folder_ / "pictures", "--retry", "0.5"}));
  EXPECT_EQ(outcome.status, kFailed);
  EXPECT_THAT(outcome.err, EndsWith("DEADLINE_EXCEEDED: no frame was answered for 500ms\n"));
  EXPECT_EQ(Wait(Start(server.address(), {"stream", folder_, "--retry", "-1"})).status, kUsage);
}

TEST_F(CliSilenceTest, OneSignalEndsEveryCommand) {
  std::vector<std::vector<std::string>> commands = Streams();
  commands.push_back(Calls()[0]);
  commands.push_back({"stream", folder_ / "pictures", "--retry", "600"});
  for (size_t i = 0; i < commands.size(); ++i) {
    const client::SilentServer server;
    const pid_t child = Start(server.address(), commands[i]);
    while (server.received() < 64 * 64) absl::SleepFor(absl::Milliseconds(5));  // the first picture
    kill(child, i % 2 == 0 ? SIGTERM : SIGINT);
    const Outcome outcome = Wait(child);
    EXPECT_EQ(outcome.status, kInterrupted) << commands[i][0];
  }
}

TEST_F(CliSilenceTest, OneSignalEndsACallWhoseSocketTakesNoMore) {
  const client::SilentServer server(client::SilentServer::Kind::kReadsNothing);
  std::ofstream(folder_ / "large.pgm") << "P5 6000 6000 255\n" << std::string(6000 * 6000, 'x');
  const pid_t child = Start(server.address(), {"detect", folder_ / "large.pgm"});
  while (server.connections() == 0) absl::SleepFor(absl::Milliseconds(5));
  absl::SleepFor(absl::Milliseconds(500));  // into the call, on most machines
  kill(child, SIGTERM);
  EXPECT_EQ(Wait(child).status, kInterrupted);
}

TEST_F(CliSilenceTest, ASignalEndsConnectingAndReading) {
  const client::SilentServer server(client::SilentServer::Kind::kNotConnected);
  pid_t child = Start(server.address(), {"info", "--timeout", "600"});
  while (server.received() == 0) absl::SleepFor(absl::Milliseconds(5));
  kill(child, SIGTERM);
  EXPECT_EQ(Wait(child).status, kInterrupted);

  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int writer = open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(write(writer, "YUV4MPEG2 ", 10), 10);  // and nothing after it
  child = Start(server.address(), {"stream", pipe});
  for (int unread = 10; unread > 0;) {
    absl::SleepFor(absl::Milliseconds(5));
    ASSERT_EQ(ioctl(writer, FIONREAD, &unread), 0);
  }
  kill(child, SIGTERM);
  EXPECT_EQ(Wait(child).status, kInterrupted);
  close(writer);
}

}  // namespace
}  // namespace glint
