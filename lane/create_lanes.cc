#include <algorithm>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cpu/pipeline.h"
#include "cuda/pipeline.h"
#include "cuda/runtime/host_region.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "features/system_limits.h"
#include "features/thread.h"
#include "lane/cpu_lane.h"
#include "lane/cuda_lane.h"
#include "lane/lane.h"

namespace glint {
namespace {

// Lanes per device: a lane's thread copies pixels that arrived by a socket, which takes longer than the device does.
constexpr int kFewestCudaLanes = 2;
constexpr int kMostCudaLanes = 8;  // more lanes compete for the bus

int UsableProcessorCount() { return FindUsableProcessors().count; }

std::string ProcessorName() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (!absl::StartsWith(line, "model name")) continue;
    const size_t colon = line.find(':');
    if (colon != std::string::npos) return std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
#if defined(__aarch64__)
  return "AArch64 processor";  // Linux names no model there
#else
  return "unnamed processor";
#endif
}

cuda::Wait ToCudaWait(GpuWait wait) {
  switch (wait) {
    case GpuWait::kAdaptive:
      return cuda::Wait::kAdaptive;
    case GpuWait::kSpin:
      return cuda::Wait::kSpin;
    case GpuWait::kYield:
      return cuda::Wait::kYield;
    case GpuWait::kBlock:
      break;
  }
  return cuda::Wait::kBlock;
}

absl::StatusOr<LaneSet> CreateCpuLanes(const LaneOptions& options) {
  LaneSet set;
  set.backend = Backend::kCpu;
  set.device = ProcessorName();
  const int lanes = options.lanes > 0 ? options.lanes : std::max(1, UsableProcessorCount() / options.threads_per_lane);
  for (int i = 0; i < lanes; ++i) set.lanes.push_back(MakeCpuLane(options.threads_per_lane));
  return set;
}

// Devices to use: the named ones, all of which must work, or all that work.
absl::StatusOr<std::vector<int>> CudaDevices(const LaneOptions& options, std::string* note) {
  if (!options.devices.empty()) {
    for (const int ordinal : options.devices) {
      GLINT_RETURN_IF_ERROR(cuda::ProbeDevice(ordinal));
    }
    return options.devices;
  }
  const int count = cuda::DeviceCount();
  absl::Status why = count == 0 ? cuda::ProbeDevice(0) : absl::OkStatus();
  std::vector<int> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    if (absl::Status probe = cuda::ProbeDevice(ordinal); probe.ok()) {
      devices.push_back(ordinal);
    } else {
      absl::StrAppend(note, note->empty() ? "" : "; ", "without device ", ordinal, ": ", probe.message());
      why = std::move(probe);
    }
  }
  if (devices.empty()) return why;
  return devices;
}

MemoryPinning PinningBy(int ordinal) {
  return {[ordinal](absl::Span<const uint8_t> m) { return cuda::LockHostRegion(ordinal, m.data(), m.size()); },
          [ordinal](absl::Span<const uint8_t> m) { return cuda::UnlockHostRegion(ordinal, m.data()); }};
}

absl::StatusOr<LaneSet> CreateCudaLanes(const LaneOptions& options, const std::vector<int>& devices) {
  cuda::PipelineOptions pipeline_options;
  pipeline_options.wait = ToCudaWait(options.gpu_wait);
  pipeline_options.max_image_pixels = options.max_image_pixels;
  pipeline_options.sm_limit = options.sm_limit;
  LaneSet set;
  set.backend = Backend::kCuda;
  for (const int ordinal : devices) {
    absl::StrAppend(&set.device, set.device.empty() ? "" : ", ", cuda::DeviceDescription(ordinal));
    set.gpus.push_back({absl::StrCat("cuda:", ordinal), cuda::DevicePciBusId(ordinal)});
    // Pinning by one device holds for all devices.
    if (set.pinning.pin == nullptr && cuda::CopiesFromHostRegions(ordinal)) set.pinning = PinningBy(ordinal);
  }
  if (options.gpu_wait == GpuWait::kAdaptive) {
    const bool all_copy = std::all_of(devices.begin(), devices.end(), cuda::CopiesFromHostRegions);
    pipeline_options.spinning = SpinningThreads(UsableProcessorCount(), /*integrated=*/!all_copy);
    set.max_spinning = pipeline_options.spinning / 2;
  }
  const int lanes =
      options.lanes > 0 ? options.lanes : std::clamp(UsableProcessorCount() / 2, kFewestCudaLanes, kMostCudaLanes);
  for (int i = 0; i < lanes; ++i) {
    for (const int ordinal : devices) {
      pipeline_options.device = ordinal;
      GLINT_ASSIGN_OR_RETURN(auto pipeline, cuda::Pipeline::Create(pipeline_options));
      set.lanes.push_back(MakeCudaLane(std::move(pipeline), pipeline_options, options.jpeg != JpegDecoding::kCpu));
    }
  }
  return set;
}

// On `devices`, or on the CPU if there are none.
absl::StatusOr<LaneSet> CreateLanesOn(const std::vector<int>& devices, const LaneOptions& options) {
  try {
    return devices.empty() ? CreateCpuLanes(options) : CreateCudaLanes(options, devices);
  } catch (const std::system_error&) {
    return ThreadError("lanes");
  }
}

}  // namespace

absl::StatusOr<LaneSet> CreateLanes(const LaneOptions& options) {
  if (options.lanes < 0 || options.lanes > kMaxLanes) return OutOfRangeError("lanes", options.lanes, 0, kMaxLanes);
  if (options.threads_per_lane < 1 || options.threads_per_lane > kMaxThreadsPerLane) {
    return OutOfRangeError("threads_per_lane", options.threads_per_lane, 1, kMaxThreadsPerLane);
  }
  // The CPU's SIMD level matters for CUDA lanes, too: it decodes.
  GLINT_RETURN_IF_ERROR(cpu::ValidateSimdTarget());

  std::string note;
  std::vector<int> devices;
  if (options.backend != Backend::kCpu) {
    auto found = CudaDevices(options, &note);
    if (found.ok()) {
      devices = *std::move(found);
    } else if (options.backend == Backend::kCuda) {
      return found.status();
    } else {
      note = std::string(found.status().message());
    }
  }
  if (options.jpeg == JpegDecoding::kGpu && devices.empty()) {
    return ContradictionError(
        "jpeg", absl::StrCat("gpu needs lanes on CUDA, and these are on the CPU", note.empty() ? "" : ": ", note));
  }
  absl::StatusOr<LaneSet> set = CreateLanesOn(devices, options);
  if (!set.ok()) return set;
  set->simd = cpu::SimdTarget();
  set->note = std::move(note);
  return set;
}

}  // namespace glint
