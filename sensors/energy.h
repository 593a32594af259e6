// Energy in joules, from every counter that this process may read:
//
// * GPUs: nvmlDeviceGetTotalEnergyConsumption() of NVML, millijoules (Volta and later; NVML API Reference). The driver
//   updates it about ten times a second.
// * Processors: RAPL zones in /sys/class/powercap, microjoules that wrap around (kernel: power/powercap/powercap.rst).
//   Often readable by root only, and rarely present in virtual machines.
// * Jetson: rails of INA3221 monitors (sysfs.h). These have no counter: a thread samples their power ten times a
// second.
//
// A source that cannot be read is a gap with a reason, never 0 J.
#ifndef GLINT_SENSORS_ENERGY_H_
#define GLINT_SENSORS_ENERGY_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace glint {

// Nested sources count the same energy twice: rapl:package-0/core is part of rapl:package-0, rails of a board's VDD_IN.
struct EnergyReading {
  // "nvml:0" or the name of an EnergyGpu, "rapl:package-0", "rapl:package-0/dram", "ina3221:VDD_IN".
  std::string source;
  double joules = 0;  // since the meter was made
};

struct EnergyGap {
  std::string source;
  std::string reason;
};

struct EnergyGpu {
  std::string name;
  std::string pci_bus_id;
};

struct EnergyMeterOptions {
  // nullopt: all of the machine, as nvml:INDEX. Empty: none, and NVML is not opened.
  std::optional<std::vector<EnergyGpu>> gpus;
  std::string nvml = "libnvidia-ml.so.1";  // for dlopen()
  std::string sysfs = "/sys";
  absl::Duration rail_period = absl::Milliseconds(100);  // between two readings of a Jetson's rails
};

// Thread-safe. RAPL's counters wrap after some minutes of full power (65 kJ and more), so read more often than that.
class EnergyMeter {
 public:
  explicit EnergyMeter(const EnergyMeterOptions& options);
  ~EnergyMeter();
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;

  // Readings of all sources that can be read now, in a stable order.
  std::vector<EnergyReading> Read();
  // Sources that could not be read when the meter was created.
  const std::vector<EnergyGap>& gaps() const { return gaps_; }

 private:
  class Source;
  class Nvml;
  class NvmlGpu;
  class RaplZone;
  class Rails;

  void AddGpus(const EnergyMeterOptions& options);
  void AddZones(const std::string& sysfs);
  void AddGpu(const std::string& name, void* device);

  std::unique_ptr<Nvml> nvml_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::unique_ptr<Rails> rails_;
  std::vector<EnergyGap> gaps_;
};

}  // namespace glint

#endif  // GLINT_SENSORS_ENERGY_H_
