// What glint doctor looks at in a machine before any frame: a table of checks. Nothing of the machine changes.
#ifndef GLINT_CLIENT_CLI_DOCTOR_MACHINE_H_
#define GLINT_CLIENT_CLI_DOCTOR_MACHINE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/doctor/finding.h"
#include "lane/lane.h"
#include "server/app/server.h"
#include "server/config/options.h"

namespace glint::cli {

struct Machine {
  std::string root;                                                    // prefix of /proc, /sys, /etc and /var
  ServerOptions options;                                               // of the server that is to run here
  absl::StatusOr<LaneSet> gpus = absl::UnknownError("not asked for");  // a lane on each GPU; or why there is none
  absl::StatusOr<std::unique_ptr<Server>> server = absl::UnknownError("not made");  // does not listen
};
// Makes a server of `options`, and a lane on each GPU that they name.
Machine LookAtMachine(const std::string& root, const ServerOptions& options);

// Runs all checks below, in their order.
std::vector<Finding> CheckMachine(const Machine& machine);

// What the machine is.
Finding CheckSystem(const Machine& machine);
Finding CheckGpu(const Machine& machine);
Finding CheckDriver(const Machine& machine);
Finding CheckL4t(const Machine& machine);
Finding CheckPowerMode(const Machine& machine);
Finding CheckClocks(const Machine& machine);
Finding CheckThrottling(const Machine& machine);

// What it lets a server have.
Finding CheckServer(const Machine& machine);
Finding CheckMemory(const Machine& machine);
Finding CheckProcessors(const Machine& machine);
Finding CheckThreads(const Machine& machine);
Finding CheckSharedMemory(const Machine& machine);
Finding CheckHugePages(const Machine& machine);
Finding CheckPorts(const Machine& machine);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_DOCTOR_MACHINE_H_
