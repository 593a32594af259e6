#include "bench/match_bench.h"

#include <cstdint>
#include <memory>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/json.h"
#include "bench/machine.h"
#include "bench/opencv_peer.h"
#include "cpu/match/matcher.h"
#include "cpu/pipeline.h"
#include "features/error.h"
#include "features/matcher.h"

namespace glint::bench {
namespace {

constexpr int kMaxThreads = 256;

// Every third train descriptor is a query with some bits flipped: a true match.
struct Sets {
  std::vector<uint8_t> query;
  std::vector<uint8_t> train;
};
Sets MakeSets(int size, int bytes) {
  std::mt19937 random(static_cast<uint32_t>(size));
  Sets sets;
  const size_t count = static_cast<size_t>(size) * static_cast<size_t>(bytes);
  for (size_t i = 0; i < count; ++i) sets.query.push_back(static_cast<uint8_t>(random() >> 24));
  for (size_t i = 0; i < count; ++i) {
    const bool is_match = i / static_cast<size_t>(bytes) % 3 == 0;
    const uint8_t noise = static_cast<uint8_t>(random() >> 24 & random() >> 24 & random() >> 24);
    sets.train.push_back(is_match ? sets.query[i] ^ noise : static_cast<uint8_t>(random() >> 24));
  }
  return sets;
}

absl::Status Validate(const MatchBenchOptions& o) {
  if (o.repeat < 1 || o.repeat > kMaxRepeat) return OutOfRangeError("repeat", o.repeat, 1, kMaxRepeat);
  if (o.threads < 1 || o.threads > kMaxThreads) return OutOfRangeError("threads", o.threads, 1, kMaxThreads);
  if (o.k < kMinMatchK || o.k > kMaxMatchK) return OutOfRangeError("k", o.k, kMinMatchK, kMaxMatchK);
  if (o.sizes.empty()) return ContradictionError("sizes", "no size was given");
  for (const int size : o.sizes) {
    if (size < 1 || size > kMaxMatchDescriptors) return OutOfRangeError("sizes", size, 1, kMaxMatchDescriptors);
  }
  if (o.bytes < kDescriptorUnit || o.bytes > kMaxDescriptorBytes) {
    return OutOfRangeError("bytes", o.bytes, kDescriptorUnit, kMaxDescriptorBytes);
  }
  if (o.bytes % kDescriptorUnit != 0) {
    return ContradictionError("bytes", absl::StrCat(o.bytes, " is not a multiple of ", kDescriptorUnit));
  }
  return cpu::ValidateSimdTarget();
}

double Ratio(const MatchReport& report) { return report.us.median > 0 ? report.peer_us.median / report.us.median : 0; }

double PicosecondsAPair(const MatchReport& report) { return 1e6 * report.us.median / report.size / report.size; }

}  // namespace

absl::StatusOr<MatchesReport> BenchMatch(const MatchBenchOptions& options) {
  if (absl::Status s = Validate(options); !s.ok()) return s;
  MatchesReport report;
  report.options = options;
  report.device = absl::StrCat(Processor(), ", ", cpu::SimdTarget());
  MatchOptions match;
  match.k = options.k;
  match.cross_check = options.k == 1;
  cpu::Matcher matcher(options.threads);
  for (const int size : options.sizes) {
    const Sets sets = MakeSets(size, options.bytes);
    const MatchInput input{{sets.query.data(), size, options.bytes}, {sets.train.data(), size, options.bytes}, {}, {}};
    MatchResult result;
    std::vector<Contestant> contestants = {Timed("glint", options.clock, [&] {
      matcher.Match(input, match, &result);
      return absl::OkStatus();
    })};
    std::unique_ptr<MatchPeer> peer;
    if (options.opencv_peer) {
      auto made = MakeOpenCvMatchPeer(input.query, input.train, match, options.threads);
      if (!made.ok()) return made.status();
      peer = *std::move(made);
      contestants.push_back(Timed(peer->name(), options.clock, [&] { return peer->Run(); }));
    }
    if (absl::Status s = RunRounds(options.repeat, &contestants); !s.ok()) return s;
    MatchReport one;
    one.size = size;
    one.us = Summarize(contestants[0].us);
    for (size_t q = 0; q < static_cast<size_t>(size); ++q) {
      one.matches += result.index[q * static_cast<size_t>(options.k)] != kNoMatch;
    }
    if (peer != nullptr) {
      report.peer = peer->name();
      one.peer_us = Summarize(contestants[1].us);
      const MatchResult theirs = peer->result();
      one.same = theirs.index == result.index && theirs.distance == result.distance;
    }
    report.sizes.push_back(one);
  }
  return report;
}

std::string ToJson(const MatchesReport& report, const std::string& command) {
  const MatchBenchOptions& o = report.options;
  JsonWriter json;
  json.BeginObject();
  json.Key("command").String(command);
  json.Key("commit").String(Commit());
  json.Key("device").String(report.device);
  json.Key("opencv").String(OpenCvVersion());
  json.Key("clock").String(ClockName(o.clock));
  json.Key("bytes").Int(o.bytes);
  json.Key("k").Int(o.k);
  json.Key("cross_check").Bool(o.k == 1);
  json.Key("threads").Int(o.threads);
  json.Key("rounds").Int(o.repeat);
  if (!report.peer.empty()) json.Key("peer").String(report.peer);
  json.Key("sizes").BeginArray();
  for (const MatchReport& one : report.sizes) {
    json.BeginObject().Key("size").Int(one.size).Key("time_us");
    WriteSummary(one.us, &json);
    json.Key("ps_per_pair").Number(PicosecondsAPair(one));
    json.Key("matches").Int(one.matches);
    if (!report.peer.empty()) {
      json.Key("peer_time_us");
      WriteSummary(one.peer_us, &json);
      json.Key("ratio").Number(Ratio(one));
      json.Key("same_matches").Bool(one.same);
    }
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.text() + "\n";
}

std::string ToTable(const MatchesReport& report) {
  const MatchBenchOptions& o = report.options;
  std::string text =
      absl::StrFormat("descriptors of %d bytes, k %d%s, %d threads\n%s, %s time, %d rounds\n\n%-14s %10s %10s %10s\n",
                      o.bytes, o.k, o.k == 1 ? " with cross check" : "", o.threads, report.device, ClockName(o.clock),
                      o.repeat, "microseconds", "median", "p10", "p90");
  for (const MatchReport& one : report.sizes) {
    absl::StrAppendFormat(&text, "%-14s %10.1f %10.1f %10.1f  %.0f ps a pair, %d matches",
                          absl::StrCat(one.size, " x ", one.size), one.us.median, one.us.p10, one.us.p90,
                          PicosecondsAPair(one), one.matches);
    if (!report.peer.empty()) {
      absl::StrAppendFormat(&text, "  %s: %.1f, glint is %.1f times as fast, %s", report.peer, one.peer_us.median,
                            Ratio(one), one.same ? "the same matches" : "OTHER MATCHES");
    }
    text += '\n';
  }
  return text;
}

}  // namespace glint::bench
