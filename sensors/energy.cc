#include "sensors/energy.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sensors/shared_library.h"
#include "sensors/sysfs.h"

namespace glint {
namespace {

constexpr int kNvmlSuccess = 0;

// Why a file cannot be read.
std::string ReasonOf(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return absl::StrCat(path, ": ", std::strerror(errno));
  close(file);
  return absl::StrCat(path, ": not a number");
}

}  // namespace

// One counter. Thread-safe.
class EnergyMeter::Source {
 public:
  explicit Source(std::string name) : name_(std::move(name)) {}
  virtual ~Source() = default;
  const std::string& name() const { return name_; }
  // Joules since the counter was created.
  virtual std::optional<double> Joules() = 0;

 private:
  const std::string name_;
};

class EnergyMeter::Nvml {
 public:
  explicit Nvml(const std::string& path) : library_(path) {}
  ~Nvml() {
    if (initialized_) shutdown_();
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // Empty, or why it cannot be used.
  std::string Open() {
    if (!library_.loaded()) return "the library is not there";
    if (!library_.Find("nvmlInit_v2", &init_) || !library_.Find("nvmlShutdown", &shutdown_) ||
        !library_.Find("nvmlDeviceGetCount_v2", &get_count_) ||
        !library_.Find("nvmlDeviceGetHandleByIndex_v2", &by_index_) ||
        !library_.Find("nvmlDeviceGetHandleByPciBusId_v2", &by_bus_id_) ||
        !library_.Find("nvmlDeviceGetTotalEnergyConsumption", &get_energy_)) {
      return "the library is too old to have energy counters";
    }
    const int error = init_();
    initialized_ = error == kNvmlSuccess;
    return initialized_ ? "" : absl::StrCat("nvmlInit_v2: error ", error);
  }

  unsigned count() const {
    unsigned gpus = 0;
    return get_count_(&gpus) == kNvmlSuccess ? gpus : 0;
  }
  // Null if there is none.
  void* ByIndex(unsigned index) const {
    void* device = nullptr;
    return by_index_(index, &device) == kNvmlSuccess ? device : nullptr;
  }
  void* ByBusId(const std::string& id) const {
    void* device = nullptr;
    return by_bus_id_(id.c_str(), &device) == kNvmlSuccess ? device : nullptr;
  }
  // NVML's error code.
  int Read(void* device, uint64_t* millijoules) const {
    unsigned long long value = 0;
    const int error = get_energy_(device, &value);
    *millijoules = value;
    return error;
  }

 private:
  const SharedLibrary library_;
  bool initialized_ = false;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*get_count_)(unsigned*) = nullptr;
  int (*by_index_)(unsigned, void**) = nullptr;
  int (*by_bus_id_)(const char*, void**) = nullptr;
  int (*get_energy_)(void*, unsigned long long*) = nullptr;
};

class EnergyMeter::NvmlGpu final : public Source {
 public:
  NvmlGpu(std::string name, const Nvml* nvml, void* device, uint64_t first)
      : Source(std::move(name)), nvml_(nvml), device_(device), first_(first) {}
  std::optional<double> Joules() override {
    uint64_t now = 0;
    if (nvml_->Read(device_, &now) != kNvmlSuccess || now < first_) return std::nullopt;
    return static_cast<double>(now - first_) * 1e-3;
  }

 private:
  const Nvml* const nvml_;
  void* const device_;
  const uint64_t first_;  // millijoules
};

class EnergyMeter::RaplZone final : public Source {
 public:
  // Counts from `first` microjoules; after `range` comes 0.
  RaplZone(std::string name, std::string path, double first, double range)
      : Source(std::move(name)), path_(std::move(path)), range_(range), last_(first) {}
  std::optional<double> Joules() override {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto now = ReadNumber(path_);
    if (!now.has_value()) return std::nullopt;
    total_ += *now >= last_ ? *now - last_ : *now + range_ - last_;
    last_ = *now;
    return total_ * 1e-6;
  }

 private:
  const std::string path_;
  const double range_;
  std::mutex mutex_;
  double last_;
  double total_ = 0;
};

// All rails of the board; a thread integrates their power.
class EnergyMeter::Rails {
 public:
  Rails(std::vector<PowerRail> rails, absl::Duration period) : period_(absl::ToChronoNanoseconds(period)) {
    for (PowerRail& rail : rails) {
      const double watts = rail.Watts().value_or(0);
      rails_.push_back({std::move(rail), watts, 0});
    }
    thread_ = std::thread(&Rails::Main, this);
  }
  ~Rails() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  Rails(const Rails&) = delete;
  Rails& operator=(const Rails&) = delete;

