#include "server/metrics/gpu.h"

#include <dirent.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/metrics/names.h"

namespace glint {
namespace {

// The part of NVML's stable C interface that is used here.
using NvmlDevice = void*;
struct NvmlUtilization {
  unsigned gpu, memory;  // percent
};
struct NvmlMemory {
  uint64_t total, free, used;  // bytes
};
constexpr int kNvmlSuccess = 0;
constexpr int kNvmlTemperatureGpu = 0;

template <typename Function>
bool Load(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

// The first line of a file; nothing if it cannot be read.
std::optional<std::string> ReadLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return std::string(absl::StripAsciiWhitespace(line));
}

std::optional<double> ReadNumber(const std::string& path) {
  const auto line = ReadLine(path);
  double value = 0;
  if (!line.has_value() || !absl::SimpleAtod(*line, &value)) return std::nullopt;
  return value;
}

// Names in a folder that begin with `prefix`, sorted.
std::vector<std::string> List(const std::string& folder, const std::string& prefix) {
  std::vector<std::string> names;
  DIR* const open = opendir(folder.c_str());
  if (open == nullptr) return names;
  while (const dirent* const entry = readdir(open)) {
    if (absl::StartsWith(entry->d_name, prefix)) names.emplace_back(entry->d_name);
  }
  closedir(open);
  std::sort(names.begin(), names.end());
  return names;
}

// ---- Jetson. One GPU, whose memory is the machine's.

std::optional<double> JetsonLoad(const std::string& sysfs) {
  for (const char* path : {"/devices/gpu.0/load", "/devices/platform/gpu.0/load"}) {
    if (const auto load = ReadNumber(sysfs + path); load.has_value()) return *load / 1000;
  }
  // Since Orin: /sys/class/devfreq/17000000.gpu (or .ga10b).
  const std::string folder = sysfs + "/class/devfreq";
  for (const std::string& name : List(folder, "")) {
    if (!absl::EndsWith(name, ".gpu") && !absl::EndsWith(name, ".ga10b")) continue;
    const auto load = ReadNumber(absl::StrCat(folder, "/", name, "/device/load"));
    if (load.has_value()) return *load / 1000;
  }
  return std::nullopt;
}

std::optional<double> JetsonTemperature(const std::string& sysfs) {
  const std::string folder = sysfs + "/class/thermal/";
  for (const std::string& zone : List(folder, "thermal_zone")) {
    const auto type = ReadLine(folder + zone + "/type");
    if (!type.has_value() || !absl::StartsWithIgnoreCase(*type, "gpu")) continue;
    if (const auto millidegrees = ReadNumber(folder + zone + "/temp"); millidegrees.has_value()) {
      return *millidegrees / 1000;
    }
  }
  return std::nullopt;
}

// The rail of an INA3221 whose label names the GPU: millivolts times milliamperes.
std::optional<double> JetsonPower(const std::string& sysfs) {
  const std::string folder = sysfs + "/class/hwmon/";
  for (const std::string& monitor : List(folder, "hwmon")) {
    if (ReadLine(folder + monitor + "/name") != "ina3221") continue;
    for (int channel = 1; channel <= 3; ++channel) {
      const std::string base = folder + monitor + "/";
      const auto label = ReadLine(absl::StrCat(base, "in", channel, "_label"));
      if (!label.has_value() || !absl::StrContains(*label, "GPU")) continue;
      const auto volts = ReadNumber(absl::StrCat(base, "in", channel, "_input"));
      const auto amperes = ReadNumber(absl::StrCat(base, "curr", channel, "_input"));
      if (volts.has_value() && amperes.has_value()) return *volts * *amperes * 1e-6;
    }
  }
  return std::nullopt;
}

}  // namespace

struct GpuSensors::Nvml {
  ~Nvml() {
    if (initialized) shutdown();
    if (library != nullptr) dlclose(library);
  }

