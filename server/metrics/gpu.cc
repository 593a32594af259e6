#include "server/metrics/gpu.h"

#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "sensors/shared_library.h"
#include "sensors/sysfs.h"
#include "server/base/names.h"

namespace glint {
namespace {

// ---- Jetson. One GPU, whose memory is the machine's.

std::optional<double> JetsonLoad(const std::string& sysfs) {
  for (const char* path : {"/devices/gpu.0/load", "/devices/platform/gpu.0/load"}) {
    if (const auto load = ReadNumber(sysfs + path); load.has_value()) return *load / 1000;
  }
  // Since Orin: /sys/class/devfreq/17000000.gpu (or .ga10b).
  const std::string folder = sysfs + "/class/devfreq";
  for (const std::string& name : ListFolder(folder, "")) {
    if (!absl::EndsWith(name, ".gpu") && !absl::EndsWith(name, ".ga10b")) continue;
    const auto load = ReadNumber(absl::StrCat(folder, "/", name, "/device/load"));
    if (load.has_value()) return *load / 1000;
  }
  return std::nullopt;
}

std::optional<double> JetsonTemperature(const std::string& sysfs) {
  const std::string folder = sysfs + "/class/thermal/";
  for (const std::string& zone : ListFolder(folder, "thermal_zone")) {
    const auto type = ReadLine(folder + zone + "/type");
    if (!type.has_value() || !absl::StartsWithIgnoreCase(*type, "gpu")) continue;
    if (const auto millidegrees = ReadNumber(folder + zone + "/temp"); millidegrees.has_value()) {
      return *millidegrees / 1000;
    }
  }
  return std::nullopt;
}

// Power of the rail whose label names the GPU.
std::optional<double> JetsonPower(const std::string& sysfs) {
  for (const PowerRail& rail : FindPowerRails(sysfs)) {
    if (absl::StrContains(rail.label, "GPU")) return rail.Watts();
  }
  return std::nullopt;
}

}  // namespace

// The part of NVML's stable C interface that is used here. Its types are members: GCC 13 does not compile a unity file
// where pointers to functions of types without linkage are members of a class that has it.
struct GpuSensors::Nvml {
  using Device = void*;
  struct Utilization {
    unsigned gpu, memory;  // percent
  };
  struct Memory {
    uint64_t total, free, used;  // bytes
  };
  static constexpr int kSuccess = 0;
  static constexpr int kTemperatureGpu = 0;

  explicit Nvml(const std::string& path) : library(path) {}
  ~Nvml() {
    if (initialized) shutdown();
  }

  bool Open() {
    if (!library.Find("nvmlInit_v2", &init) || !library.Find("nvmlShutdown", &shutdown) ||
        !library.Find("nvmlDeviceGetHandleByPciBusId_v2", &by_bus_id) ||
        !library.Find("nvmlDeviceGetUtilizationRates", &utilization) ||
        !library.Find("nvmlDeviceGetMemoryInfo", &memory) || !library.Find("nvmlDeviceGetTemperature", &temperature) ||
        !library.Find("nvmlDeviceGetPowerUsage", &power)) {
      return false;
    }
    initialized = init() == kSuccess;
    return initialized;
  }

  void Read(const std::string& bus_id, GpuReading* reading) const {
    Device device = nullptr;
    if (by_bus_id(bus_id.c_str(), &device) != kSuccess) return;
    Utilization rates{};
    if (utilization(device, &rates) == kSuccess) reading->utilization = rates.gpu / 100.0;
    Memory bytes{};
    if (memory(device, &bytes) == kSuccess) {
      reading->memory_used = static_cast<double>(bytes.used);
      reading->memory_total = static_cast<double>(bytes.total);
    }
    unsigned degrees = 0;
    if (temperature(device, kTemperatureGpu, &degrees) == kSuccess) reading->temperature = degrees;
    unsigned milliwatts = 0;
    if (power(device, &milliwatts) == kSuccess) reading->power = milliwatts / 1000.0;
  }

  const SharedLibrary library;
  bool initialized = false;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*by_bus_id)(const char*, Device*) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;
};

GpuSensors::GpuSensors(const std::vector<LaneSet::Gpu>& gpus, const Paths& paths) : gpus_(gpus), sysfs_(paths.sysfs) {
  if (gpus_.empty()) return;
  auto nvml = std::make_unique<Nvml>(paths.nvml);
  if (nvml->Open()) nvml_ = std::move(nvml);
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

std::vector<prometheus::MetricFamily> ToMetrics(const std::vector<EnergyReading>& readings) {
  if (readings.empty()) return {};
  prometheus::MetricFamily family;
  family.name = metric::kEnergy.name;
  family.help = metric::kEnergy.help;
  family.type = prometheus::MetricType::Counter;
  for (const EnergyReading& reading : readings) {
    prometheus::ClientMetric metric;
    metric.label.push_back({"source", reading.source});
    metric.counter.value = reading.joules;
    family.metric.push_back(std::move(metric));
  }
  return {std::move(family)};
}

}  // namespace glint
