#include "slam/loops/loop_closer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "slam/adjust/pose_graph.h"

namespace glint::slam {
namespace {

constexpr size_t kCandidates = 4;
constexpr int64_t kRecent = 20;  // preceding keyframes that are never a loop
// Noise of odometry between neighbouring keyframes: standard deviations in radians, in metres, and as a share of the
// distance.
constexpr double kRotationSigma = 0.0005;
constexpr double kTranslationSigma = 0.003;
constexpr double kTranslationShare = 0.01;
// Lower bounds of a loop's standard deviations, radians and metres.
constexpr double kMinLoopRotationSigma = 0.0003;
constexpr double kMinLoopTranslationSigma = 0.01;
// A loop that agrees with the map within these, radians and metres, corrects nothing.
constexpr double kAgreedRotation = 0.001;
constexpr double kAgreedTranslation = 0.03;
// A loop whose correction is above this share of the distance travelled is an outlier.
constexpr double kLargestDrift = 0.1;
constexpr double kLeastDrift = 2;  // metres: smaller corrections are always accepted

double WayBetween(const MapSnapshot& snapshot, int64_t from, int64_t to) {
  double way = 0;
  for (const MapSnapshot::Frame& f : snapshot.frames) {
    if (f.id > from && f.id <= to) way += f.from_parent.translation.norm();
  }
  return way;
}

const MapSnapshot::Frame& FrameOf(const MapSnapshot& snapshot, int64_t id) {
  return *std::lower_bound(snapshot.frames.begin(), snapshot.frames.end(), id,
                           [](const MapSnapshot::Frame& f, int64_t wanted) { return f.id < wanted; });
}

std::map<int64_t, Pose> Solve(const MapSnapshot& snapshot, const std::vector<LoopEdge>& loops) {
  PoseGraph graph;
  std::map<int64_t, size_t> index;
  for (const MapSnapshot::Frame& f : snapshot.frames) {
    index[f.id] = graph.camera_from_world.size();
    graph.camera_from_world.push_back(f.camera_from_world);
    const auto parent = index.find(f.parent);
    if (parent == index.end()) continue;
    const double translation_sigma = kTranslationSigma + kTranslationShare * f.from_parent.translation.norm();
    graph.edges.push_back({parent->second, index[f.id], f.from_parent, kRotationSigma, translation_sigma, false});
  }
  for (const LoopEdge& l : loops) {
    graph.edges.push_back({index.at(l.from), index.at(l.to), l.to_from, l.rotation_sigma, l.translation_sigma, true});
  }
  SolvePoseGraph(&graph);
  std::map<int64_t, Pose> corrections;
  for (size_t i = 0; i < snapshot.frames.size(); ++i) {
    corrections[snapshot.frames[i].id] = graph.camera_from_world[i].Inverse() * snapshot.frames[i].camera_from_world;
  }
  return corrections;
}

}  // namespace

MapSnapshot SnapshotOf(const GlobalMap& map, const StereoCamera& camera, const LevelScales& scales,
                       const std::vector<int64_t>& queried) {
  MapSnapshot snapshot;
  snapshot.camera = camera;
  snapshot.scales = scales;
  snapshot.loops = map.loops();
  snapshot.frames.reserve(map.keyframes().size());
  for (const MapKeyframe& k : map.keyframes()) {
    snapshot.frames.push_back({k.id, k.parent, k.from_parent, k.camera_from_world, k.features});
  }
  for (const int64_t id : queried) {
    int64_t last = id - kRecent;
    for (const MapKeyframe::Neighbour& n : map.keyframes()[map.IndexOf(id)].neighbours) last = std::min(last, n.id - 1);
    snapshot.queries.push_back({id, last});
  }
  return snapshot;
}

bool LoopCloser::FindPlace(const MapSnapshot& snapshot, const KeyframeFeatures& query, int64_t last, Place* place) {
  for (const PlaceIndex::Candidate& c : index_.Query(query, last, kCandidates)) {
    place->keyframe = c.keyframe;
    const KeyframeFeatures& known = *FrameOf(snapshot, c.keyframe).features;
    if (fitter_.Fit(snapshot.camera, snapshot.scales, known, query, min_inliers_, &place->fit)) return true;
  }
  return false;
}

ClosedLoops LoopCloser::Check(const MapSnapshot& snapshot, bool close_loops) {
  ClosedLoops closed;
  bool is_correction = false;
  for (const MapSnapshot::LoopQuery& query : snapshot.queries) {
    const MapSnapshot::Frame& frame = FrameOf(snapshot, query.id);
    Place place;
    if (close_loops && query.last >= 0 && FindPlace(snapshot, *frame.features, query.last, &place)) {
      const MapSnapshot::Frame& known = FrameOf(snapshot, place.keyframe);
      const Pose& found = place.fit.query_from_match;
      const Pose expected = frame.camera_from_world * known.camera_from_world.Inverse();
      const Pose apart = found * expected.Inverse();
      // Distance between camera centres: between views at a large angle, a translation of camera coordinates is not it.
      const double distance = (found.Inverse().translation - expected.Inverse().translation).norm();
      if (distance <= std::max(kLeastDrift, kLargestDrift * WayBetween(snapshot, place.keyframe, query.id))) {
        const auto& covariance = place.fit.covariance;
        const double rotation_sigma = std::sqrt(covariance.diagonal().head<3>().maxCoeff());
        const double translation_sigma = std::sqrt(covariance.diagonal().tail<3>().maxCoeff());
        closed.loops.push_back({place.keyframe, query.id, found, std::max(kMinLoopRotationSigma, rotation_sigma),
                                std::max(kMinLoopTranslationSigma, translation_sigma)});
        is_correction = is_correction || AngleOf(apart.rotation) > std::max(kAgreedRotation, 3 * rotation_sigma) ||
                        distance > std::max(kAgreedTranslation, 3 * translation_sigma);
      }
    }
    index_.Add(query.id, *frame.features);
  }
  if (!is_correction) return closed;
  std::vector<LoopEdge> loops = snapshot.loops;
  loops.insert(loops.end(), closed.loops.begin(), closed.loops.end());
  closed.corrections = Solve(snapshot, loops);
  return closed;
}

}  // namespace glint::slam
