#include "slam/loops/loop_closer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "slam/adjust/pose_graph.h"

namespace glint::slam {
namespace {

constexpr size_t kCandidates = 4;
constexpr int64_t kRecent = 20;  // keyframes before one that are not a loop
// What odometry does between neighbouring keyframes: standard deviations, radians, metres, and of the distance.
constexpr double kTurnError = 0.0005;
constexpr double kShiftError = 0.003;
constexpr double kShiftShare = 0.01;
// What a loop is worth at best.
constexpr double kLoopTurnError = 0.0003;
constexpr double kLoopShiftError = 0.01;
// Loops that agree with the map within these move nothing.
constexpr double kAgreedTurn = 0.001;
constexpr double kAgreedShift = 0.03;
// A loop that asks for more than this share of the way is false.
constexpr double kLargestDrift = 0.1;
constexpr double kLeastDrift = 2;  // metres: less is always believed

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
  std::map<int64_t, size_t> place;
  for (const MapSnapshot::Frame& f : snapshot.frames) {
    place[f.id] = graph.camera_from_world.size();
    graph.camera_from_world.push_back(f.camera_from_world);
    const auto parent = place.find(f.parent);
    if (parent == place.end()) continue;
    const double shift = kShiftError + kShiftShare * f.from_parent.translation.norm();
    graph.edges.push_back({parent->second, place[f.id], f.from_parent, kTurnError, shift, false});
  }
  for (const LoopEdge& l : loops) {
    graph.edges.push_back({place.at(l.from), place.at(l.to), l.to_from, l.turn_error, l.shift_error, true});
  }
  SolvePoseGraph(&graph);
  std::map<int64_t, Pose> motions;
  for (size_t i = 0; i < snapshot.frames.size(); ++i) {
    motions[snapshot.frames[i].id] = graph.camera_from_world[i].Inverse() * snapshot.frames[i].camera_from_world;
  }
  return motions;
}

}  // namespace

MapSnapshot SnapshotOf(const GlobalMap& map, const StereoCamera& camera, const LevelScales& scales,
                       const std::vector<int64_t>& asked) {
  MapSnapshot snapshot;
  snapshot.camera = camera;
  snapshot.scales = scales;
  snapshot.loops = map.loops();
  snapshot.frames.reserve(map.keyframes().size());
  for (const MapKeyframe& k : map.keyframes()) {
    snapshot.frames.push_back({k.id, k.parent, k.from_parent, k.camera_from_world, k.view});
  }
  for (const int64_t id : asked) {
    int64_t last = id - kRecent;
    for (const MapKeyframe::Neighbour& n : map.keyframes()[map.PlaceOf(id)].neighbours) last = std::min(last, n.id - 1);
    snapshot.questions.push_back({id, last});
  }
  return snapshot;
}

bool LoopCloser::FindPlace(const MapSnapshot& snapshot, const View& view, int64_t last, Place* place) {
  for (const PlaceIndex::Candidate& c : index_.Query(view, last, kCandidates)) {
    place->keyframe = c.keyframe;
    const View& known = *FrameOf(snapshot, c.keyframe).view;
    if (fitter_.Fit(snapshot.camera, snapshot.scales, known, view, min_inliers_, &place->fit)) return true;
  }
  return false;
}

ClosedLoops LoopCloser::Check(const MapSnapshot& snapshot, bool close_loops) {
  ClosedLoops closed;
  bool is_news = false;
  for (const MapSnapshot::Question& question : snapshot.questions) {
    const MapSnapshot::Frame& frame = FrameOf(snapshot, question.id);
    Place place;
    if (close_loops && question.last >= 0 && FindPlace(snapshot, *frame.view, question.last, &place)) {
      const MapSnapshot::Frame& known = FrameOf(snapshot, place.keyframe);
      const Pose& found = place.fit.view_from_known;
      const Pose expected = frame.camera_from_world * known.camera_from_world.Inverse();
      const Pose apart = found * expected.Inverse();
      // Of the camera's place: where the views are turned by much, a shift of camera coordinates says little.
      const double shift = (found.Inverse().translation - expected.Inverse().translation).norm();
      if (shift <= std::max(kLeastDrift, kLargestDrift * WayBetween(snapshot, place.keyframe, question.id))) {
        const auto& covariance = place.fit.covariance;
        const double turn_error = std::sqrt(covariance.diagonal().head<3>().maxCoeff());
        const double shift_error = std::sqrt(covariance.diagonal().tail<3>().maxCoeff());
        closed.loops.push_back({place.keyframe, question.id, found, std::max(kLoopTurnError, turn_error),
                                std::max(kLoopShiftError, shift_error)});
        is_news = is_news || AngleOf(apart.rotation) > std::max(kAgreedTurn, 3 * turn_error) ||
                  shift > std::max(kAgreedShift, 3 * shift_error);
      }
    }
    index_.Add(question.id, *frame.view);
  }
  if (!is_news) return closed;
  std::vector<LoopEdge> loops = snapshot.loops;
  loops.insert(loops.end(), closed.loops.begin(), closed.loops.end());
  closed.motions = Solve(snapshot, loops);
  return closed;
}

}  // namespace glint::slam
