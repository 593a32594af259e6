#include "bench/machine.h"

#include <fstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace glint::bench {

std::string Processor() {
  std::string name = "unnamed processor";  // Linux reports none on AArch64
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const size_t colon = line.find(": ");
    if (absl::StartsWith(line, "model name") && colon != std::string::npos) {
      name = line.substr(colon + 2);
      break;
    }
  }
  return absl::StrCat(name, ", ", std::thread::hardware_concurrency(), " threads");
}

void BeginReport(const std::string& command, JsonWriter* json) {
  json->BeginObject();
  json->Key("command").String(command).Key("commit").String(GLINT_COMMIT);
}

}  // namespace glint::bench
