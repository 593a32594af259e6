#include "slam/map/map_culling.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace glint::slam {
namespace {

constexpr double kRedundantShare = 0.9;  // of a keyframe's landmarks
constexpr double kSameSide = 0.866;      // cosine of 30 degrees: descriptors bear no larger turn of a surface
constexpr double kFarther = 1.2;         // times the distance: a level of the pyramid
constexpr double kNearest = 0.1;         // metres
constexpr int kJudgedAtOnce = 2, kLookedAtOnce = 8;
constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

// A landmark as a keyframe sees it.
struct SeenLandmark {
  Eigen::Vector3d position;
  Eigen::Vector3d towards_camera;  // of length 1
  double distance;
};

std::vector<SeenLandmark> LandmarksOf(const GlobalMap& map, const MapKeyframe& keyframe) {
  const Eigen::Vector3d centre = keyframe.camera_from_world.Inverse().translation;
  std::vector<SeenLandmark> seen;
  for (const int32_t id : keyframe.points) {
    if (id < 0) continue;
    const Eigen::Vector3d& position = map.points()[static_cast<size_t>(id)].position;
    const double distance = (centre - position).norm();
    seen.push_back({position, (centre - position) / distance, distance});
  }
  return seen;
}

// Whether a camera has a landmark in its image, from the same side and at the same or a finer scale.
bool Shows(const StereoCamera& camera, const Pose& camera_from_world, const Eigen::Vector3d& centre,
           const SeenLandmark& landmark) {
  const Eigen::Vector3d p = camera_from_world * landmark.position;
  if (p.z() < kNearest) return false;
  const double x = camera.focal_length * p.x() / p.z() + camera.centre_x;
  const double y = camera.focal_length * p.y() / p.z() + camera.centre_y;
  const double distance = p.norm();
  return x >= 0 && y >= 0 && x < camera.image.width && y < camera.image.height &&
         distance <= kFarther * landmark.distance &&
         landmark.towards_camera.dot(centre - landmark.position) >= kSameSide * distance;
}

// Indices of the keyframes with ids below `before` that are known to show the same place: those with landmarks in
// common, those at loops, and neighbours of both.
std::vector<size_t> ViewsBeside(const GlobalMap& map, const MapKeyframe& keyframe, int64_t before) {
  std::vector<int64_t> ids;
  for (const MapKeyframe::Neighbour& n : keyframe.neighbours) ids.push_back(n.id);
  for (const LoopEdge& l : map.loops()) {
    if (l.from == keyframe.id) ids.push_back(l.to);
    if (l.to == keyframe.id) ids.push_back(l.from);
  }
  for (size_t i = 0, direct = ids.size(); i < direct; ++i) {
    for (const MapKeyframe::Neighbour& n : map.keyframes()[map.IndexOf(ids[i])].neighbours) ids.push_back(n.id);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::vector<size_t> views;
  for (const int64_t id : ids) {
    if (id < before && id != keyframe.id) views.push_back(map.IndexOf(id));
  }
  return views;
}

// The keyframe that shows most of a redundant one's landmarks, the older one among equals; -1: it is not redundant.
int64_t HeirOf(const GlobalMap& map, const StereoCamera& camera, const MapKeyframe& keyframe, int64_t before) {
  const std::vector<SeenLandmark> landmarks = LandmarksOf(map, keyframe);
  std::vector<uint8_t> is_shown(landmarks.size(), 0);
  int64_t heir = -1;
  int most = 0;
  for (const size_t view : ViewsBeside(map, keyframe, before)) {
    const MapKeyframe& other = map.keyframes()[view];
    const Eigen::Vector3d centre = other.camera_from_world.Inverse().translation;
    int shown = 0;
    for (size_t i = 0; i < landmarks.size(); ++i) {
      if (!Shows(camera, other.camera_from_world, centre, landmarks[i])) continue;
      is_shown[i] = 1;
      ++shown;
    }
    if (shown <= most) continue;
    most = shown;
    heir = other.id;
  }
  const auto all = static_cast<double>(std::count(is_shown.begin(), is_shown.end(), 1));
  return all >= kRedundantShare * static_cast<double>(landmarks.size()) ? heir : -1;
}

bool IsIn(const LocalMap& window, int64_t id) {
  const size_t index = window.IndexOf(id);
  return index < window.keyframes.size() && window.keyframes[index].id == id;
}

}  // namespace

void MapCuller::Cull(const StereoCamera& camera, const LocalMap& window, int64_t last, GlobalMap* map) {
  for (int i = 0; i < kJudgedAtOnce && !unjudged_.empty(); ++i) {
    const int64_t id = unjudged_.front();
    if (id > last || IsIn(window, id)) return;
    unjudged_.pop_front();
    if (map->IndexOf(id) == GlobalMap::kNone) continue;
    const int64_t heir = HeirOf(*map, camera, map->keyframes()[map->IndexOf(id)], /*before=*/id);
    if (heir < 0) {
      map->RemoveLandmarksSeenOnce(id);
    } else {
      map->Remove(id, heir);
    }
  }
}

bool MapCuller::MakeRoom(const StereoCamera& camera, const LocalMap& window, GlobalMap* map) {
  const int64_t end = unjudged_.empty() ? kAny : unjudged_.front();
  if (map->keyframes().size() < 2) return false;
  for (int i = 0; i < kLookedAtOnce; ++i) {
    const std::vector<MapKeyframe>& keyframes = map->keyframes();
    auto next = std::upper_bound(keyframes.begin() + 1, keyframes.end(), last_looked_at_,
                                 [](int64_t id, const MapKeyframe& k) { return id < k.id; });
    if (next == keyframes.end() || next->id >= end) next = keyframes.begin() + 1;
    last_looked_at_ = next->id;
    if (next->id >= end || IsIn(window, next->id)) continue;
    const int64_t heir = HeirOf(*map, camera, *next, /*before=*/kAny);
    if (heir < 0) continue;
    map->Remove(next->id, heir);
    return true;
  }
  return false;
}

}  // namespace glint::slam
