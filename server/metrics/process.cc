#include "server/metrics/process.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "server/base/names.h"

namespace glint {
namespace {

void Add(const metric::Name& name, prometheus::MetricType type, double value,
         std::vector<prometheus::MetricFamily>* families) {
  prometheus::MetricFamily family;
  family.name = name.name;
  family.help = name.help;
  family.type = type;
  prometheus::ClientMetric metric;
  (type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  family.metric.push_back(metric);
  families->push_back(std::move(family));
}

std::string ReadAll(const char* path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Unix time at which the machine started.
double BootTime() {
  for (const absl::string_view line : absl::StrSplit(ReadAll("/proc/stat"), '\n')) {
    double seconds = 0;
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words.size() == 2 && words[0] == "btime" && absl::SimpleAtod(words[1], &seconds)) return seconds;
  }
  return 0;
}

int OpenDescriptors() {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return -1;
  int count = 0;
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count - 3;  // ".", "..", and the one that counts
}

// Fields of /proc/self/stat after the command, which may hold spaces: element 0 is the state, field 3 of proc(5).
std::vector<std::string> StatFields() {
  const std::string stat = ReadAll("/proc/self/stat");
  const size_t end = stat.rfind(')');
  if (end == std::string::npos || end + 2 > stat.size()) return {};
  return absl::StrSplit(stat.substr(end + 2), ' ');
}

}  // namespace

std::vector<prometheus::MetricFamily> CollectProcessMetrics() {
  using prometheus::MetricType;
  std::vector<prometheus::MetricFamily> families;
  // Numbers of proc(5) minus 3: utime 14, stime 15, num_threads 20, starttime 22, vsize 23, rss 24.
  const std::vector<std::string> fields = StatFields();
  if (fields.size() > 21) {
    const auto number = [&fields](size_t field) {
      double value = 0;
      return absl::SimpleAtod(fields[field - 3], &value) ? value : 0.0;
    };
    const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    Add(metric::kProcessCpu, MetricType::Counter, (number(14) + number(15)) / ticks, &families);
    Add(metric::kProcessThreads, MetricType::Gauge, number(20), &families);
    if (const double boot = BootTime(); boot > 0) {
      Add(metric::kProcessStart, MetricType::Gauge, boot + number(22) / ticks, &families);
    }
    Add(metric::kProcessVirtual, MetricType::Gauge, number(23), &families);
    Add(metric::kProcessResident, MetricType::Gauge, number(24) * static_cast<double>(sysconf(_SC_PAGESIZE)),
        &families);
  }
  if (const int open = OpenDescriptors(); open >= 0) Add(metric::kProcessOpenFds, MetricType::Gauge, open, &families);
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    Add(metric::kProcessMaxFds, MetricType::Gauge, static_cast<double>(limit.rlim_cur), &families);
  }
  return families;
}

}  // namespace glint
