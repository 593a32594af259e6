// glint doctor: whether Glint works on this machine, and what is wrong if it does not.
#include <grpcpp/channel.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/base/command.h"
#include "client/cli/base/flags.h"
#include "client/cli/doctor/exactness.h"
#include "client/cli/doctor/machine.h"
#include "client/cli/output/output.h"
#include "server/config/flags.h"

namespace glint::cli {
namespace {

constexpr char kName[] = "doctor";

struct LaneName {
  std::string name;
  Backend backend;
  int device;
};

// The CPU and all usable GPUs: a lane on the CPU decodes and takes over, whatever the server's backend.
std::vector<LaneName> LanesOf(const Machine& machine) {
  std::vector<LaneName> lanes = {{"cpu", Backend::kCpu, 0}};
  if (!machine.gpus.ok()) return lanes;
  for (const LaneSet::Gpu& gpu : machine.gpus->gpus) {
    lanes.push_back({gpu.device, Backend::kCuda, std::atoi(gpu.device.substr(gpu.device.find(':') + 1).c_str())});
  }
  return lanes;
}

std::vector<Finding> CheckLaneOf(const LaneName& lane, const RenderedPictures& pictures) {
  const auto server = StartLane(lane.backend, lane.device);
  if (!server.ok()) {
    Finding failed = {State::kWrong, "cannot be started", Describe(server.status())};
    failed.name = lane.name;
    return {failed};
  }
  const client::Client client((*server)->InProcessChannel());
  const CancelOnInterrupt cancel([&client] { client.Cancel(); });
  return CheckLane(lane.name, client, pictures, ExpectedDigests());
}

int PrintDigests() {
  const auto server = StartLane(Backend::kCpu, 0);
  if (!server.ok()) return CallError(kName, server.status());
  const client::Client client((*server)->InProcessChannel());
  const RenderedPictures pictures;
  std::string out;
  for (const std::string& name : NamesOfWork()) {
    const auto done = DoWork(name, client, pictures);
    if (!done.ok()) return CallError(kName, done.status());
    absl::StrAppend(&out, "      {\"", name, "\", \"", done->digest, "\"},\n");
  }
  return Print(kName, out);
}

std::string Usage(const Flags& flags) {
  return "Usage: glint doctor [OPTION]... [-- FLAG-OF-GLINT-SERVER...]\n\n" +
         Wrap(
             "Looks at this machine, works on pictures that it makes itself on the CPU and on every GPU, compares what "
             "comes out with what every machine returns, byte for byte, and says what is wrong and what mends it. "
             "Flags after -- and variables GLINT_... are those of the server that is to run here: its memory bound, "
             "its ports and its backend are looked at. No server is needed, and none is disturbed but by the load.",
             0) +
         flags.Help() + "\nExit status\n  0 all is well; 1 something is wrong; 2 wrong command line; 74 no report\n";
}

}  // namespace

int RunDoctor(const std::vector<std::string>& arguments) {
  std::string root, report;
  bool json = false, print_digests = false;
  Flags flags;
  flags.Section("Doctor");
  flags.Bool("json", "Print one JSON object in place of the table.", &json);
  flags.String("report", "FILE",
               "Write the same to a file to attach to a report: without paths, addresses and names of yours.", &report);
  flags.String("root", "FOLDER",
               "Look for /proc, /sys, /etc, /var and /dev/shm below this folder: the host's, in a container.", &root);
  flags.Bool("print-digests", "Print the digests of this machine's CPU, for contributors, and nothing else.",
             &print_digests);

  const auto operands = flags.Parse(arguments);
  if (!operands.ok()) return UsageError(kName, operands.status().message());
  if (flags.help_wanted()) return Print(kName, Usage(flags));
  if (print_digests) return PrintDigests();
  const auto server_flags = ParseFlags(*operands, [](const char* name) { return std::getenv(name); });
  if (!server_flags.ok()) return UsageError(kName, server_flags.status().message());
  if (!report.empty()) {
    if (absl::Status status = CheckWholeFile(report); !status.ok()) return OutputError(kName, status);
  }

  std::vector<Finding> findings;
  std::vector<LaneName> lanes;
  {
    const Machine machine = LookAtMachine(root, server_flags->options);
    findings = CheckMachine(machine);
    lanes = LanesOf(machine);
  }
  const RenderedPictures pictures;
  for (const LaneName& lane : lanes) {
    for (Finding& finding : CheckLaneOf(lane, pictures)) findings.push_back(std::move(finding));
    if (Interrupted()) return kInterrupted;
  }
  if (!report.empty()) {
    absl::Status written = WriteWholeFile(report, Json(findings, /*is_report=*/true));
    if (!written.ok()) return OutputError(kName, written);
  }
  const int printed = Print(kName, json ? Json(findings, /*is_report=*/false) : Text(findings));
  if (printed != kOk) return printed;
  return NamesOf(findings, State::kWrong).empty() ? kOk : kFailed;
}

}  // namespace glint::cli
