#include "slam/map/drift.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace glint::slam {
namespace {

// From a keyframe to another, by index: a step from a parent, or a loop; or back.
struct Edge {
  size_t to;
  const MapKeyframe* child;  // or null
  const LoopEdge* loop;
  bool is_back;
};

PoseUncertainty Follow(const PoseUncertainty& from, const Edge& edge) {
  Pose moved;
  PoseUncertainty step;
  if (edge.child != nullptr) {
    moved = edge.child->from_parent;
    step = edge.child->step.is_known() ? edge.child->step.Unpacked() : OdometryUncertainty(moved);
  } else {
    moved = edge.loop->to_from;
    step = UncertaintyOf(edge.loop->rotation_sigma, edge.loop->translation_sigma);
  }
  return edge.is_back ? from.Then(moved.Inverse(), step.Inverse(moved)) : from.Then(moved, step);
}

// The edges from each keyframe.
std::vector<std::vector<Edge>> EdgesOf(const GlobalMap& map) {
  std::vector<std::vector<Edge>> edges(map.keyframes().size());
  const auto put = [&](int64_t from, int64_t to, const MapKeyframe* child, const LoopEdge* loop) {
    const size_t a = map.IndexOf(from), b = map.IndexOf(to);
    if (a == GlobalMap::kNone || b == GlobalMap::kNone) return;
    edges[a].push_back({b, child, loop, false});
    edges[b].push_back({a, child, loop, true});
  };
  for (const MapKeyframe& k : map.keyframes()) put(k.parent, k.id, &k, nullptr);
  for (const LoopEdge& l : map.loops()) put(l.from, l.to, nullptr, &l);
  return edges;
}

// The best way to a keyframe so far.
struct Found {
  double variance = std::numeric_limits<double>::infinity();  // of the position, square metres
  PoseUncertainty uncertainty;
};

}  // namespace

PoseUncertainty DriftOf(const GlobalMap& map, int64_t keyframe, const Eigen::Vector3d& rig_sigma) {
  const std::vector<MapKeyframe>& keyframes = map.keyframes();
  const size_t target = map.IndexOf(keyframe);
  const int32_t map_id = keyframes[target].map_id;
  const auto first = static_cast<size_t>(
      std::find_if(keyframes.begin(), keyframes.end(), [map_id](const MapKeyframe& k) { return k.map_id == map_id; }) -
      keyframes.begin());
  const std::vector<std::vector<Edge>> edges = EdgesOf(map);
  std::vector<Found> found(keyframes.size());
  std::vector<uint8_t> is_final(keyframes.size(), 0);
  using Next = std::pair<double, size_t>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
  found[first] = {0, {}};
  queue.emplace(0.0, first);
  while (!queue.empty() && is_final[target] == 0) {
    const size_t at = queue.top().second;
    queue.pop();
    if (is_final[at] != 0) continue;
    is_final[at] = 1;
    for (const Edge& edge : edges[at]) {
      if (is_final[edge.to] != 0) continue;
      const PoseUncertainty by_this = Follow(found[at].uncertainty, edge);
      const double variance = by_this.Total(rig_sigma).diagonal().tail<3>().sum();
      if (variance >= found[edge.to].variance) continue;
      found[edge.to] = {variance, by_this};
      queue.emplace(variance, edge.to);
    }
  }
  if (is_final[target] != 0) return found[target].uncertainty;
  return OdometryUncertainty(keyframes[target].camera_from_world * keyframes[first].camera_from_world.Inverse());
}

PoseAnchor AnchorAt(const GlobalMap& map, int64_t keyframe, const Eigen::Vector3d& rig_sigma) {
  return {keyframe, map.keyframes()[map.IndexOf(keyframe)].camera_from_world, DriftOf(map, keyframe, rig_sigma)};
}

}  // namespace glint::slam