  bool Open(const std::string& path) {
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr || !Load(library, "nvmlInit_v2", &init) || !Load(library, "nvmlShutdown", &shutdown) ||
        !Load(library, "nvmlDeviceGetHandleByPciBusId_v2", &by_bus_id) ||
        !Load(library, "nvmlDeviceGetUtilizationRates", &utilization) ||
        !Load(library, "nvmlDeviceGetMemoryInfo", &memory) ||
        !Load(library, "nvmlDeviceGetTemperature", &temperature) || !Load(library, "nvmlDeviceGetPowerUsage", &power)) {
      return false;
    }
    initialized = init() == kNvmlSuccess;
    return initialized;
  }

  void Read(const std::string& bus_id, GpuReading* reading) const {
    NvmlDevice device = nullptr;
    if (by_bus_id(bus_id.c_str(), &device) != kNvmlSuccess) return;
    NvmlUtilization rates{};
    if (utilization(device, &rates) == kNvmlSuccess) reading->utilization = rates.gpu / 100.0;
    NvmlMemory bytes{};
    if (memory(device, &bytes) == kNvmlSuccess) {
      reading->memory_used = static_cast<double>(bytes.used);
      reading->memory_total = static_cast<double>(bytes.total);
    }
    unsigned degrees = 0;
    if (temperature(device, kNvmlTemperatureGpu, &degrees) == kNvmlSuccess) reading->temperature = degrees;
    unsigned milliwatts = 0;
    if (power(device, &milliwatts) == kNvmlSuccess) reading->power = milliwatts / 1000.0;
  }

  void* library = nullptr;
  bool initialized = false;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*by_bus_id)(const char*, NvmlDevice*) = nullptr;
  int (*utilization)(NvmlDevice, NvmlUtilization*) = nullptr;
  int (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*temperature)(NvmlDevice, int, unsigned*) = nullptr;
  int (*power)(NvmlDevice, unsigned*) = nullptr;
};

GpuSensors::GpuSensors(const std::vector<LaneSet::Gpu>& gpus, const Paths& paths) : gpus_(gpus), sysfs_(paths.sysfs) {
  if (gpus_.empty()) return;
  auto nvml = std::make_unique<Nvml>();
  if (nvml->Open(paths.nvml)) nvml_ = std::move(nvml);
}

GpuSensors::~GpuSensors() = default;

std::vector<GpuReading> GpuSensors::Read() const {
  std::vector<GpuReading> readings;
  for (const LaneSet::Gpu& gpu : gpus_) {
    GpuReading reading;
    reading.device = gpu.device;
    if (nvml_ != nullptr) {
      nvml_->Read(gpu.pci_bus_id, &reading);
    } else if (gpus_.size() == 1) {
      reading.utilization = JetsonLoad(sysfs_);
      reading.temperature = JetsonTemperature(sysfs_);
      reading.power = JetsonPower(sysfs_);
    }
    readings.push_back(std::move(reading));
  }
  return readings;
}

std::vector<prometheus::MetricFamily> ToMetrics(const std::vector<GpuReading>& readings) {
  const std::pair<metric::Name, std::optional<double> GpuReading::*> kinds[] = {
      {metric::kGpuUtilization, &GpuReading::utilization},
      {metric::kGpuMemoryUsed, &GpuReading::memory_used},
      {metric::kGpuMemoryTotal, &GpuReading::memory_total},
      {metric::kGpuTemperature, &GpuReading::temperature},
      {metric::kGpuPower, &GpuReading::power}};
  std::vector<prometheus::MetricFamily> families;
  for (const auto& [name, value] : kinds) {
    prometheus::MetricFamily family;
    family.name = name.name;
    family.help = name.help;
    family.type = prometheus::MetricType::Gauge;
    for (const GpuReading& reading : readings) {
      if (!(reading.*value).has_value()) continue;
      prometheus::ClientMetric metric;
      metric.label.push_back({"device", reading.device});
      metric.gauge.value = *(reading.*value);
      family.metric.push_back(std::move(metric));
    }
    if (!family.metric.empty()) families.push_back(std::move(family));
  }
  return families;
}

}  // namespace glint
