// What the machine is, and whether its GPU and clocks are as they could be.
#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cli/doctor/machine.h"
#include "sensors/sysfs.h"

namespace glint::cli {
namespace {

constexpr int kFirstL4tOfCuda13 = 38;  // JetPack 7

constexpr char kJetsonPage[] = "docs/operations/jetson.md";

std::optional<std::string> TegraRelease(const Machine& machine) {
  return ReadLine(machine.root + "/etc/nv_tegra_release");
}

bool IsTegra(const Machine& machine) {
  return TegraRelease(machine).has_value() ||
         absl::StrContains(ReadLine(machine.root + "/proc/device-tree/compatible").value_or(""), "nvidia,tegra");
}

std::optional<std::string> KernelModule(const Machine& machine) {
  return ReadLine(machine.root + "/proc/driver/nvidia/version");
}

// By what the machine shows of itself, whatever CUDA says.
bool HasNvidiaGpu(const Machine& machine) {
  if (IsTegra(machine) || KernelModule(machine).has_value()) return true;
  const std::string devices = machine.root + "/sys/bus/pci/devices/";
  for (const std::string& device : ListFolder(devices, "")) {
    if (ReadLine(devices + device + "/vendor") == "0x10de" &&
        absl::StartsWith(ReadLine(devices + device + "/class").value_or(""), "0x03")) {
      return true;
    }
  }
  return false;
}

bool InContainer(const Machine& machine) {
  return std::ifstream(machine.root + "/.dockerenv").good() ||
         std::ifstream(machine.root + "/run/.containerenv").good();
}

std::string Gigahertz(double hertz) { return absl::StrCat(std::round(hertz * 1e-7) / 100, " GHz"); }

// A clock whose largest allowed frequency is below the largest there is.
struct Clock {
  std::string name;
  double allowed, most;  // Hz
};

std::vector<Clock> ClocksOf(const Machine& machine) {
  std::vector<Clock> clocks;
  const std::string processors = machine.root + "/sys/devices/system/cpu/";
  for (const std::string& processor : ListFolder(processors, "cpu")) {
    const auto allowed = ReadNumber(absl::StrCat(processors, processor, "/cpufreq/scaling_max_freq"));
    const auto most = ReadNumber(absl::StrCat(processors, processor, "/cpufreq/cpuinfo_max_freq"));
    if (allowed.has_value() && most.has_value()) clocks.push_back({processor, *allowed * 1000, *most * 1000});
  }
  const std::string devices = machine.root + "/sys/class/devfreq/";
  for (const std::string& device : ListFolder(devices, "")) {
    if (!absl::StrContains(device, "gpu") && !absl::StrContains(device, "ga10b")) continue;
    const auto allowed = ReadNumber(devices + device + "/max_freq");
    double most = 0;
    std::ifstream available(devices + device + "/available_frequencies");
    for (double hertz; available >> hertz;) most = std::max(most, hertz);
    if (allowed.has_value() && most > 0) clocks.push_back({device, *allowed, most});
  }
  return clocks;
}

// Cooling by slower clocks, not by fans.
bool SlowsClocks(const std::string& type) {
  return absl::EndsWith(type, "-alert") || absl::StrContains(type, "cpufreq") || absl::StrContains(type, "devfreq") ||
         type == "Processor";
}

}  // namespace

Finding CheckSystem(const Machine& machine) {
  utsname kernel = {};
  uname(&kernel);
  std::string system;
  std::ifstream release(machine.root + "/etc/os-release");
  for (std::string line; std::getline(release, line);) {
    absl::string_view name = line;
    if (absl::ConsumePrefix(&name, "PRETTY_NAME=")) system = std::string(absl::StripPrefix(name, "\""));
  }
  std::string board = ReadLine(machine.root + "/proc/device-tree/model").value_or("");
  board.erase(std::find(board.begin(), board.end(), '\0'), board.end());
  return {State::kOk,
          absl::StrCat("glint ", ServerVersion(), ", ", absl::StripSuffix(system, "\""), system.empty() ? "" : ", ",
                       "Linux ", kernel.release, ", ", kernel.machine, board.empty() ? "" : ", ", board)};
}

Finding CheckGpu(const Machine& machine) {
  if (machine.gpus.ok()) {
    const LaneSet& gpus = *machine.gpus;
    if (gpus.note.empty()) return {State::kOk, gpus.device};
    return {State::kWrong, gpus.device, gpus.note, "choose devices that work: --devices"};
  }
  const Backend backend = machine.options.lanes.backend;
  if (backend == Backend::kCpu) return {State::kAbsent, "not asked for: --backend=cpu"};
  const std::string why(machine.gpus.status().message());
  const bool has_gpu = HasNvidiaGpu(machine);
  if (!has_gpu && backend == Backend::kAuto) return {State::kAbsent, "no NVIDIA GPU: lanes are on the CPU"};
  Finding finding = {State::kWrong, has_gpu ? "an NVIDIA GPU that cannot be used" : "none", why};
  if (absl::StrContains(why, "built without CUDA")) {
    finding.remedy = "install the package with CUDA, or choose --backend=cpu";
  } else if (InContainer(machine)) {
    finding.remedy = "start the container with --gpus all, on a Jetson with --runtime nvidia";
  } else {
    finding.remedy = IsTegra(machine) ? absl::StrCat("see ", kJetsonPage)
                                      : std::string("install NVIDIA's driver, until nvidia-smi lists the GPU");
  }
  return finding;
}

Finding CheckDriver(const Machine& machine) {
  if (const auto module = KernelModule(machine); module.has_value()) return {State::kOk, *module};
  if (!HasNvidiaGpu(machine)) return {State::kAbsent, "no NVIDIA GPU"};
  if (IsTegra(machine) && machine.gpus.ok()) return {State::kOk, "of L4T"};
  return {State::kWrong, "none", "the kernel has no module of NVIDIA's driver",
          InContainer(machine) ? "install the driver on the host" : "sudo modprobe nvidia; else install the driver"};
}

Finding CheckL4t(const Machine& machine) {
  const auto line = TegraRelease(machine);
  if (!line.has_value()) {
    if (!IsTegra(machine)) return {State::kAbsent, "not a Jetson"};
    return {State::kNote, "unknown", "/etc/nv_tegra_release is not there",
            "in a container, mount it: -v /etc/nv_tegra_release:/etc/nv_tegra_release:ro"};
  }
  int release = 0;
  char revision[16] = "";
  if (std::sscanf(line->c_str(), "# R%d (release), REVISION: %15[0-9.]", &release, revision) != 2) {
    return {State::kNote, *line, "not the form of /etc/nv_tegra_release that is known"};
  }
  const std::string figure = absl::StrCat("R", release, ".", revision);
  if (machine.gpus.ok() || release >= kFirstL4tOfCuda13) return {State::kOk, figure};
  return {State::kNote, figure, "older than JetPack 7, for which the arm64 package has CUDA: the CPU works",
          absl::StrCat("update to JetPack 7, or build for this one: ", kJetsonPage)};
}

Finding CheckPowerMode(const Machine& machine) {
  const auto status = ReadLine(machine.root + "/var/lib/nvpmodel/status");
  int mode = -1;
  if (!status.has_value() || std::sscanf(status->c_str(), "pmode:%d", &mode) != 1) {
    if (!IsTegra(machine)) return {State::kAbsent, "not a Jetson"};
    return {State::kNote, "unknown", "/var/lib/nvpmodel/status cannot be read", "nvpmodel -q"};
  }
  std::string name, largest;
  int largest_mode = -1;
  std::ifstream modes(machine.root + "/etc/nvpmodel.conf");
  for (std::string line; std::getline(modes, line);) {
    int id = -1;
    char text[64] = "";
    if (std::sscanf(line.c_str(), "< POWER_MODEL ID=%d NAME=%63[^ >]", &id, text) != 2) continue;
    if (id == mode) name = text;
    if (!absl::StartsWith(text, "MAXN") || absl::StartsWith(largest, text)) continue;
    largest = text;  // MAXN_SUPER beats MAXN
    largest_mode = id;
  }
  const std::string figure = absl::StrCat(mode, name.empty() ? "" : " ", name);
  if (largest_mode < 0 || largest_mode == mode) return {State::kOk, figure};
  return {State::kNote, figure, absl::StrCat("mode ", largest_mode, ", ", largest, ", allows higher clocks"),
          absl::StrCat("sudo nvpmodel -m ", largest_mode)};
}

Finding CheckClocks(const Machine& machine) {
  const std::vector<Clock> clocks = ClocksOf(machine);
  if (clocks.empty()) return {State::kAbsent, "this machine names none"};
  std::string limited;
  double most = 0;
  for (const Clock& clock : clocks) {
    most = std::max(most, clock.most);
    if (clock.allowed >= clock.most) continue;
    absl::StrAppend(&limited, limited.empty() ? "" : ", ", clock.name, ": ", Gigahertz(clock.allowed), " of ",
                    Gigahertz(clock.most));
  }
  if (limited.empty()) return {State::kOk, absl::StrCat("up to ", Gigahertz(most))};
  return {State::kNote, limited, "clocks may not rise as far as they could",
          IsTegra(machine) ? "choose a larger power mode (nvpmodel -q), then: sudo jetson_clocks"
                           : "sudo cpupower frequency-set --max with the largest frequency of cpupower frequency-info"};
}

Finding CheckThrottling(const Machine& machine) {
  std::string now;
  int asked = 0;
  const std::string thermal = machine.root + "/sys/class/thermal/";
  for (const std::string& device : ListFolder(thermal, "cooling_device")) {
    const std::string type = ReadLine(thermal + device + "/type").value_or("");
    if (!SlowsClocks(type)) continue;
    ++asked;
    const double state = ReadNumber(thermal + device + "/cur_state").value_or(0);
    if (state > 0) absl::StrAppend(&now, now.empty() ? "" : ", ", type, " at ", state);
  }
  if (!now.empty()) {
    return {State::kWrong, now, "clocks are held down now, by heat",
            "cool the machine (fan, heat sink, free air), or choose a smaller power mode"};
  }
  double events = 0;
  const std::string monitors = machine.root + "/sys/class/hwmon/";
  for (const std::string& monitor : ListFolder(monitors, "hwmon")) {
    for (const std::string& file : ListFolder(monitors + monitor, "oc")) {
      if (!absl::EndsWith(file, "_event_cnt")) continue;
      ++asked;
      events += ReadNumber(absl::StrCat(monitors, monitor, "/", file)).value_or(0);
    }
  }
  if (events > 0) {
    return {State::kNote, absl::StrCat(events, " events of over-current since the start"),
            "each held the clocks down for a moment",
            "a supply for the board's largest power, or a smaller power mode"};
  }
  if (asked == 0) return {State::kAbsent, "this machine does not tell"};
  return {State::kOk, "none now"};
}

}  // namespace glint::cli
