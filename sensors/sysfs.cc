#include "sensors/sysfs.h"

#include <dirent.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace glint {
namespace {

constexpr int kRailsOfMonitor = 3;

}  // namespace

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

std::vector<std::string> ListFolder(const std::string& folder, const std::string& prefix) {
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

std::optional<double> PowerRail::Watts() const {
  const auto millivolts = ReadNumber(voltage_path);
  const auto milliamperes = ReadNumber(current_path);
  if (!millivolts.has_value() || !milliamperes.has_value()) return std::nullopt;
  return *millivolts * *milliamperes * 1e-6;
}

std::vector<PowerRail> FindPowerRails(const std::string& sysfs) {
  std::vector<PowerRail> rails;
  const std::string folder = sysfs + "/class/hwmon/";
  for (const std::string& monitor : ListFolder(folder, "hwmon")) {
    const std::string base = folder + monitor + "/";
    if (ReadLine(base + "name") != "ina3221") continue;
    for (int channel = 1; channel <= kRailsOfMonitor; ++channel) {
      auto label = ReadLine(absl::StrCat(base, "in", channel, "_label"));
      if (!label.has_value()) continue;
      PowerRail rail = {*std::move(label), absl::StrCat(base, "in", channel, "_input"),
                        absl::StrCat(base, "curr", channel, "_input")};
      if (rail.Watts().has_value()) rails.push_back(std::move(rail));
    }
  }
  return rails;
}

}  // namespace glint
