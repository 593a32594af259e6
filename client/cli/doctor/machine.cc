#include "client/cli/doctor/machine.h"

namespace glint::cli {
namespace {

struct Check {
  const char* name;
  Finding (*run)(const Machine& machine);
};

constexpr Check kChecks[] = {
    {"system", CheckSystem},         {"gpu", CheckGpu},
    {"driver", CheckDriver},         {"l4t", CheckL4t},
    {"power mode", CheckPowerMode},  {"clocks", CheckClocks},
    {"throttling", CheckThrottling}, {"server", CheckServer},
    {"memory", CheckMemory},         {"processors", CheckProcessors},
    {"threads", CheckThreads},       {"shared memory", CheckSharedMemory},
    {"huge pages", CheckHugePages},  {"ports", CheckPorts},
};

}  // namespace

Machine LookAtMachine(const std::string& root, const ServerOptions& options) {
  Machine machine;
  machine.root = root;
  machine.options = options;
  if (options.lanes.backend != Backend::kCpu) {
    LaneOptions lanes = options.lanes;
    lanes.backend = Backend::kCuda;
    lanes.lanes = 1;
    machine.gpus = options.create_lanes(lanes);
  }
  machine.server = Server::Create(options);
  return machine;
}

std::vector<Finding> CheckMachine(const Machine& machine) {
  std::vector<Finding> findings;
  for (const Check& check : kChecks) {
    findings.push_back(check.run(machine));
    findings.back().name = check.name;
  }
  return findings;
}

}  // namespace glint::cli
