#include "bench/track_bench.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/json.h"
#include "bench/machine.h"
#include "bench/opencv_peer.h"
#include "bench/picture.h"
#include "bench/track_frame_bench.h"
#include "cpu/pipeline.h"
#include "cpu/track/tracker.h"
#include "cuda/pipeline.h"
#include "cuda/track/tracker.h"
#include "features/error.h"
#include "features/options.h"
#include "features/status_macros.h"

namespace glint::bench {
namespace {

constexpr int kMaxThreads = 256;
constexpr int kMoveX = 5;  // pixels
constexpr int kMoveY = 3;

absl::Status Validate(const TrackBenchOptions& o) {
  if (o.repeat < 1 || o.repeat > kMaxRepeat) return OutOfRangeError("repeat", o.repeat, 1, kMaxRepeat);
  if (o.threads < 1 || o.threads > kMaxThreads) return OutOfRangeError("threads", o.threads, 1, kMaxThreads);
  if (o.points.empty()) return ContradictionError("points", "no number was given");
  for (const int points : o.points) {
    if (points < kMinFeatures || points > kMaxTrackPoints) {
      return OutOfRangeError("points", points, kMinFeatures, kMaxTrackPoints);
    }
  }
  if (o.cuda && o.opencv_peer) return ContradictionError("peer", "opencv is measured beside --backend cpu only");
  GLINT_RETURN_IF_ERROR(ValidateTrackOptions(o.track));
  return cpu::ValidateSimdTarget();
}

// The picture moved; what moves in repeats its edge.
Image Moved(const ImageView& picture) {
  Image moved(picture.width, picture.height);
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      moved.row(y)[x] = picture.at(std::max(x - kMoveX, 0), std::max(y - kMoveY, 0));
    }
  }
  return moved;
}

absl::StatusOr<Features> Corners(const ImageView& picture, int count) {
  DetectorOptions options = *PresetOptions("orb");
  options.descriptor = Descriptor::kNone;
  options.max_features = count;
  options.levels = 1;
  options.fast_threshold = 5;  // enough corners on any picture
  Features corners;
  GLINT_RETURN_IF_ERROR(cpu::Pipeline().Detect(options, picture, {}, &corners, nullptr));
  corners.Resize(std::min(corners.count(), static_cast<size_t>(count)), 0);
  return corners;
}

TrackReport Counted(const TrackResult& result) {
  TrackReport report;
  report.points = static_cast<int>(result.count());
  for (size_t i = 0; i < result.count(); ++i) {
    report.tracked += result.status[i] == TrackStatus::kTracked;
    report.iterations += static_cast<double>(result.iterations[i]) / static_cast<double>(result.count());
  }
  return report;
}

double Ratio(const Summary& peer, const Summary& ours) { return ours.median > 0 ? peer.median / ours.median : 0; }

absl::StatusOr<TrackReport> BenchPoints(const TrackBenchOptions& options, const Image& from, const Image& to,
                                        int points, std::string* peer_name) {
  GLINT_ASSIGN_OR_RETURN(const Features corners, Corners(from, points));
  cpu::TrackLevels from_levels, to_levels;
  from_levels.Build(from, options.track.levels);
  to_levels.Build(to, options.track.levels);
  TrackInput input;
  input.from = from_levels.view();
  input.to = to_levels.view();
  input.count = static_cast<int>(corners.count());
  input.x = corners.x.data();
  input.y = corners.y.data();
  GLINT_RETURN_IF_ERROR(ValidateTrackInput(input, options.track));
  cpu::Tracker tracker(options.threads);
  TrackResult result;
  const auto track = [&] {
    tracker.Track(input, options.track, &result);
    return absl::OkStatus();
  };
  std::vector<Contestant> contestants = {Timed("glint, pyramids and tracking", options.clock,
                                               [&] {
                                                 from_levels.Build(from, options.track.levels);
                                                 to_levels.Build(to, options.track.levels);
                                                 return track();
                                               }),
                                         Timed("glint, tracking", options.clock, track)};
  std::unique_ptr<TrackPeer> peer;
  if (options.opencv_peer) {
    GLINT_ASSIGN_OR_RETURN(peer, MakeOpenCvTrackPeer(from, to, input, options.track, options.threads));
    *peer_name = peer->name();
    contestants.push_back(Timed("peer, images", options.clock, [&] { return peer->Run(); }));
    contestants.push_back(Timed("peer, pyramids kept", options.clock, [&] { return peer->RunWithPyramids(); }));
  }
  GLINT_RETURN_IF_ERROR(RunRounds(options.repeat, &contestants));
  TrackReport report = Counted(result);
  report.call_us = Summarize(contestants[0].us);
  report.kept_us = Summarize(contestants[1].us);
  if (peer != nullptr) {
    report.peer_tracked = peer->tracked();
    report.peer_call_us = Summarize(contestants[2].us);
    report.peer_kept_us = Summarize(contestants[3].us);
  }
  return report;
}

