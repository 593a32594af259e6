// `glint-microbench detector`: one detector on one picture, beside its floors and its peer.
#ifndef GLINT_BENCH_DETECTOR_BENCH_H_
#define GLINT_BENCH_DETECTOR_BENCH_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/statistics.h"
#include "bench/subject.h"
#include "features/options.h"
#include "features/types.h"

namespace glint::bench {

struct DetectorBenchOptions {
  std::string picture;  // as LoadPicture takes it
  std::string preset;   // for the report; `detector` is what runs
  DetectorOptions detector;
  SubjectOptions subject;
  int repeat = 100;          // rounds
  bool opencv_peer = false;  // beside MakeOpenCvPeer()
};

struct PeerReport {
  std::string name;
  Summary us;
  size_t keypoints = 0;
  double ratio = 0;      // of medians, peer / glint
  double ratio_p10 = 0;  // of tenth percentiles: less of the machine's noise
  // Whether the peer found the same set of octave, response and position; nothing if its algorithm is another.
  std::optional<bool> same_keypoints;
};

struct DetectorReport {
  DetectorBenchOptions options;
  Shape shape;
  std::string device;
  Summary us;
  int samples = 0;
  size_t keypoints = 0;
  int launches = 0;
  std::vector<NamedTime> stages;
  std::vector<NamedTime> floors;
  std::vector<PeerReport> peers;
};

// INVALID_ARGUMENT for options that contradict each other, otherwise the errors of LoadPicture, MakeSubject and
// MakeOpenCvPeer.
absl::StatusOr<DetectorReport> BenchDetector(const DetectorBenchOptions& options);

std::string ToJson(const DetectorReport& report, const std::string& command);
std::string ToTable(const DetectorReport& report);

}  // namespace glint::bench

#endif  // GLINT_BENCH_DETECTOR_BENCH_H_
