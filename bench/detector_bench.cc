#include "bench/detector_bench.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/opencv_peer.h"
#include "bench/picture.h"
#include "bench/rounds.h"
#include "features/error.h"

namespace glint::bench {
namespace {

absl::Status Validate(const DetectorBenchOptions& options) {
  if (options.repeat < 1 || options.repeat > kMaxRepeat)
    return OutOfRangeError("repeat", options.repeat, 1, kMaxRepeat);
  if (absl::Status s = ValidateSubject(options.subject); !s.ok()) return s;
  return ValidateOptions(options.detector);
}

std::vector<KeypointKey> Keys(const Features& features) {
  std::vector<KeypointKey> keys;
  for (size_t i = 0; i < features.count(); ++i) {
    keys.emplace_back(features.octave[i], features.response[i], features.y[i], features.x[i]);
  }
  return keys;
}

bool SameSet(std::vector<KeypointKey> a, std::vector<KeypointKey> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

double Ratio(double peer, double own) { return own > 0 ? peer / own : 0; }

PeerReport ReportOf(const DetectorPeer& peer, const std::vector<double>& us, const Subject& subject,
                    const Summary& own) {
  PeerReport report;
  report.name = peer.name();
  report.us = Summarize(us);
  report.keypoints = peer.keypoints();
  report.ratio = Ratio(report.us.median, own.median);
  report.ratio_p10 = Ratio(report.us.p10, own.p10);
  const std::vector<KeypointKey> keys = peer.comparable();
  if (!keys.empty() && subject.features() != nullptr) report.same_keypoints = SameSet(keys, Keys(*subject.features()));
  return report;
}

}  // namespace

absl::StatusOr<DetectorReport> BenchDetector(const DetectorBenchOptions& options) {
  if (absl::Status s = Validate(options); !s.ok()) return s;
  const auto picture = LoadPicture(options.picture);
  if (!picture.ok()) return picture.status();
  auto subject = MakeSubject(options.subject, options.detector, *picture);
  if (!subject.ok()) return subject.status();

  std::vector<Contestant> contestants = {(*subject)->contestant()};
  std::unique_ptr<DetectorPeer> peer;
  if (options.opencv_peer) {
    auto made = MakeOpenCvPeer(options.detector, *picture, options.subject.threads);
    if (!made.ok()) return made.status();
    peer = *std::move(made);
    contestants.push_back(Timed(peer->name(), options.subject.clock, [&peer] { return peer->Run(); }));
  }
  if (absl::Status s = RunRounds(options.repeat, &contestants); !s.ok()) return s;
  auto floors = (*subject)->Floors(options.repeat);
  if (!floors.ok()) return floors.status();

  DetectorReport report;
  report.options = options;
  report.shape = picture->shape();
  report.device = (*subject)->device();
  report.us = Summarize(contestants[0].us);
  report.samples = static_cast<int>(contestants[0].us.size());
  report.keypoints = (*subject)->keypoints();
  report.launches = (*subject)->launches();
  report.stages = (*subject)->Stages();
  report.floors = *std::move(floors);
  if (peer != nullptr) report.peers.push_back(ReportOf(*peer, contestants[1].us, **subject, report.us));
  return report;
}

}  // namespace glint::bench
