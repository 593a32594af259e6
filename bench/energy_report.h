// Joules for each frame of a measurement, from the counters of sensors/energy.h.
#ifndef GLINT_BENCH_ENERGY_REPORT_H_
#define GLINT_BENCH_ENERGY_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bench/json.h"
#include "sensors/energy.h"

namespace glint::bench {

struct EnergyRow {
  std::string source;
  double idle_watts = 0;  // before the frames, on average
  double watts = 0;       // while they were worked on, likewise
  double joules_per_frame = 0;
  double joules_per_frame_above_idle = 0;  // what the frame costs a machine that is on anyway; below 0 by noise
};

struct EnergyReport {
  double idle_seconds = 0;
  double seconds = 0;
  int64_t frames = 0;
  std::vector<EnergyRow> rows;  // sources that could be read all the time
  std::vector<EnergyGap> gaps;  // and those that could not, with the reason
};

// Collects the energy of some intervals with frames, and of one without. Thread-compatible.
class EnergyAccount {
 public:
  // `meter` must outlive the account.
  explicit EnergyAccount(EnergyMeter* meter) : meter_(meter) {}

  // Sleeps for `duration`, while nothing else happens. Once, first.
  void MeasureIdle(absl::Duration duration);
  // An interval with frames, from one to the other.
  void Begin();
  void End(int64_t frames);

  // After at least one interval.
  EnergyReport Report() const;

 private:
  struct Interval {
    double seconds = 0;
    std::vector<EnergyReading> joules;
  };
  void Open();
  Interval Close() const;

  EnergyMeter* const meter_;
  absl::Time opened_at_;
  std::vector<EnergyReading> opened_;
  Interval idle_;
  std::vector<Interval> busy_;
  int64_t frames_ = 0;
};

std::string EnergyTable(const EnergyReport& report);
// Writes the report as the value of a key.
void WriteEnergy(const EnergyReport& report, JsonWriter* json);

}  // namespace glint::bench

#endif  // GLINT_BENCH_ENERGY_REPORT_H_
