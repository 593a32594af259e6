// GPU telemetry: utilization, memory, temperature, power. Read from NVML, the library of NVIDIA's driver, where it is
// installed; on Jetson, which has no NVML, from sysfs. Values that cannot be read are absent.
#ifndef GLINT_SERVER_METRICS_GPU_H_
#define GLINT_SERVER_METRICS_GPU_H_

#include <prometheus/metric_family.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lane/lane.h"
#include "sensors/energy.h"

namespace glint {

struct GpuReading {
  std::string device;                               // "cuda:0"
  std::optional<double> utilization;                // 0..1
  std::optional<double> memory_used, memory_total;  // bytes
  std::optional<double> temperature;                // degrees Celsius
  std::optional<double> power;                      // watts
};

// Thread-safe.
class GpuSensors {
 public:
  struct Paths {
    std::string nvml = "libnvidia-ml.so.1";  // for dlopen()
    std::string sysfs = "/sys";
  };

  // Sensors of the GPUs that lanes run on; without GPUs nothing is opened.
  explicit GpuSensors(const std::vector<LaneSet::Gpu>& gpus) : GpuSensors(gpus, Paths()) {}
  GpuSensors(const std::vector<LaneSet::Gpu>& gpus, const Paths& paths);
  ~GpuSensors();
  GpuSensors(const GpuSensors&) = delete;
  GpuSensors& operator=(const GpuSensors&) = delete;

  std::vector<GpuReading> Read() const;

 private:
  struct Nvml;
  const std::vector<LaneSet::Gpu> gpus_;
  const std::string sysfs_;
  std::unique_ptr<Nvml> nvml_;  // null: not there
};

// The families that have a value.
std::vector<prometheus::MetricFamily> ToMetrics(const std::vector<EnergyReading>& readings);
std::vector<prometheus::MetricFamily> ToMetrics(const std::vector<GpuReading>& readings);

}  // namespace glint

#endif  // GLINT_SERVER_METRICS_GPU_H_
