// glint: the command-line client. Finds the subcommand and runs it; nothing else.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>
#ifdef GLINT_PICTURES
#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#endif

#include "absl/strings/str_format.h"
#include "client/cli/base/command.h"
#include "client/cli/base/refusal.h"
#include "client/cli/output/output.h"
#include "server/base/malloc_tuning.h"

namespace glint::cli {
namespace {

const Command kCommands[] = {
#ifdef GLINT_PICTURES
    {"detect", "find features in image files, one call each", RunDetect},
    {"stream", "send a folder, a video or a camera through one stream", RunStream},
    {"match", "correspondences of the features of two images, folders or streams", RunMatch},
    {"stereo", "disparities of the features of rectified pairs", RunStereo},
    {"track", "points followed through a folder, a video or cameras", RunTrack},
    {"localize", "where a stereo camera goes, by what it sees", RunLocalize},
    {"view", "what is found in a video or a camera, on a web page", RunView},
    {"bag", "what is in a recording of ROS, and what can be done with it", RunBag},
    {"calibration", "what calibration files say, and whether it can be right", RunCalibration},
    {"compare", "two detectors, backends or sets of options on the same images", RunCompare},
#endif
    {"info", "what a server is and what it allows", RunInfo},
    {"health", "whether a server is ready for frames", RunHealth},
    {"doctor", "whether all works on this machine, and what mends what does not", RunDoctor},
    {"bench", "load a server and measure it", RunBench},
    {"echo-server", "a bare gRPC server, to compare one with", RunEchoServer},
};

std::string Help() {
  std::string out =
      "Usage: glint COMMAND [OPTION]... [OPERAND]...\n\n"
      "Client of a Glint feature-detection server.\n\nCommands\n";
  for (const Command& command : kCommands) absl::StrAppendFormat(&out, "  %-12s %s\n", command.name, command.summary);
  return out +
         "\n"
         "'glint COMMAND --help' tells more; 'glint --version' the version.\n"
         "Without a server at hand, try: glint detect --server inproc FILE\n";
}

int Run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return UsageError("", "no command given");
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") return Print("", Help());
  if (name == "--version") return Print("", "glint " GLINT_VERSION "\n");
  for (const Command& command : kCommands) {
    if (command.name == name) return command.run({arguments.begin() + 1, arguments.end()});
  }
  return UsageError("", "unknown command '" + name + "'");
}

// The next files and sockets would get the numbers of standard streams that are closed, and what is printed. Reading
// and writing of these fails, as of closed ones.
void KeepStandardStreams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace
}  // namespace glint::cli

int main(int argc, char** argv) {
  glint::cli::KeepStandardStreams();
  glint::cli::EndOnRefusal();
  std::signal(SIGPIPE, SIG_IGN);  // a gone reader is an error of write(), so that videos can be closed first
  std::signal(SIGXFSZ, SIG_IGN);  // likewise a file over the limit on files
  glint::cli::CatchInterrupts();
  glint::TuneMalloc();
#ifdef GLINT_PICTURES
  // OpenCV's warnings about missing cameras and codecs are not this tool's messages.
  cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
#endif
  return glint::cli::CheckStandardOutput(glint::cli::Run({argv + 1, argv + argc}));
}
