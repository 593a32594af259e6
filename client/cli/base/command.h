// A subcommand of glint, and what all of them share.
#ifndef GLINT_CLIENT_CLI_BASE_COMMAND_H_
#define GLINT_CLIENT_CLI_BASE_COMMAND_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace glint::cli {

// Exit status of glint, as the help texts promise it. 64 and above are sysexits.h's.
enum ExitStatus : int {
  kOk = 0,
  kFailed = 1,         // some frames failed or some input could not be read
  kUsage = 2,          // the command line is wrong
  kUnavailable = 69,   // the server cannot be reached, or went away
  kCannotWrite = 74,   // an output file, or standard output
  kInterrupted = 130,  // SIGINT or SIGTERM, after finishing what was begun
};

struct Command {
  std::string name;
  std::string summary;  // one line for glint --help
  int (*run)(const std::vector<std::string>& arguments);
};

int RunDetect(const std::vector<std::string>& arguments);
int RunStream(const std::vector<std::string>& arguments);
int RunMatch(const std::vector<std::string>& arguments);
int RunStereo(const std::vector<std::string>& arguments);
int RunTrack(const std::vector<std::string>& arguments);
int RunLocalize(const std::vector<std::string>& arguments);
int RunView(const std::vector<std::string>& arguments);
int RunBag(const std::vector<std::string>& arguments);
int RunCalibration(const std::vector<std::string>& arguments);
int RunCompare(const std::vector<std::string>& arguments);
int RunInfo(const std::vector<std::string>& arguments);
int RunDoctor(const std::vector<std::string>& arguments);
int RunHealth(const std::vector<std::string>& arguments);
int RunBench(const std::vector<std::string>& arguments);
int RunEchoServer(const std::vector<std::string>& arguments);

// "glint detect: message" on standard error.
void Complain(absl::string_view command, absl::string_view message);

// Complains about the command line, and where help is; kUsage.
int UsageError(absl::string_view command, absl::string_view message);

// Complains about a call that failed; kUnavailable, kUsage for what the server calls an invalid argument, kInterrupted
// after an interrupt, else kFailed.
int CallError(absl::string_view command, const absl::Status& status);

// Complains about a source that cannot be opened; kFailed, or kInterrupted after an interrupt.
int SourceError(absl::string_view command, const absl::Status& status);

// "INVALID_ARGUMENT: text"
std::string Describe(const absl::Status& status);

// Set by SIGINT and SIGTERM: finish what was begun. A second signal ends the process as usual.
bool Interrupted();
void CatchInterrupts();

// Calls `cancel`, from a thread of its own, a second after an interrupt that comes while this lives: for what waits for
// a server. If it still lives five seconds later, the process ends with kInterrupted: gRPC 1.51 does not end a call
// whose socket takes no more bytes. Thread-safe.
class CancelOnInterrupt {
 public:
  explicit CancelOnInterrupt(std::function<void()> cancel);
  // Waits for `cancel` if it runs.
  ~CancelOnInterrupt();
  CancelOnInterrupt(const CancelOnInterrupt&) = delete;
  CancelOnInterrupt& operator=(const CancelOnInterrupt&) = delete;

 private:
  std::mutex mutex_;
  bool over_ = false;
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_BASE_COMMAND_H_