absl::StatusOr<TrackReport> BenchPointsOnDevice(const TrackBenchOptions& options, const Image& from, const Image& to,
                                                int points) {
  GLINT_ASSIGN_OR_RETURN(const Features corners, Corners(from, points));
  cuda::TrackerOptions tracker_options;
  tracker_options.device = options.device;
  tracker_options.sm_limit = options.sm_limit;
  tracker_options.max_points = points;
  tracker_options.max_shape = from.shape();
  GLINT_ASSIGN_OR_RETURN(const auto tracker, cuda::Tracker::Create(tracker_options));
  GLINT_RETURN_IF_ERROR(tracker->SetFrame(0, from));
  GLINT_RETURN_IF_ERROR(tracker->SetFrame(1, to));
  cuda::FramePoints input;
  input.count = static_cast<int>(corners.count());
  input.x = corners.x.data();
  input.y = corners.y.data();
  TrackResult result;
  GLINT_RETURN_IF_ERROR(tracker->Track(input, options.track, &result));
  TrackReport report = Counted(result);
  std::vector<double> us;
  for (int i = 0; i < options.repeat; ++i) {
    GLINT_ASSIGN_OR_RETURN(const auto one, tracker->TimeOnDevice(input, options.track, kTrackLaunches));
    us.push_back(one);
  }
  report.kept_us = Summarize(us);
  return report;
}

}  // namespace

absl::StatusOr<TracksReport> BenchTrack(const TrackBenchOptions& options) {
  GLINT_RETURN_IF_ERROR(Validate(options));
  GLINT_ASSIGN_OR_RETURN(const Image from, LoadPicture(options.picture));
  GLINT_ASSIGN_OR_RETURN(auto to, options.to.empty() ? absl::StatusOr<Image>(Moved(from)) : LoadPicture(options.to));
  TracksReport report;
  report.options = options;
  report.device =
      options.cuda ? cuda::DeviceDescription(options.device) : absl::StrCat(Processor(), ", ", cpu::SimdTarget());
  for (const int points : options.points) {
    GLINT_ASSIGN_OR_RETURN(auto one, options.cuda ? BenchPointsOnDevice(options, from, to, points)
                                                  : BenchPoints(options, from, to, points, &report.peer));
    if (!options.cameras.empty()) {
      GLINT_ASSIGN_OR_RETURN(one.frames, BenchTrackFrames(options, from, to, points));
    }
    report.points.push_back(std::move(one));
  }
  return report;
}

