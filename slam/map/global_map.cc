#include "slam/map/global_map.h"

#include <algorithm>
#include <utility>

#include "slam/map/place_index.h"

namespace glint::slam {
namespace {

constexpr int kLeastShared = 15;  // points that make two keyframes neighbours

}  // namespace

Sight View::SightOf(size_t keypoint, const SightErrors& errors) const {
  const ViewKeypoint& k = keypoints[keypoint];
  Sight sight;
  sight.pixel.left = {k.x, k.y};
  sight.pixel.disparity = k.disparity;
  sight.pixel.rise = k.rise;
  sight.is_stereo = k.is_stereo != 0;
  sight.position_error = k.position_error;
  sight.disparity_error = errors.disparity;
  sight.rise_error = errors.rise;
  return sight;
}

std::shared_ptr<const View> ViewOf(const StereoFrame& frame, const std::vector<Sight>& sights) {
  auto view = std::make_shared<View>();
  const Features& f = frame.left;
  view->keypoints.resize(f.count());
  for (size_t i = 0; i < f.count(); ++i) {
    const Sight& s = sights[i];
    view->keypoints[i] = {static_cast<float>(s.pixel.left.x()),     static_cast<float>(s.pixel.left.y()),
                          static_cast<float>(s.pixel.disparity),    static_cast<float>(s.pixel.rise),
                          static_cast<float>(s.position_error),     static_cast<uint8_t>(f.octave[i]),
                          static_cast<uint8_t>(s.is_stereo ? 1 : 0)};
    if (s.is_stereo) view->strongest.push_back(static_cast<int32_t>(i));
  }
  view->descriptors = f.descriptors;
  view->descriptor_bytes = f.descriptor_bytes;
  const auto is_stronger = [&f](int32_t a, int32_t b) {
    const float of_a = f.response[static_cast<size_t>(a)];
    const float of_b = f.response[static_cast<size_t>(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  };
  std::sort(view->strongest.begin(), view->strongest.end(), is_stronger);
  view->strongest.resize(std::min(view->strongest.size(), PlaceIndex::kStrongest));
  return view;
}

size_t GlobalMap::PlaceOf(int64_t id) const {
  const auto found = std::lower_bound(keyframes_.begin(), keyframes_.end(), id,
                                      [](const MapKeyframe& k, int64_t wanted) { return k.id < wanted; });
  return found != keyframes_.end() && found->id == id ? static_cast<size_t>(found - keyframes_.begin()) : kNone;
}

void GlobalMap::Add(int64_t id, double seconds, std::shared_ptr<const View> view) {
  MapKeyframe keyframe;
  keyframe.id = id;
  keyframe.seconds = seconds;
  keyframe.points.assign(view->keypoints.size(), -1);
  keyframe.view = std::move(view);
  keyframes_.push_back(std::move(keyframe));
}

void GlobalMap::Release(MapKeyframe* keyframe) {
  for (int32_t& id : keyframe->points) {
    if (id >= 0 && --points_[static_cast<size_t>(id)].sights == 0) --live_points_;
    id = -1;
  }
}

void GlobalMap::See(MapKeyframe* keyframe, size_t keypoint, int32_t point) {
  keyframe->points[keypoint] = point;
  if (points_[static_cast<size_t>(point)].sights++ == 0) ++live_points_;
}

void GlobalMap::Sync(const LocalMap& window) {
  std::vector<size_t> places;
  for (size_t k = 0; k < window.keyframes.size(); ++k) {
    places.push_back(PlaceOf(window.keyframes[k].id));
    if (places[k] == kNone) continue;
    MapKeyframe& keyframe = keyframes_[places[k]];
    keyframe.camera_from_world = window.keyframes[k].camera_from_world;
    Release(&keyframe);
    if (k == 0 || places[k - 1] == kNone) continue;
    keyframe.parent = window.keyframes[k - 1].id;
    keyframe.from_parent = keyframe.camera_from_world * window.keyframes[k - 1].camera_from_world.Inverse();
  }
  for (const MapPoint& point : window.points) {
    const auto id = static_cast<size_t>(point.id);
    for (const MapPoint::SightOf& s : point.sights) {
      const size_t place = places[window.PlaceOf(s.keyframe)];
      if (place == kNone) continue;
      if (id >= points_.size()) points_.resize(id + 1);
      points_[id].position = point.position;
      points_[id].keyframe = s.keyframe;
      See(&keyframes_[place], static_cast<size_t>(s.keypoint), static_cast<int32_t>(point.id));
    }
  }
  CountShared(window, places);
}

void GlobalMap::CountShared(const LocalMap& window, const std::vector<size_t>& places) {
  const size_t count = places.size();
  std::vector<int> shared(count * count, 0);
  std::vector<size_t> seen_by;
  for (const MapPoint& point : window.points) {
    seen_by.clear();
    for (const MapPoint::SightOf& s : point.sights) seen_by.push_back(window.PlaceOf(s.keyframe));
    for (const size_t a : seen_by) {
      for (const size_t b : seen_by) ++shared[a * count + b];
    }
  }
  for (size_t a = 0; a < count; ++a) {
    if (places[a] == kNone) continue;
    auto& neighbours = keyframes_[places[a]].neighbours;
    const auto is_of_window = [&](const MapKeyframe::Neighbour& n) {
      const size_t place = window.PlaceOf(n.id);
      return place < count && window.keyframes[place].id == n.id;
    };
    neighbours.erase(std::remove_if(neighbours.begin(), neighbours.end(), is_of_window), neighbours.end());
    for (size_t b = 0; b < count; ++b) {
      if (a == b || places[b] == kNone || shared[a * count + b] < kLeastShared) continue;
      neighbours.push_back({window.keyframes[b].id, shared[a * count + b]});
    }
    std::sort(neighbours.begin(), neighbours.end(), [](const auto& x, const auto& y) { return x.id < y.id; });
  }
}

void GlobalMap::Move(const std::map<int64_t, Pose>& motions) {
  for (GlobalPoint& point : points_) {
    if (point.sights > 0) point.position = MotionOf(motions, point.keyframe) * point.position;
  }
  for (MapKeyframe& k : keyframes_) k.camera_from_world = k.camera_from_world * MotionOf(motions, k.id).Inverse();
}

LocalMap GlobalMap::Around(int64_t id, int window, const SightErrors& errors) const {
  const MapKeyframe& centre = keyframes_[PlaceOf(id)];
  std::vector<MapKeyframe::Neighbour> nearest = centre.neighbours;
  std::sort(nearest.begin(), nearest.end(),
            [](const auto& a, const auto& b) { return a.shared != b.shared ? a.shared > b.shared : a.id < b.id; });
  std::vector<size_t> places{PlaceOf(id)};
  for (const MapKeyframe::Neighbour& n : nearest) {
    if (static_cast<int>(places.size()) < window) places.push_back(PlaceOf(n.id));
  }
  std::sort(places.begin(), places.end());

  LocalMap map;
  std::map<int32_t, MapPoint> points;
  for (const size_t place : places) {
    const MapKeyframe& k = keyframes_[place];
    map.keyframes.push_back({k.id, k.camera_from_world});
    for (size_t i = 0; i < k.points.size(); ++i) {
      if (k.points[i] < 0) continue;
      MapPoint& point = points[k.points[i]];
      point.id = k.points[i];
      point.position = points_[static_cast<size_t>(k.points[i])].position;
      point.descriptor.assign(k.view->descriptor(i), k.view->descriptor(i) + k.view->descriptor_bytes);
      point.octave = k.view->keypoints[i].octave;
      point.distance = (k.camera_from_world * point.position).norm();
      point.sights.push_back({k.id, static_cast<int32_t>(i), k.view->SightOf(i, errors)});
    }
  }
  for (auto& [point_id, point] : points) map.points.push_back(std::move(point));
  return map;
}

size_t GlobalMap::MemoryBytes() const {
  size_t bytes = points_.capacity() * sizeof(GlobalPoint) + keyframes_.capacity() * sizeof(MapKeyframe) +
                 loops_.capacity() * sizeof(LoopEdge);
  for (const MapKeyframe& k : keyframes_) {
    bytes += k.points.capacity() * sizeof(int32_t) + k.neighbours.capacity() * sizeof(MapKeyframe::Neighbour) +
             k.view->keypoints.capacity() * sizeof(ViewKeypoint) + k.view->descriptors.capacity() +
             k.view->strongest.capacity() * sizeof(int32_t) + sizeof(View);
  }
  return bytes;
}

void GlobalMap::Restore(std::vector<MapKeyframe> keyframes, std::vector<GlobalPoint> points,
                        std::vector<LoopEdge> loops) {
  keyframes_ = std::move(keyframes);
  points_ = std::move(points);
  loops_ = std::move(loops);
  live_points_ = 0;
  for (GlobalPoint& p : points_) p.sights = 0;
  for (MapKeyframe& k : keyframes_) {
    for (const int32_t id : k.points) {
      if (id >= 0 && points_[static_cast<size_t>(id)].sights++ == 0) ++live_points_;
    }
  }
}

}  // namespace glint::slam
