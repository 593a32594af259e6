#include "bench/match_bench.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/json.h"
#include "bench/machine.h"
#include "bench/opencv_peer.h"
#include "cpu/match/matcher.h"
#include "cpu/pipeline.h"
#include "cuda/match/matcher.h"
#include "cuda/pipeline.h"
#include "features/error.h"
#include "features/matcher.h"
#include "features/status_macros.h"

namespace glint::bench {
namespace {

constexpr int kReplaysPerRun = 1;

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

// Keypoints of both sets, at random, and what the queries ask of them.
class Conditions {
 public:
  Conditions(int size, float radius) : radius_(static_cast<size_t>(size), radius) {
    std::mt19937 random(static_cast<uint32_t>(size) + 1);
    const auto below = [&random](float most) { return most * static_cast<float>(random() >> 8) / (1 << 24); };
    for (Keypoints* k : {&query_, &train_}) {
      for (int i = 0; i < size; ++i) {
        k->x.push_back(below(640));
        k->y.push_back(below(480));
        k->angle.push_back(below(359));
        k->octave.push_back(static_cast<int32_t>(random() % 8));
      }
    }
    for (const int32_t octave : query_.octave) {
      min_octave_.push_back(octave - 1);
      max_octave_.push_back(octave + 1);
    }
  }

  // `conditions` are of kMatchConditions.
  void AddTo(const std::vector<std::string>& conditions, MatchInput* input, MatchOptions* options) const {
    QueryConditions& c = input->conditions;
    for (const std::string& condition : conditions) {
      if (condition == "angles") {
        c.angle = query_.angle.data();
        options->max_angle_difference = 30;
      } else if (condition == "octaves") {
        c.min_octave = min_octave_.data();
        c.max_octave = max_octave_.data();
      } else {
        c.x = query_.x.data();
        c.y = query_.y.data();
        c.radius = radius_.data();
      }
    }
    input->keypoints = {train_.x.data(), train_.y.data(), train_.octave.data(), train_.angle.data()};
  }

 private:
  struct Keypoints {
    std::vector<float> x, y, angle;
    std::vector<int32_t> octave;
  };
  Keypoints query_, train_;
  std::vector<float> radius_;
  std::vector<int32_t> min_octave_, max_octave_;
};

MatchOptions MatchOptionsOf(const MatchBenchOptions& o) {
  MatchOptions match;
  match.k = o.k;
  match.cross_check = o.k == 1;
  match.ratio = o.ratio;
  return match;
}

// Glint's side: made once, runs on sets of any of the sizes.
class MatchSubject {
 public:
  virtual ~MatchSubject() = default;
  // Refers to all arguments.
  virtual Contestant contestant(const MatchInput& input, const MatchOptions& options, MatchResult* result) = 0;
};

class CpuMatchSubject final : public MatchSubject {
 public:
  explicit CpuMatchSubject(const SubjectOptions& options) : clock_(options.clock), matcher_(options.threads) {}
  Contestant contestant(const MatchInput& input, const MatchOptions& options, MatchResult* result) override {
    return Timed("glint", clock_, [this, &input, &options, result] {
      matcher_.Match(input, options, result);
      return absl::OkStatus();
    });
  }

 private:
  const Clock clock_;
  cpu::Matcher matcher_;
};

class CudaMatchSubject final : public MatchSubject {
 public:
  CudaMatchSubject(std::unique_ptr<cuda::Matcher> matcher, bool device_resident)
      : matcher_(std::move(matcher)), device_resident_(device_resident) {}
  Contestant contestant(const MatchInput& input, const MatchOptions& options, MatchResult* result) override {
    if (!device_resident_) {
      return Timed("glint", Clock::kWall,
                   [this, &input, &options, result] { return matcher_->Match(input, options, result); });
    }
    return {"glint", [this, &input, &options, result](std::vector<double>* us) {
              std::vector<float> replays;
              absl::Status status = matcher_->TimeOnDevice(input, options, kReplaysPerRun, result, &replays);
              us->insert(us->end(), replays.begin(), replays.end());
              return status;
            }};
  }

