// The report of glint bench: a table, or one JSON object on a line. docs/bench.md describes both.
#ifndef GLINT_CLIENT_LOAD_REPORT_H_
#define GLINT_CLIENT_LOAD_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/energy_report.h"
#include "client/load/load.h"
#include "client/result.h"
#include "features/options.h"

namespace glint::load {

// All rounds of one side of the comparison.
struct Side {
  std::string address;
  Measurement measured;
  double seconds = 0;
  double cpu_seconds = 0;
  std::vector<int64_t> round_p50_ns;   // of latency
  std::vector<int64_t> round_lane_ns;  // p50 of the lane's part

  void Add(const RunResult& result);
  double frames_per_s() const { return seconds > 0 ? static_cast<double>(measured.answered()) / seconds : 0; }
};

struct BenchReport {
  std::string version;  // of this tool
  std::string command;
  client::ServerInfo server_info;
  DetectorOptions detector;
  Task task = Task::kDetect;
  std::string picture;        // in words
  std::string format;         // as --pixel-format names it; empty for descriptors
  int width = 0, height = 0;  // of the first picture; 0 if it was sent as a file
  int pictures = 1;           // frames or pairs
  double frame_bytes = 0;     // of one message, on average
  int streams = 1;
  RunOptions run;
  Side server;
  Side echo;                                  // without rounds if there was none
  std::optional<bench::EnergyReport> energy;  // of the server's rounds, without warm-ups

  bool has_echo() const { return !echo.round_p50_ns.empty(); }
};

// The server's percentile over the sum of the echo's and of the lane's part: what Glint adds to gRPC and the detector
// is what is above 1. 0 without an echo.
double Ratio(const BenchReport& report, double share);
// Ratio of the medians of each round.
std::vector<double> RoundRatios(const BenchReport& report);

// Reasons to doubt the figures.
std::vector<std::string> Warnings(const BenchReport& report);

std::string ReportText(const BenchReport& report);
std::string ReportJson(const BenchReport& report);

}  // namespace glint::load

#endif  // GLINT_CLIENT_LOAD_REPORT_H_
