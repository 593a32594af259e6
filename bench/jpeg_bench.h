// `glint-microbench jpeg`: JPEG files to luma, and to features, by libjpeg-turbo and by the GPU in one run.
#ifndef GLINT_BENCH_JPEG_BENCH_H_
#define GLINT_BENCH_JPEG_BENCH_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/jpeg_input.h"
#include "bench/statistics.h"
#include "bench/subject.h"
#include "features/options.h"
#include "features/types.h"

namespace glint::bench {

struct JpegBenchOptions {
  JpegInputOptions input;
  std::string preset;
  DetectorOptions detector;
  SubjectOptions subject;  // not device_resident, not pageable
  int repeat = 100;
};

// Times of the GPU's decoder; microseconds.
struct GpuJpegReport {
  Summary file_us;    // a file in host memory to luma on the device, headers read
  Summary device_us;  // GPU time from the file on the device to luma there
  std::vector<NamedTime> stages;
  Summary frame_us;  // a file to features in host memory
  bool same_luma = false;
  bool same_features = false;
};

struct JpegFileReport {
  std::string source;
  int quality = 0;  // 0: a file as it is
  size_t bytes = 0;
  Shape shape;
  std::string sampling;  // "4:2:0"; empty: not a file for the GPU
  int restart_intervals = 0;
  std::string gpu_refusal;  // why the GPU does not decode the file; empty: it does
  Summary header_us;        // libjpeg-turbo reads the header, as a server does for every file
  Summary plan_us;          // the GPU's decoder plans the file, on the host
  Summary cpu_decode_us;    // libjpeg-turbo, header included; SubjectOptions::threads share restart intervals
  Summary cpu_frame_us;     // that, and the detector of the backend
  size_t keypoints = 0;
  bool on_gpu = false;  // `gpu` was measured
  GpuJpegReport gpu;
};

struct JpegReport {
  JpegBenchOptions options;
  std::string device;
  std::string processor;
  std::vector<JpegFileReport> files;
};

// INVALID_ARGUMENT for options out of range, FAILED_PRECONDITION for a device that is not there; errors of
// MakeJpegInputs() and of the decoder.
absl::StatusOr<JpegReport> BenchJpeg(const JpegBenchOptions& options);

std::string ToJson(const JpegReport& report, const std::string& command);
std::string ToTable(const JpegReport& report);

}  // namespace glint::bench

#endif  // GLINT_BENCH_JPEG_BENCH_H_