std::string ToJson(const TracksReport& report, const std::string& command) {
  const TrackBenchOptions& o = report.options;
  JsonWriter json;
  BeginReport(command, &json);
  json.Key("device").String(report.device);
  json.Key("opencv").String(OpenCvVersion());
  json.Key("clock").String(ClockName(o.clock));
  json.Key("levels").Int(o.track.levels);
  json.Key("patch_size").Int(o.track.patch_size);
  json.Key("coarse_patch_size").Int(o.track.coarse_patch_size);
  json.Key("epsilon").Number(o.track.epsilon);
  json.Key("backend").String(o.cuda ? "cuda" : "cpu");
  if (o.cuda) json.Key("pageable").Bool(o.pageable);
  json.Key("sm_limit").Int(o.sm_limit);
  json.Key("threads").Int(o.threads);
  json.Key("rounds").Int(o.repeat);
  if (!report.peer.empty()) json.Key("peer").String(report.peer);
  json.Key("points").BeginArray();
  for (const TrackReport& one : report.points) {
    json.BeginObject().Key("points").Int(one.points).Key("tracked").Int(one.tracked);
    json.Key("iterations").Number(one.iterations).Key("call_us");
    WriteSummary(one.call_us, &json);
    json.Key("kept_us");
    WriteSummary(one.kept_us, &json);
    if (!report.peer.empty()) {
      json.Key("peer_tracked").Int(one.peer_tracked).Key("peer_call_us");
      WriteSummary(one.peer_call_us, &json);
      json.Key("peer_kept_us");
      WriteSummary(one.peer_kept_us, &json);
      json.Key("call_ratio").Number(Ratio(one.peer_call_us, one.call_us));
      json.Key("kept_ratio").Number(Ratio(one.peer_kept_us, one.kept_us));
    }
    if (!one.frames.empty()) json.Key("frames").BeginArray();
    for (const TrackFrameReport& frame : one.frames) {
      json.BeginObject().Key("cameras").Int(frame.cameras).Key("detects").Bool(frame.detects);
      json.Key("tracks").Int(frame.tracks).Key("us");
      WriteSummary(frame.us, &json);
      json.EndObject();
    }
    if (!one.frames.empty()) json.EndArray();
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.text() + "\n";
}

std::string ToTable(const TracksReport& report) {
  const TrackBenchOptions& o = report.options;
  std::string text = absl::StrFormat(
      "%d levels, patches of %d and %d pixels, epsilon %g, %s\n%s, %s, %d rounds\n", o.track.levels, o.track.patch_size,
      o.track.coarse_patch_size, o.track.epsilon,
      o.cuda ? absl::StrCat("SM limit ", o.sm_limit) : absl::StrCat(o.threads, " threads"), report.device,
      o.cuda ? "time on the device" : absl::StrCat(ClockName(o.clock), " time"), o.repeat);
  for (const TrackReport& one : report.points) {
    absl::StrAppendFormat(&text, "\n%d points: %d tracked, %.1f iterations each\n%-26s %10s %10s %10s\n", one.points,
                          one.tracked, one.iterations, "microseconds", "median", "p10", "p90");
    const auto line = [&](absl::string_view name, const Summary& us, const Summary* peer) {
      absl::StrAppendFormat(&text, "%-26s %10.1f %10.1f %10.1f", name, us.median, us.p10, us.p90);
      if (peer != nullptr) absl::StrAppendFormat(&text, "  %.1f times as fast as the peer", Ratio(*peer, us));
      text += '\n';
    };
    const bool has_peer = !report.peer.empty();
    if (!o.cuda) line("pyramids and tracking", one.call_us, has_peer ? &one.peer_call_us : nullptr);
    line("tracking", one.kept_us, has_peer ? &one.peer_kept_us : nullptr);
    for (const TrackFrameReport& frame : one.frames) {
      const std::string name =
          absl::StrFormat("%sframe, %d camera%s%s", o.cuda && o.pageable ? "pageable " : "", frame.cameras,
                          frame.cameras > 1 ? "s" : "", frame.detects ? ", detects" : "");
      line(name, frame.us, nullptr);
    }
    if (!has_peer) continue;
    absl::StrAppendFormat(&text, "%s: %d tracked\n", report.peer, one.peer_tracked);
    line("  images", one.peer_call_us, nullptr);
    line("  pyramids kept", one.peer_kept_us, nullptr);
  }
  return text;
}

}  // namespace glint::bench
