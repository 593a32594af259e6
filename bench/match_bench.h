// `glint-microbench match`: brute-force matching of random descriptor sets of some sizes, on the CPU beside OpenCV's or
// on a GPU.
#ifndef GLINT_BENCH_MATCH_BENCH_H_
#define GLINT_BENCH_MATCH_BENCH_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/rounds.h"
#include "bench/statistics.h"
#include "bench/subject.h"

namespace glint::bench {

inline constexpr const char* kMatchConditions[] = {"angles", "octaves", "windows"};

struct MatchBenchOptions {
  std::vector<int> sizes = {2000};  // descriptors in each of the two sets; one measurement each
  int bytes = 32;                   // of a descriptor
  int k = 1;                        // matches of each query; 1: with cross check
  float ratio = 0;                  // as MatchOptions::ratio: more than 0 asks for the second best, too
  // Of kMatchConditions: angles within 30 degrees, octaves within one of eight, windows of `window_radius` pixels in an
  // image of 640x480.
  std::vector<std::string> conditions;
  float window_radius = 1000;  // 0..kMaxMatchCoordinate; the default: every window holds the image
  SubjectOptions subject;      // CUDA: host to host, or with the descriptors on the device
  int repeat = 100;
  bool opencv_peer = false;
};

struct MatchReport {
  int size = 0;
  Summary us;
  int matches = 0;    // queries that have one
  Summary peer_us;    // all 0 without a peer
  bool same = false;  // the peer's matches are Glint's: indices and distances
};

struct MatchesReport {
  MatchBenchOptions options;
  std::string device;
  std::string peer;  // empty without one
  std::vector<MatchReport> sizes;
};

// INVALID_ARGUMENT for options out of range, FAILED_PRECONDITION for a peer that is not there.
absl::StatusOr<MatchesReport> BenchMatch(const MatchBenchOptions& options);

std::string ToJson(const MatchesReport& report, const std::string& command);
std::string ToTable(const MatchesReport& report);

}  // namespace glint::bench

#endif  // GLINT_BENCH_MATCH_BENCH_H_
