// Small files of sysfs, and the power monitors of Jetson boards in it.
#ifndef GLINT_SENSORS_SYSFS_H_
#define GLINT_SENSORS_SYSFS_H_

#include <optional>
#include <string>
#include <vector>

namespace glint {

// The first line of a file without spaces around it; nothing if it cannot be read.
std::optional<std::string> ReadLine(const std::string& path);
// The number on that line; nothing if there is none.
std::optional<double> ReadNumber(const std::string& path);
// Names in a folder that begin with `prefix`, sorted; none if there is no such folder.
std::vector<std::string> ListFolder(const std::string& folder, const std::string& prefix);

// One channel of an INA3221, as NVIDIA's "Jetson Linux Developer Guide" describes it ("Power Consumption Monitoring"):
// inN_label, inN_input in millivolts, currN_input in milliamperes.
struct PowerRail {
  std::string label;  // "VDD_CPU_GPU_CV"
  std::string voltage_path, current_path;

  // Nothing if it cannot be read.
  std::optional<double> Watts() const;
};

// The labelled channels under `sysfs` ("/sys") that can be read now.
std::vector<PowerRail> FindPowerRails(const std::string& sysfs);

}  // namespace glint

#endif  // GLINT_SENSORS_SYSFS_H_
