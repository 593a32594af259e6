#include "bench/detector_bench.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/opencv_peer.h"
#include "bench/picture.h"
#include "bench/rounds.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::bench {
namespace {

absl::Status Validate(const DetectorBenchOptions& options) {
  if (options.repeat < 1 || options.repeat > kMaxRepeat)
    return OutOfRangeError("repeat", options.repeat, 1, kMaxRepeat);
  GLINT_RETURN_IF_ERROR(ValidateSubject(options.subject));
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
  GLINT_RETURN_IF_ERROR(Validate(options));
  GLINT_ASSIGN_OR_RETURN(const Image picture, LoadPicture(options.picture));
  GLINT_ASSIGN_OR_RETURN(auto subject, MakeSubject(options.subject, options.detector, picture));

  std::vector<Contestant> contestants = {subject->contestant()};
  std::unique_ptr<DetectorPeer> peer;
  if (options.opencv_peer) {
    GLINT_ASSIGN_OR_RETURN(peer, MakeOpenCvPeer(options.detector, picture, options.subject.threads));
    contestants.push_back(Timed(peer->name(), options.subject.clock, [&peer] { return peer->Run(); }));
  }
  GLINT_RETURN_IF_ERROR(RunRounds(options.repeat, &contestants));
  GLINT_ASSIGN_OR_RETURN(auto floors, subject->Floors(options.repeat));

  DetectorReport report;
  report.options = options;
  report.shape = picture.shape();
  report.device = subject->device();
  report.us = Summarize(contestants[0].us);
  report.samples = static_cast<int>(contestants[0].us.size());
  report.keypoints = subject->keypoints();
  report.launches = subject->launches();
  report.stages = subject->Stages();
  report.floors = std::move(floors);
  if (peer != nullptr) report.peers.push_back(ReportOf(*peer, contestants[1].us, *subject, report.us));
  return report;
}

}  // namespace glint::bench
