// Glint's side of a benchmark: the pipeline of one backend with one image, prepared for repeated runs.
#ifndef GLINT_BENCH_SUBJECT_H_
#define GLINT_BENCH_SUBJECT_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/rounds.h"
#include "features/options.h"
#include "features/types.h"

namespace glint::bench {

enum class Device { kCpu, kCuda };

struct SubjectOptions {
  Device device = Device::kCpu;
  int threads = 1;               // CPU: that share a frame
  Clock clock = Clock::kWall;    // kProcessor: CPU with one thread only
  int ordinal = 0;               // CUDA
  bool device_resident = false;  // CUDA: GPU time of a frame that is on the device already; else host to host
  bool pageable = false;         // CUDA, host to host: the frame lies in ordinary memory, not in pinned
  int sm_limit = 0;              // CUDA: 0 = all
};

struct NamedTime {
  std::string name;
  double us;
};

// Thread-compatible.
class Subject {
 public:
  virtual ~Subject() = default;

  // The run to be timed; refers to this object.
  virtual Contestant contestant() = 0;

  // After runs: medians of the stages that the backend measures, the physical floors, and the number of keypoints.
  virtual std::vector<NamedTime> Stages() const = 0;
  virtual absl::StatusOr<std::vector<NamedTime>> Floors(int repeats) = 0;
  virtual size_t keypoints() const = 0;
  // Null if a run does not copy its features to the host.
  virtual const Features* features() const = 0;
  virtual int launches() const = 0;  // kernels a frame; 0 = not known

  virtual std::string device() const = 0;  // in words
};

// Checks the range of threads and that the device supports the options.
absl::Status ValidateSubject(const SubjectOptions& options);

// Whether two results are equal in every field and in their order.
bool SameFeatures(const Features& a, const Features& b);

// Both arguments must be valid; the subject keeps its own copy of `image`. FAILED_PRECONDITION without the device, in
// its backend's words.
absl::StatusOr<std::unique_ptr<Subject>> MakeSubject(const SubjectOptions& options, const DetectorOptions& detector,
                                                     const ImageView& image);

}  // namespace glint::bench

#endif  // GLINT_BENCH_SUBJECT_H_
