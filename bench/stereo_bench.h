// `glint-microbench stereo`: a rectified pair from pixels to matches. Both images are detected and described, then
// matched and refined, with the default options of stereo services.
#ifndef GLINT_BENCH_STEREO_BENCH_H_
#define GLINT_BENCH_STEREO_BENCH_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/statistics.h"
#include "bench/subject.h"
#include "features/options.h"
#include "features/stereo.h"

namespace glint::bench {

struct StereoBenchOptions {
  std::string picture;  // left
  std::string right;
  std::string preset;
  DetectorOptions detector;
  StereoOptions stereo;
  SubjectOptions subject;  // threads share a pair; not device_resident
  int repeat = 100;
};

struct StereoReport {
  StereoBenchOptions options;
  Shape shape;
  std::string device;
  Summary us;            // the whole pair
  double detect_us = 0;  // medians: detection in both images, and the rest
  double match_us = 0;
  size_t keypoints[2] = {0, 0};
  int matches = 0;
  StereoChecks checks;
  bool same_as_cpu = false;  // CUDA: keypoints, descriptors and matches are those of the CPU backend
};

// INVALID_ARGUMENT for options out of range, FAILED_PRECONDITION for a device that is not there; errors of LoadPicture.
absl::StatusOr<StereoReport> BenchStereo(const StereoBenchOptions& options);

std::string ToJson(const StereoReport& report, const std::string& command);
std::string ToTable(const StereoReport& report);

}  // namespace glint::bench

#endif  // GLINT_BENCH_STEREO_BENCH_H_