 private:
  const std::unique_ptr<cuda::Matcher> matcher_;
  const bool device_resident_;
};

absl::StatusOr<std::unique_ptr<MatchSubject>> MakeMatchSubject(const MatchBenchOptions& o) {
  if (o.subject.device == Device::kCpu) {
    GLINT_RETURN_IF_ERROR(cpu::ValidateSimdTarget());
    return std::make_unique<CpuMatchSubject>(o.subject);
  }
  cuda::MatcherOptions options;
  options.device = o.subject.ordinal;
  options.sm_limit = o.subject.sm_limit;
  options.max_queries = options.max_trains = *std::max_element(o.sizes.begin(), o.sizes.end());
  options.max_descriptor_bytes = o.bytes;
  GLINT_ASSIGN_OR_RETURN(auto matcher, cuda::Matcher::Create(options));
  return std::make_unique<CudaMatchSubject>(std::move(matcher), o.subject.device_resident);
}

absl::Status Validate(const MatchBenchOptions& o) {
  if (o.repeat < 1 || o.repeat > kMaxRepeat) return OutOfRangeError("repeat", o.repeat, 1, kMaxRepeat);
  GLINT_RETURN_IF_ERROR(ValidateSubject(o.subject));
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
  for (const std::string& condition : o.conditions) {
    if (std::find(std::begin(kMatchConditions), std::end(kMatchConditions), condition) == std::end(kMatchConditions)) {
      return NotOneOfError("conditions", condition, absl::StrJoin(kMatchConditions, ", "));
    }
  }
  if (!(o.window_radius >= 0 && o.window_radius <= kMaxMatchCoordinate)) {
    return OutOfRangeError("window_radius", o.window_radius, 0.0f, kMaxMatchCoordinate);
  }
  if (o.opencv_peer && !o.conditions.empty()) return ContradictionError("peer", "opencv has no conditions");
  if (o.opencv_peer && (o.subject.device == Device::kCuda || o.ratio > 0)) {
    return ContradictionError("peer", "opencv needs --backend cpu --ratio 0");
  }
  return ValidateMatchOptions(MatchOptionsOf(o));
}

double Ratio(const MatchReport& report) { return report.us.median > 0 ? report.peer_us.median / report.us.median : 0; }

double PicosecondsAPair(const MatchReport& report) { return 1e6 * report.us.median / report.size / report.size; }

}  // namespace

absl::StatusOr<MatchesReport> BenchMatch(const MatchBenchOptions& options) {
  GLINT_RETURN_IF_ERROR(Validate(options));
  MatchesReport report;
  report.options = options;
  const bool cuda = options.subject.device == Device::kCuda;
  report.device =
      cuda ? cuda::DeviceDescription(options.subject.ordinal) : absl::StrCat(Processor(), ", ", cpu::SimdTarget());
  MatchOptions match = MatchOptionsOf(options);
  GLINT_ASSIGN_OR_RETURN(const auto subject, MakeMatchSubject(options));
  for (const int size : options.sizes) {
    const Sets sets = MakeSets(size, options.bytes);
    MatchInput input{{sets.query.data(), size, options.bytes}, {sets.train.data(), size, options.bytes}, {}, {}};
    const Conditions conditions(size, options.window_radius);
    conditions.AddTo(options.conditions, &input, &match);
    MatchResult result;
    std::vector<Contestant> contestants = {subject->contestant(input, match, &result)};
    std::unique_ptr<MatchPeer> peer;
    if (options.opencv_peer) {
      GLINT_ASSIGN_OR_RETURN(peer, MakeOpenCvMatchPeer(input.query, input.train, match, options.subject.threads));
      contestants.push_back(Timed(peer->name(), options.subject.clock, [&] { return peer->Run(); }));
    }
    GLINT_RETURN_IF_ERROR(RunRounds(options.repeat, &contestants));
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
  BeginReport(command, &json);
  json.Key("device").String(report.device);
  json.Key("opencv").String(OpenCvVersion());
  json.Key("clock").String(ClockName(o.subject.clock));
  json.Key("bytes").Int(o.bytes);
  json.Key("k").Int(o.k);
  json.Key("cross_check").Bool(o.k == 1);
  json.Key("ratio").Number(o.ratio);
  json.Key("conditions").BeginArray();
  for (const std::string& condition : o.conditions) json.String(condition);
  json.EndArray();
  if (o.subject.device == Device::kCuda) {
    json.Key("device_resident").Bool(o.subject.device_resident);
    json.Key("sm_limit").Int(o.subject.sm_limit);
  } else {
    json.Key("threads").Int(o.subject.threads);
  }
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
  const std::string where =
      o.subject.device == Device::kCpu
          ? absl::StrCat(o.subject.threads, " threads")
          : absl::StrCat(o.subject.device_resident ? "on the device" : "host to host",
                         o.subject.sm_limit > 0 ? absl::StrCat(", ", o.subject.sm_limit, " multiprocessors") : "");
  std::string text =
      absl::StrFormat("descriptors of %d bytes, k %d%s%s%s, %s\n%s, %s time, %d rounds\n\n%-14s %10s %10s %10s\n",
                      o.bytes, o.k, o.k == 1 ? " with cross check" : "", o.ratio > 0 ? " and ratio" : "",
                      o.conditions.empty() ? "" : absl::StrCat(", ", absl::StrJoin(o.conditions, ", ")), where,
                      report.device, ClockName(o.subject.clock), o.repeat, "microseconds", "median", "p10", "p90");
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
