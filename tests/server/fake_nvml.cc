// A libnvidia-ml of two GPUs; of the second nothing but the temperature can be read. Each look at the first one's
// energy finds 250 mJ more.
#include <cstdint>
#include <cstring>

namespace {
int first = 0, second = 0;
unsigned long long millijoules = 1000;
constexpr int kOk = 0, kNotSupported = 3, kNotFound = 6;
}  // namespace

extern "C" {
int nvmlInit_v2() { return kOk; }
int nvmlShutdown() { return kOk; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  *device = std::strcmp(bus_id, "00000000:1B:00.0") == 0 ? &first : &second;
  return std::strncmp(bus_id, "00000000:", 9) == 0 ? kOk : kNotFound;
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned* gpu_and_memory) {
  if (device != &first) return kNotSupported;
  gpu_and_memory[0] = 37;
  gpu_and_memory[1] = 5;
  return kOk;
}
int nvmlDeviceGetMemoryInfo(void* device, uint64_t* total_free_used) {
  if (device != &first) return kNotSupported;
  total_free_used[0] = 1000;
  total_free_used[1] = 600;
  total_free_used[2] = 400;
  return kOk;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* degrees) {
  *degrees = 51;
  return kOk;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return kOk;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = index == 0 ? &first : &second;
  return kOk;
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* energy) {
  if (device != &first) return kNotSupported;
  *energy = millijoules += 250;
  return kOk;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  if (device != &first) return kNotSupported;
  *milliwatts = 123456;
  return kOk;
}
}
