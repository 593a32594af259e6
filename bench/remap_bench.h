// `glint-microbench remap`: rectification on CUDA. Its kernel alone, and raw pairs of rendered pictures from pixels to
// matches: rectified on the device, by the host, and beforehand. Registration of depth: its kernels alone, and from
// samples to registered ones, by the device and by the host.
#ifndef GLINT_BENCH_REMAP_BENCH_H_
#define GLINT_BENCH_REMAP_BENCH_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/statistics.h"
#include "bench/subject.h"
#include "features/options.h"
#include "features/types.h"

namespace glint::bench {

struct RemapBenchOptions {
  std::string preset;
  DetectorOptions detector;
  SubjectOptions subject;  // CUDA; not device_resident
  std::string size;        // WIDTHxHEIGHT; empty: 640x480, 752x480, 1920x1080
  int repeat = 100;
};

// Of one size of image, which raw and rectified ones have alike. Microseconds.
struct RemapSizeReport {
  Shape shape;
  Summary kernel_us;                            // of one launch, between events
  Summary empty_us;                             // as kernel_us, of a kernel that does nothing
  Summary in_row_us;                            // of one of many launches, one after the other
  bool same_pixels = false;                     // as the reference
  Summary on_device_us, by_host_us, before_us;  // a pair, wall clock, with each way of rectification
  int matches = 0;
  bool same_pair = false;  // all three give the same features and matches

  // Of depths of the same size from a sensor beside the camera, as of the above; wall clock is of one image.
  Summary depth_kernels_us, depth_in_row_us, depth_on_device_us, depth_by_host_us;
  int64_t depths = 0;        // pixels that have one
  bool same_depths = false;  // device and host give the same bytes
};

struct RemapReport {
  RemapBenchOptions options;
  std::string device;
  std::vector<RemapSizeReport> sizes;
};

// INVALID_ARGUMENT for options out of range, FAILED_PRECONDITION for a device that is not there.
absl::StatusOr<RemapReport> BenchRemap(const RemapBenchOptions& options);

std::string ToJson(const RemapReport& report, const std::string& command);
std::string ToTable(const RemapReport& report);

}  // namespace glint::bench

#endif  // GLINT_BENCH_REMAP_BENCH_H_
