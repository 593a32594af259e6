// `glint-microbench energy`: joules for each frame of a detector, one frame after the other or at a camera's pace.
#ifndef GLINT_BENCH_ENERGY_BENCH_H_
#define GLINT_BENCH_ENERGY_BENCH_H_

#include <string>

#include "absl/status/statusor.h"
#include "bench/energy_report.h"
#include "bench/statistics.h"
#include "bench/subject.h"
#include "features/options.h"
#include "features/types.h"

namespace glint::bench {

inline constexpr double kMaxEnergyRate = 1e5;  // frames/s
inline constexpr double kMinEnergySeconds = 0.1;
inline constexpr double kMaxEnergySeconds = 3600;

struct EnergyBenchOptions {
  std::string picture;
  std::string preset;
  DetectorOptions detector;
  SubjectOptions subject;
  double rate = 0;     // frames/s, 0..kMaxEnergyRate; 0: the next one at once
  double seconds = 5;  // kMinEnergySeconds..kMaxEnergySeconds
  absl::Duration idle = absl::Seconds(2);
  EnergyMeterOptions meter;
};

struct EnergyBenchReport {
  EnergyBenchOptions options;
  Shape shape;
  std::string device;
  Summary us;  // of a frame
  double frames_per_second = 0;
  EnergyReport energy;
};

// INVALID_ARGUMENT for options out of range, otherwise the errors of LoadPicture and MakeSubject.
absl::StatusOr<EnergyBenchReport> BenchEnergy(const EnergyBenchOptions& options);

std::string ToJson(const EnergyBenchReport& report, const std::string& command);
std::string ToTable(const EnergyBenchReport& report);

}  // namespace glint::bench

#endif  // GLINT_BENCH_ENERGY_BENCH_H_
