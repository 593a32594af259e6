#include "slam/loops/loop_closer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "features/trigonometry.h"
#include "slam/adjust/pose_graph.h"

namespace glint::slam {
namespace {

constexpr size_t kCandidates = 4;
constexpr int64_t kRecent = 20;  // preceding keyframes that are never a loop
// Lower bounds of a loop's standard deviations, radians and metres.
constexpr double kMinLoopRotationSigma = 0.0003;
constexpr double kMinLoopTranslationSigma = 0.01;
// A loop that agrees with the map within these, radians and metres, corrects nothing.
constexpr double kAgreedRotation = 0.001;
constexpr double kAgreedTranslation = 0.03;
// A loop whose correction is above this share of the distance travelled is an outlier.
constexpr double kLargestDrift = 0.1;
constexpr double kLeastDrift = 2;      // metres: smaller corrections are always accepted
constexpr double kLargestTilt = 0.05;  // sine: in a level map, a loop that says more is an outlier
// Two keyframes that say where another map is agree within these, radians and metres, in where the second one is. Of
// the matches of each, the least share that agree with its pose.
constexpr double kMetRotation = 0.05;
constexpr double kMetTranslation = 0.3;
constexpr double kMetShare = 0.5;

double WayBetween(const MapSnapshot& snapshot, int64_t from, const MapSnapshot::Frame& to) {
  double way = 0;
  for (const MapSnapshot::Frame& f : snapshot.frames) {
    if (f.map_id == to.map_id && f.id > from && f.id <= to.id) way += f.from_parent.translation.norm();
  }
  return way;
}

const MapSnapshot::Frame& FrameOf(const MapSnapshot& snapshot, int64_t id) {
  return *std::lower_bound(snapshot.frames.begin(), snapshot.frames.end(), id,
                           [](const MapSnapshot::Frame& f, int64_t wanted) { return f.id < wanted; });
}

LoopEdge EdgeTo(int64_t id, const LoopCloser::Place& place) {
  const auto& covariance = place.fit.covariance;
  return {place.keyframe, id, place.fit.query_from_match,
          std::max(kMinLoopRotationSigma, std::sqrt(covariance.diagonal().head<3>().maxCoeff())),
          std::max(kMinLoopTranslationSigma, std::sqrt(covariance.diagonal().tail<3>().maxCoeff()))};
}

// The corrections of one map.
std::map<int64_t, Pose> Solve(const MapSnapshot& snapshot, const std::vector<LoopEdge>& loops, int32_t map_id) {
  PoseGraph graph;
  graph.is_level = snapshot.level_maps.count(map_id) > 0;
  std::map<int64_t, size_t> index;
  for (const MapSnapshot::Frame& f : snapshot.frames) {
    if (f.map_id != map_id) continue;
    index[f.id] = graph.camera_from_world.size();
    graph.camera_from_world.push_back(f.camera_from_world);
    const auto parent = index.find(f.parent);
    if (parent == index.end()) continue;
    graph.edges.push_back({parent->second, index[f.id], f.from_parent, kOdometryRotationSigma,
                           OdometryTranslationSigma(f.from_parent), false});
  }
  for (const LoopEdge& l : loops) {
    const auto from = index.find(l.from), to = index.find(l.to);
    if (from == index.end() || to == index.end()) continue;  // of another map
    graph.edges.push_back({from->second, to->second, l.to_from, l.rotation_sigma, l.translation_sigma, true});
  }
  SolvePoseGraph(&graph);
  std::map<int64_t, Pose> corrections;
  for (const MapSnapshot::Frame& f : snapshot.frames) {
    if (f.map_id != map_id) continue;
    corrections[f.id] = graph.camera_from_world[index[f.id]].Inverse() * f.camera_from_world;
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
    snapshot.frames.push_back({k.id, k.map_id, k.parent, k.from_parent, k.camera_from_world, k.features});
  }
  for (const auto& [id, level] : map.levels()) snapshot.level_maps.insert(id);
  for (const int64_t id : queried) {
    const MapKeyframe& queried_one = map.keyframes()[map.IndexOf(id)];
    int64_t last = id - kRecent;
    for (const MapKeyframe::Neighbour& n : queried_one.neighbours) last = std::min(last, n.id - 1);
    const auto first = std::find_if(map.keyframes().begin(), map.keyframes().end(),
                                    [&](const MapKeyframe& k) { return k.map_id == queried_one.map_id; });
    if (first->id > last) last = first->id - 1;  // all of what was there before is of other maps
    snapshot.queries.push_back({id, last});
  }
  return snapshot;
}

bool LoopCloser::FindPlace(const MapSnapshot& snapshot, const KeyframeFeatures& query, int64_t last, Place* place) {
  ForgetAllBut(snapshot);
  for (const PlaceIndex::Candidate& c : index_.Query(query, last, kCandidates)) {
    place->keyframe = c.keyframe;
    const KeyframeFeatures& known = *FrameOf(snapshot, c.keyframe).features;
    if (fitter_.Fit(snapshot.camera, snapshot.scales, known, query, min_inliers_, &place->fit)) return true;
  }
  return false;
}

void LoopCloser::ForgetAllBut(const MapSnapshot& snapshot) {
  index_.Retain([&snapshot](int64_t id) {
    return std::binary_search(snapshot.frames.begin(), snapshot.frames.end(), MapSnapshot::Frame{id, 0, -1, {}, {}, {}},
                              [](const auto& a, const auto& b) { return a.id < b.id; });
  });
}

bool LoopCloser::AddLoop(const MapSnapshot& snapshot, const MapSnapshot::Frame& frame, const Place& place,
                         ClosedLoops* closed) const {
  const Pose& found = place.fit.query_from_match;
  const Pose expected = frame.camera_from_world * FrameOf(snapshot, place.keyframe).camera_from_world.Inverse();
  const Pose apart = found * expected.Inverse();
  // Distance between camera centres: between views at a large angle, a translation of camera coordinates is not it.
  const double distance = (found.Inverse().translation - expected.Inverse().translation).norm();
  if (distance > std::max(kLeastDrift, kLargestDrift * WayBetween(snapshot, place.keyframe, frame))) return false;
  double angle = AngleOf(apart.rotation);
  if (snapshot.level_maps.count(frame.map_id) > 0) {
    const Eigen::Vector3d z = Eigen::Vector3d::UnitZ();
    const Eigen::Vector3d up = frame.camera_from_world.rotation * z;
    const Eigen::Vector3d seen = found.rotation * (FrameOf(snapshot, place.keyframe).camera_from_world.rotation * z);
    if (up.cross(seen).norm() > kLargestTilt || up.dot(seen) < 0) return false;
    // A tilt is corrected by no loop.
    angle = 2 * AngleOfPoint(std::abs(apart.rotation.vec().dot(up)), std::abs(apart.rotation.w()));
  }
  closed->loops.push_back(EdgeTo(frame.id, place));
  const auto& covariance = place.fit.covariance;
  return angle > std::max(kAgreedRotation, 3 * std::sqrt(covariance.diagonal().head<3>().maxCoeff())) ||
         distance > std::max(kAgreedTranslation, 3 * std::sqrt(covariance.diagonal().tail<3>().maxCoeff()));
}

void LoopCloser::Meet(const MapSnapshot& snapshot, const MapSnapshot::Frame& frame, const Place& place,
                      ClosedLoops* closed) {
  if (place.fit.inliers < kMetShare * place.fit.matches) return;
  const MapSnapshot::Frame& known = FrameOf(snapshot, place.keyframe);
  const Pose frame_from_other = place.fit.query_from_match * known.camera_from_world;
  const Eigen::Vector3d centre = frame.camera_from_world.Inverse().translation;
  Meeting now{frame.map_id, known.map_id, frame_from_other.Inverse() * frame.camera_from_world};
  if (snapshot.level_maps.count(frame.map_id) > 0 && snapshot.level_maps.count(known.map_id) > 0) {
    const Eigen::Vector3d up = now.other_from_map.rotation * Eigen::Vector3d::UnitZ();
    if (up.head<2>().norm() > kLargestTilt || up.z() < 0) return;
    // About the vertical, and the camera stays where it was found.
    const Eigen::Vector3d found = now.other_from_map * centre;
    const Eigen::Quaterniond& q = now.other_from_map.rotation;
    now.other_from_map.rotation = Eigen::Quaterniond(q.w(), 0, 0, q.z()).normalized();
    now.other_from_map.translation = found - now.other_from_map.rotation * centre;
  }
  const std::optional<Meeting> last = std::exchange(meeting_, now);
  if (!last.has_value() || last->map_id != now.map_id || last->other_id != now.other_id) return;
  const Pose apart = now.other_from_map * last->other_from_map.Inverse();
  if (AngleOf(apart.rotation) > kMetRotation ||
      (now.other_from_map * centre - last->other_from_map * centre).norm() > kMetTranslation) {
    return;
  }
  meeting_.reset();
  const bool is_newer = now.map_id > now.other_id;
  closed->map_id = std::max(now.map_id, now.other_id);
  closed->into = std::min(now.map_id, now.other_id);
  closed->loops.push_back(EdgeTo(frame.id, place));
  closed->corrections.clear();
  for (const MapSnapshot::Frame& f : snapshot.frames) {
    if (f.map_id != closed->map_id) continue;
    closed->corrections[f.id] = is_newer ? now.other_from_map : now.other_from_map.Inverse();
  }
}

ClosedLoops LoopCloser::Check(const MapSnapshot& snapshot, bool close_loops) {
  ForgetAllBut(snapshot);
  ClosedLoops closed;
  bool is_correction = false;
  for (const MapSnapshot::LoopQuery& query : snapshot.queries) {
    const MapSnapshot::Frame& frame = FrameOf(snapshot, query.id);
    Place place;
    // Maps that become one here have other poses than the snapshot's.
    if (close_loops && query.last >= 0 && closed.corrections.empty() &&
        FindPlace(snapshot, *frame.features, query.last, &place)) {
      closed.map_id = closed.into = frame.map_id;
      if (FrameOf(snapshot, place.keyframe).map_id == frame.map_id) {
        is_correction = AddLoop(snapshot, frame, place, &closed) || is_correction;
      } else {
        Meet(snapshot, frame, place, &closed);
      }
    }
    index_.Add(query.id, *frame.features);
    closed.last = query.id;
  }
  if (!is_correction || !closed.corrections.empty()) return closed;
  std::vector<LoopEdge> loops = snapshot.loops;
  loops.insert(loops.end(), closed.loops.begin(), closed.loops.end());
  closed.corrections = Solve(snapshot, loops, closed.map_id);
  return closed;
}

}  // namespace glint::slam
