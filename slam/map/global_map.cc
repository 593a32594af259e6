#include "slam/map/global_map.h"

#include <algorithm>
#include <set>
#include <utility>

#include "slam/map/place_index.h"

namespace glint::slam {
namespace {

constexpr int kLeastShared = 15;  // points that make two keyframes neighbours
constexpr size_t kManyTies = 4;   // of a keyframe: no more are handed on to it that a third one makes as well

}  // namespace

PoseUncertainty UncertaintyOf(double rotation_sigma, double translation_sigma) {
  PoseUncertainty uncertainty;
  uncertainty.covariance.diagonal().head<3>().setConstant(rotation_sigma * rotation_sigma);
  uncertainty.covariance.diagonal().tail<3>().setConstant(translation_sigma * translation_sigma);
  return uncertainty;
}

Observation KeyframeFeatures::ObservationOf(size_t keypoint, const NoiseModel& noise) const {
  const KeyframeKeypoint& k = keypoints[keypoint];
  Observation observation;
  observation.pixel.left = {k.x, k.y};
  observation.pixel.disparity = k.disparity;
  observation.pixel.vertical_disparity = k.vertical_disparity;
  observation.is_stereo = k.is_stereo != 0;
  observation.position_sigma = k.position_sigma;
  observation.disparity_sigma = noise.disparity;
  observation.vertical_disparity_sigma = noise.vertical_disparity;
  return observation;
}

std::shared_ptr<const KeyframeFeatures> KeyframeFeaturesOf(const StereoFrame& frame,
                                                           const std::vector<Observation>& observations) {
  auto features = std::make_shared<KeyframeFeatures>();
  const Features& f = frame.left;
  features->keypoints.resize(f.count());
  for (size_t i = 0; i < f.count(); ++i) {
    const Observation& s = observations[i];
    features->keypoints[i] = {static_cast<float>(s.pixel.left.x()),     static_cast<float>(s.pixel.left.y()),
                              static_cast<float>(s.pixel.disparity),    static_cast<float>(s.pixel.vertical_disparity),
                              static_cast<float>(s.position_sigma),     static_cast<uint8_t>(f.octave[i]),
                              static_cast<uint8_t>(s.is_stereo ? 1 : 0)};
    if (s.is_stereo) features->strongest.push_back(static_cast<int32_t>(i));
  }
  features->descriptors = f.descriptors;
  features->descriptor_bytes = f.descriptor_bytes;
  const auto is_stronger = [&f](int32_t a, int32_t b) {
    const float of_a = f.response[static_cast<size_t>(a)];
    const float of_b = f.response[static_cast<size_t>(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  };
  std::sort(features->strongest.begin(), features->strongest.end(), is_stronger);
  features->strongest.resize(std::min(features->strongest.size(), PlaceIndex::kStrongest));
  return features;
}

size_t GlobalMap::IndexOf(int64_t id) const {
  const auto found = std::lower_bound(keyframes_.begin(), keyframes_.end(), id,
                                      [](const MapKeyframe& k, int64_t wanted) { return k.id < wanted; });
  return found != keyframes_.end() && found->id == id ? static_cast<size_t>(found - keyframes_.begin()) : kNone;
}

void GlobalMap::Add(int64_t id, int32_t map_id, const FrameStamp& stamp,
                    std::shared_ptr<const KeyframeFeatures> features, const PoseUncertainty& step) {
  MapKeyframe keyframe;
  keyframe.id = id;
  keyframe.map_id = map_id;
  keyframe.stamp = stamp;
  keyframe.step = PackedUncertainty(step);
  keyframe.points.assign(features->keypoints.size(), -1);
  keyframe.features = std::move(features);
  keyframes_.push_back(std::move(keyframe));
}

void GlobalMap::RemoveObservations(MapKeyframe* keyframe) {
  for (int32_t& id : keyframe->points) {
    if (id >= 0 && --points_[static_cast<size_t>(id)].observations == 0) --live_points_;
    id = -1;
  }
}

void GlobalMap::Sync(const LocalMap& window) {
  std::vector<size_t> indices;
  for (size_t k = 0; k < window.keyframes.size(); ++k) {
    indices.push_back(IndexOf(window.keyframes[k].id));
    if (indices[k] == kNone) continue;
    MapKeyframe& keyframe = keyframes_[indices[k]];
    keyframe.camera_from_world = window.keyframes[k].camera_from_world;
    RemoveObservations(&keyframe);
    if (k == 0 || indices[k - 1] == kNone) continue;
    if (keyframe.parent >= 0 && keyframe.parent != window.keyframes[k - 1].id) keyframe.step = {};
    keyframe.parent = window.keyframes[k - 1].id;
    keyframe.from_parent = keyframe.camera_from_world * window.keyframes[k - 1].camera_from_world.Inverse();
  }
  const size_t count = indices.size();
  std::vector<int> shared(count * count, 0);  // points of two keyframes, where the first is the older one
  std::vector<size_t> seen_by;
  for (const Landmark& point : window.points) {
    seen_by.clear();
    MapLandmark* landmark = nullptr;
    for (const Landmark::KeyframeObservation& s : point.observations) {
      const size_t k = window.IndexOf(s.keyframe);
      for (const size_t older : seen_by) ++shared[older * count + k];
      seen_by.push_back(k);
      if (indices[k] == kNone) continue;
      MapKeyframe& keyframe = keyframes_[indices[k]];
      if (landmark == nullptr) landmark = &points_[static_cast<size_t>(point.id)];
      landmark->position = point.position;
      landmark->keyframe = s.keyframe;
      landmark->map_id = keyframe.map_id;
      if (landmark->observations++ == 0) ++live_points_;
      keyframe.points[static_cast<size_t>(s.keypoint)] = static_cast<int32_t>(point.id);
    }
  }
  UpdateNeighbours(window, indices, shared);
}

void GlobalMap::UpdateNeighbours(const LocalMap& window, const std::vector<size_t>& indices,
                                 const std::vector<int>& shared) {
  const size_t count = indices.size();
  for (size_t a = 0; a < count; ++a) {
    if (indices[a] == kNone) continue;
    auto& neighbours = keyframes_[indices[a]].neighbours;
    const auto is_of_window = [&](const MapKeyframe::Neighbour& n) {
      const size_t index = window.IndexOf(n.id);
      return index < count && window.keyframes[index].id == n.id;
    };
    neighbours.erase(std::remove_if(neighbours.begin(), neighbours.end(), is_of_window), neighbours.end());
    for (size_t b = 0; b < count; ++b) {
      const int points = shared[std::min(a, b) * count + std::max(a, b)];
      if (a == b || indices[b] == kNone || points < kLeastShared) continue;
      neighbours.push_back({window.keyframes[b].id, points});
    }
    std::sort(neighbours.begin(), neighbours.end(), [](const auto& x, const auto& y) { return x.id < y.id; });
  }
}

std::set<int64_t> GlobalMap::TiedTo(int64_t id) const {
  std::set<int64_t> tied;
  for (const MapKeyframe& k : keyframes_) {
    if (k.id == id && k.parent >= 0) tied.insert(k.parent);
    if (k.parent == id) tied.insert(k.id);
  }
  for (const LoopEdge& l : loops_) {
    if (l.from == id) tied.insert(l.to);
    if (l.to == id) tied.insert(l.from);
  }
  return tied;
}

bool GlobalMap::NeedsTie(int64_t a, int64_t b) const {
  const std::set<int64_t> to_a = TiedTo(a), to_b = TiedTo(b);
  if (to_a.count(b) > 0) return false;
  if (std::max(to_a.size(), to_b.size()) < kManyTies) return true;
  return std::none_of(to_a.begin(), to_a.end(), [&to_b](int64_t id) { return to_b.count(id) > 0; });
}

void GlobalMap::HandOnEdges(const MapKeyframe& gone, const MapKeyframe& heir) {
  const Pose gone_from_heir = gone.camera_from_world * heir.camera_from_world.Inverse();
  std::vector<LoopEdge> handed_on;
  const auto as_loop = [](int64_t from, int64_t to, const Pose& to_from) {
    return LoopEdge{from, to, to_from, kOdometryRotationSigma, OdometryTranslationSigma(to_from)};
  };
  if (IndexOf(gone.parent) != kNone) {
    handed_on.push_back(as_loop(gone.parent, heir.id, gone_from_heir.Inverse() * gone.from_parent));
  }
  for (MapKeyframe& child : keyframes_) {
    if (child.parent != gone.id) continue;
    const Pose child_from_heir = child.from_parent * gone_from_heir;
    if (child.id == heir.id) {
      const bool is_known = child.step.is_known() && gone.step.is_known();
      child.step = is_known ? PackedUncertainty(gone.step.Unpacked().Then(child.from_parent, child.step.Unpacked()))
                            : PackedUncertainty();
      child.parent = gone.parent;
      child.from_parent = child.from_parent * gone.from_parent;
    } else if (child.id > heir.id) {
      child.parent = heir.id;
      child.from_parent = child_from_heir;
      child.step = {};
    } else {  // a parent is older
      child.parent = -1;
      handed_on.push_back(as_loop(child.id, heir.id, child_from_heir.Inverse()));
    }
  }
  const auto is_of_gone = [&gone](const LoopEdge& l) { return l.from == gone.id || l.to == gone.id; };
  for (LoopEdge loop : loops_) {
    if (!is_of_gone(loop)) continue;
    if (loop.from == gone.id) loop.to_from = loop.to_from * gone_from_heir;
    if (loop.to == gone.id) loop.to_from = gone_from_heir.Inverse() * loop.to_from;
    (loop.from == gone.id ? loop.from : loop.to) = heir.id;
    handed_on.push_back(loop);
  }
  loops_.erase(std::remove_if(loops_.begin(), loops_.end(), is_of_gone), loops_.end());
  for (const LoopEdge& loop : handed_on) {
    if (loop.from != loop.to && NeedsTie(loop.from, loop.to)) loops_.push_back(loop);
  }
}

void GlobalMap::HandOnNeighbours(const MapKeyframe& gone, MapKeyframe* heir) {
  const auto put = [](std::vector<MapKeyframe::Neighbour>* to, const MapKeyframe::Neighbour& one) {
    const auto at =
        std::lower_bound(to->begin(), to->end(), one.id, [](const auto& n, int64_t id) { return n.id < id; });
    if (at == to->end() || at->id != one.id) to->insert(at, one);
  };
  std::vector<int32_t> sorted = heir->points;
  std::sort(sorted.begin(), sorted.end());
  for (const MapKeyframe::Neighbour& n : gone.neighbours) {
    if (n.id == heir->id) continue;
    MapKeyframe& other = keyframes_[IndexOf(n.id)];
    const auto is_shared = [&](int32_t p) { return p >= 0 && std::binary_search(sorted.begin(), sorted.end(), p); };
    const auto shared = static_cast<int>(std::count_if(other.points.begin(), other.points.end(), is_shared));
    if (shared < kLeastShared) continue;
    put(&heir->neighbours, {n.id, shared});
    put(&other.neighbours, {heir->id, shared});
  }
  for (MapKeyframe& k : keyframes_) {
    const auto is_gone = [&gone](const MapKeyframe::Neighbour& n) { return n.id == gone.id; };
    k.neighbours.erase(std::remove_if(k.neighbours.begin(), k.neighbours.end(), is_gone), k.neighbours.end());
  }
}

void GlobalMap::Remove(int64_t id, int64_t heir) {
  const auto at = keyframes_.begin() + static_cast<ptrdiff_t>(IndexOf(id));
  MapKeyframe gone = std::move(*at);
  keyframes_.erase(at);
  MapKeyframe& to = keyframes_[IndexOf(heir)];
  HandOnEdges(gone, to);
  HandOnNeighbours(gone, &to);
  RemoveObservations(&gone);
  points_.Shrink();
}

void GlobalMap::RemoveLandmarksSeenOnce(int64_t id) {
  for (int32_t& point : keyframes_[IndexOf(id)].points) {
    if (point < 0 || std::as_const(points_)[static_cast<size_t>(point)].observations > 1) continue;
    points_[static_cast<size_t>(point)].observations = 0;
    --live_points_;
    point = -1;
  }
  points_.Shrink();
}

void GlobalMap::ApplyCorrections(const std::map<int64_t, Pose>& corrections, int32_t map_id) {
  for (size_t id = 0; id < points_.size(); ++id) {
    if (std::as_const(points_)[id].observations == 0 || std::as_const(points_)[id].map_id != map_id) continue;
    MapLandmark& point = points_[id];
    point.position = CorrectionOf(corrections, point.keyframe) * point.position;
  }
  for (MapKeyframe& k : keyframes_) {
    if (k.map_id == map_id) k.camera_from_world = k.camera_from_world * CorrectionOf(corrections, k.id).Inverse();
  }
}

void GlobalMap::Join(int32_t from, int32_t to) {
  for (size_t id = 0; id < points_.size(); ++id) {
    const MapLandmark& point = std::as_const(points_)[id];
    if (point.observations > 0 && point.map_id == from) points_[id].map_id = to;
  }
  for (MapKeyframe& k : keyframes_) {
    if (k.map_id == from) k.map_id = to;
  }
  if (from == to) return;
  if (const auto level = LevelOf(from); level.has_value()) levels_.emplace(to, *level);
  levels_.erase(from);
}

std::optional<WorldLevel> GlobalMap::LevelOf(int32_t map_id) const {
  const auto found = levels_.find(map_id);
  return found == levels_.end() ? std::nullopt : std::optional(found->second);
}

void GlobalMap::RemoveMap(int32_t map_id) {
  for (MapKeyframe& k : keyframes_) {
    if (k.map_id == map_id) RemoveObservations(&k);
  }
  const auto is_of_map = [map_id](const MapKeyframe& k) { return k.map_id == map_id; };
  keyframes_.erase(std::remove_if(keyframes_.begin(), keyframes_.end(), is_of_map), keyframes_.end());
  const auto is_gone = [this](const LoopEdge& l) { return IndexOf(l.from) == kNone || IndexOf(l.to) == kNone; };
  loops_.erase(std::remove_if(loops_.begin(), loops_.end(), is_gone), loops_.end());
  levels_.erase(map_id);
  points_.Shrink();
}

int64_t GlobalMap::CountOf(int32_t map_id) const {
  return std::count_if(keyframes_.begin(), keyframes_.end(),
                       [map_id](const MapKeyframe& k) { return k.map_id == map_id; });
}

int32_t GlobalMap::LargestMap() const {
  std::map<int32_t, int64_t> counts;
  for (const MapKeyframe& k : keyframes_) ++counts[k.map_id];
  const auto is_less = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(counts.begin(), counts.end(), is_less)->first;
}

GlobalMap GlobalMap::Only(int32_t map_id) const {
  std::vector<MapKeyframe> keyframes;
  for (const MapKeyframe& k : keyframes_) {
    if (k.map_id == map_id) keyframes.push_back(k);
  }
  std::vector<MapLandmark> points;
  for (size_t id = 0; id < points_.size(); ++id) points.push_back(points_[id]);
  GlobalMap only;
  only.Restore(std::move(keyframes), points, {});
  if (const auto level = LevelOf(map_id); level.has_value()) only.SetLevel(map_id, *level);
  for (const LoopEdge& l : loops_) {
    if (only.IndexOf(l.from) != kNone && only.IndexOf(l.to) != kNone) only.loops_.push_back(l);
  }
  return only;
}

LocalMap GlobalMap::Around(int64_t id, int window, const NoiseModel& noise) const {
  const MapKeyframe& centre = keyframes_[IndexOf(id)];
  std::vector<MapKeyframe::Neighbour> nearest = centre.neighbours;
  std::sort(nearest.begin(), nearest.end(),
            [](const auto& a, const auto& b) { return a.shared != b.shared ? a.shared > b.shared : a.id < b.id; });
  std::vector<size_t> indices{IndexOf(id)};
  for (const MapKeyframe::Neighbour& n : nearest) {
    if (static_cast<int>(indices.size()) < window) indices.push_back(IndexOf(n.id));
  }
  std::sort(indices.begin(), indices.end());

  LocalMap map;
  std::map<int32_t, Landmark> points;
  for (const size_t index : indices) {
    const MapKeyframe& k = keyframes_[index];
    map.keyframes.push_back({k.id, k.camera_from_world});
    for (size_t i = 0; i < k.points.size(); ++i) {
      if (k.points[i] < 0) continue;
      Landmark& point = points[k.points[i]];
      point.id = k.points[i];
      point.position = points_[static_cast<size_t>(k.points[i])].position;
      point.descriptor.assign(k.features->descriptor(i), k.features->descriptor(i) + k.features->descriptor_bytes);
      point.octave = k.features->keypoints[i].octave;
      point.distance = (k.camera_from_world * point.position).norm();
      point.observations.push_back({k.id, static_cast<int32_t>(i), k.features->ObservationOf(i, noise)});
    }
  }
  for (auto& [point_id, point] : points) map.points.push_back(std::move(point));
  return map;
}

size_t GlobalMap::MemoryBytes() const {
  size_t bytes =
      points_.MemoryBytes() + keyframes_.capacity() * sizeof(MapKeyframe) + loops_.capacity() * sizeof(LoopEdge);
  for (const MapKeyframe& k : keyframes_) {
    bytes += k.points.capacity() * sizeof(int32_t) + k.neighbours.capacity() * sizeof(MapKeyframe::Neighbour) +
             k.features->keypoints.capacity() * sizeof(KeyframeKeypoint) + k.features->descriptors.capacity() +
             k.features->strongest.capacity() * sizeof(int32_t) + sizeof(KeyframeFeatures);
  }
  return bytes;
}

void GlobalMap::Restore(std::vector<MapKeyframe> keyframes, const std::vector<MapLandmark>& points,
                        std::vector<LoopEdge> loops) {
  keyframes_ = std::move(keyframes);
  points_ = LandmarkTable();
  for (size_t id = 0; id < points.size(); ++id) {
    points_[id] = points[id];
    points_[id].observations = 0;
  }
  loops_ = std::move(loops);
  live_points_ = 0;
  for (MapKeyframe& k : keyframes_) {
    for (const int32_t id : k.points) {
      if (id >= 0 && points_[static_cast<size_t>(id)].observations++ == 0) ++live_points_;
    }
  }
}

}  // namespace glint::slam