  void AppendTo(std::vector<EnergyReading>* readings) {
    std::lock_guard<std::mutex> lock(mutex_);
    Sample();
    for (const Counted& rail : rails_) readings->push_back({"ina3221:" + rail.rail.label, rail.joules});
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Counted {
    PowerRail rail;
    double watts;  // at the last sample
    double joules;
  };

  // Trapezoidal rule. A rail that cannot be read once keeps its power.
  void Sample() {
    const Clock::time_point now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - sampled_at_).count();
    sampled_at_ = now;
    for (Counted& rail : rails_) {
      const double watts = rail.rail.Watts().value_or(rail.watts);
      rail.joules += (rail.watts + watts) / 2 * seconds;
      rail.watts = watts;
    }
  }
  void Main() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!wake_.wait_for(lock, period_, [this] { return stop_; })) Sample();
  }

  const std::chrono::nanoseconds period_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::vector<Counted> rails_;
  Clock::time_point sampled_at_ = Clock::now();
  std::thread thread_;
};

EnergyMeter::EnergyMeter(const EnergyMeterOptions& options) {
  AddGpus(options);
  AddZones(options.sysfs);
  std::vector<PowerRail> rails = FindPowerRails(options.sysfs);
  if (rails.empty()) {
    gaps_.push_back({"ina3221", absl::StrCat("no rails in ", options.sysfs, "/class/hwmon")});
  } else {
    rails_ = std::make_unique<Rails>(std::move(rails), options.rail_period);
  }
}

EnergyMeter::~EnergyMeter() = default;

void EnergyMeter::AddGpus(const EnergyMeterOptions& options) {
  if (options.gpus.has_value() && options.gpus->empty()) return;
  nvml_ = std::make_unique<Nvml>(options.nvml);
  if (std::string why = nvml_->Open(); !why.empty()) {
    gaps_.push_back({"nvml", absl::StrCat(options.nvml, ": ", why)});
    return;
  }
  if (options.gpus.has_value()) {
    for (const EnergyGpu& gpu : *options.gpus) AddGpu(gpu.name, nvml_->ByBusId(gpu.pci_bus_id));
    return;
  }
  const unsigned count = nvml_->count();
  if (count == 0) gaps_.push_back({"nvml", "no GPU"});
  for (unsigned i = 0; i < count; ++i) AddGpu(absl::StrCat("nvml:", i), nvml_->ByIndex(i));
}

void EnergyMeter::AddGpu(const std::string& name, void* device) {
  if (device == nullptr) {
    gaps_.push_back({name, "NVML does not know this GPU"});
    return;
  }
  uint64_t first = 0;
  if (const int error = nvml_->Read(device, &first); error != kNvmlSuccess) {
    gaps_.push_back({name, absl::StrCat("nvmlDeviceGetTotalEnergyConsumption: error ", error)});
    return;
  }
  sources_.push_back(std::make_unique<NvmlGpu>(name, nvml_.get(), device, first));
}

void EnergyMeter::AddZones(const std::string& sysfs) {
  const std::string folder = sysfs + "/class/powercap/";
  const std::vector<std::string> zones = ListFolder(folder, "intel-rapl:");  // AMD's, too
  if (zones.empty()) gaps_.push_back({"rapl", absl::StrCat("no zones in ", folder)});
  for (const std::string& zone : zones) {
    const std::string base = folder + zone + "/";
    std::string name = absl::StrCat("rapl:", ReadLine(base + "name").value_or(zone));
    // intel-rapl:0:1 is in intel-rapl:0.
    if (const size_t end = zone.rfind(':'); end != zone.find(':')) {
      name = absl::StrCat("rapl:", ReadLine(folder + zone.substr(0, end) + "/name").value_or(zone.substr(0, end)), "/",
                          ReadLine(base + "name").value_or(zone));
    }
    const auto first = ReadNumber(base + "energy_uj");
    const auto range = ReadNumber(base + "max_energy_range_uj");
    if (!first.has_value() || !range.has_value()) {
      gaps_.push_back({name, ReasonOf(base + (first.has_value() ? "max_energy_range_uj" : "energy_uj"))});
      continue;
    }
    sources_.push_back(std::make_unique<RaplZone>(name, base + "energy_uj", *first, *range));
  }
}

std::vector<EnergyReading> EnergyMeter::Read() {
  std::vector<EnergyReading> readings;
  for (const auto& source : sources_) {
    if (const auto joules = source->Joules(); joules.has_value()) readings.push_back({source->name(), *joules});
  }
  if (rails_ != nullptr) rails_->AppendTo(&readings);
  return readings;
}

}  // namespace glint
