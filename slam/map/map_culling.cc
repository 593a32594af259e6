#include "slam/map/map_culling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "slam/estimate/point_query.h"
#include "slam/map/place_index.h"

namespace glint::slam {
namespace {

constexpr double kRedundantShare = 0.9;  // of a keyframe's landmarks
constexpr double kSameSide = 0.866;      // cosine of 30 degrees: descriptors bear no larger turn of a surface
constexpr double kFarther = 1.2;         // times the distance: a level of the pyramid
constexpr double kNearest = 0.1;         // metres
// Of keyframes that nothing ties to a place, the few that should show the most of it are compared with it: at least
// this share of a sample of its landmarks must be in their image, and of these, this share within pixels of where they
// lie.
constexpr size_t kCompared = 6, kSample = 48;
constexpr double kLeastShown = 0.25, kLeastSeen = 0.3;
constexpr double kSeenWithin = 10;
constexpr int kJudgedAtOnce = 2, kLookedAtOnce = 8;
constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

// A landmark as a keyframe sees it.
struct SeenLandmark {
  Eigen::Vector3d position;
  Eigen::Vector3d towards_camera;  // of length 1
  double distance;
  const uint8_t* descriptor;
};

std::vector<SeenLandmark> LandmarksOf(const GlobalMap& map, const MapKeyframe& keyframe) {
  const Eigen::Vector3d centre = keyframe.camera_from_world.Inverse().translation;
  std::vector<SeenLandmark> seen;
  for (size_t i = 0; i < keyframe.points.size(); ++i) {
    if (keyframe.points[i] < 0) continue;
    const Eigen::Vector3d& position = map.points()[static_cast<size_t>(keyframe.points[i])].position;
    const double distance = (centre - position).norm();
    seen.push_back({position, (centre - position) / distance, distance, keyframe.features->descriptor(i)});
  }
  return seen;
}

std::vector<SeenLandmark> SampleOf(const std::vector<SeenLandmark>& landmarks) {
  std::vector<SeenLandmark> sample;
  const size_t count = std::min(kSample, landmarks.size());
  for (size_t i = 0; i < count; ++i) sample.push_back(landmarks[i * landmarks.size() / count]);
  return sample;
}

// Another keyframe of the same world.
class View {
 public:
  View(const StereoCamera& camera, const MapKeyframe& keyframe)
      : camera_(camera), keyframe_(keyframe), centre_(keyframe.camera_from_world.Inverse().translation) {}

  const Eigen::Vector3d& centre() const { return centre_; }

  // Whether it would have a landmark in its image, from the same side and at the same or a finer scale, if nothing is
  // in between.
  bool Shows(const SeenLandmark& landmark) const {
    const Eigen::Vector3d p = keyframe_.camera_from_world * landmark.position;
    if (p.z() < kNearest) return false;
    const Eigen::Vector2d at = PixelOf(p);
    const double distance = p.norm();
    return at.x() >= 0 && at.y() >= 0 && at.x() < camera_.image.width && at.y() < camera_.image.height &&
           distance <= kFarther * landmark.distance &&
           landmark.towards_camera.dot(centre_ - landmark.position) >= kSameSide * distance;
  }

  // Whether it has, of those that it shows, enough in its image: else something is in between.
  bool Sees(const std::vector<SeenLandmark>& landmarks) const {
    int shown = 0, seen = 0;
    for (const SeenLandmark& l : landmarks) {
      if (!Shows(l)) continue;
      ++shown;
      seen += IsSeen(l) ? 1 : 0;
    }
    return shown > 0 && seen >= kLeastSeen * shown;
  }

 private:
  Eigen::Vector2d PixelOf(const Eigen::Vector3d& p) const {
    return {camera_.focal_length * p.x() / p.z() + camera_.centre_x,
            camera_.focal_length * p.y() / p.z() + camera_.centre_y};
  }
  // A keypoint of like appearance is where the landmark lies.
  bool IsSeen(const SeenLandmark& landmark) const {
    const KeyframeFeatures& features = *keyframe_.features;
    const Eigen::Vector2d at = PixelOf(keyframe_.camera_from_world * landmark.position);
    for (size_t i = 0; i < features.keypoints.size(); ++i) {
      const KeyframeKeypoint& k = features.keypoints[i];
      if (std::abs(k.x - at.x()) > kSeenWithin || std::abs(k.y - at.y()) > kSeenWithin) continue;
      if (HammingDistance(features.descriptor(i), landmark.descriptor, features.descriptor_bytes) <= kMaxPointBits) {
        return true;
      }
    }
    return false;
  }

  const StereoCamera& camera_;
  const MapKeyframe& keyframe_;
  const Eigen::Vector3d centre_;
};

// How far the centre of a view may be away that shows so many of the landmarks: none of them is nearer, as they are
// seen from the same side and from no farther off.
double ReachOf(const std::vector<SeenLandmark>& landmarks, size_t shown) {
  std::vector<double> distances;
  distances.reserve(landmarks.size());
  for (const SeenLandmark& l : landmarks) distances.push_back(l.distance);
  if (shown == 0 || shown > distances.size()) return 0;
  std::sort(distances.begin(), distances.end());
  return distances[distances.size() - shown];
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

// Of all others below `before`, those that should show the most of it and do: their images tell.
std::vector<size_t> ViewsFound(const GlobalMap& map, const StereoCamera& camera, const MapKeyframe& keyframe,
                               int64_t before, const std::vector<size_t>& beside,
                               const std::vector<SeenLandmark>& landmarks) {
  const std::vector<SeenLandmark> sample = SampleOf(landmarks);
  const auto least = static_cast<size_t>(std::ceil(kLeastShown * static_cast<double>(sample.size())));
  const double reach = ReachOf(sample, least);
  const Eigen::Vector3d centre = keyframe.camera_from_world.Inverse().translation;
  std::vector<std::pair<size_t, size_t>> candidates;  // landmarks of the sample that are not shown, and index
  for (size_t i = 0; i < map.keyframes().size() && map.keyframes()[i].id < before; ++i) {
    const MapKeyframe& other = map.keyframes()[i];
    if (other.map_id != keyframe.map_id || other.id == keyframe.id) continue;
    if (std::binary_search(beside.begin(), beside.end(), i)) continue;
    const View view(camera, other);
    if ((view.centre() - centre).norm() > reach) continue;
    const auto shown = static_cast<size_t>(
        std::count_if(sample.begin(), sample.end(), [&view](const SeenLandmark& l) { return view.Shows(l); }));
    if (shown >= least) candidates.emplace_back(sample.size() - shown, i);
  }
  std::sort(candidates.begin(), candidates.end());
  candidates.resize(std::min(candidates.size(), kCompared));
  std::vector<size_t> found;
  for (const auto& [hidden, i] : candidates) {
    if (View(camera, map.keyframes()[i]).Sees(sample)) found.push_back(i);
  }
  return found;
}

// The keyframe that shows most of a redundant one's landmarks, the older one among equals; -1: it is not redundant.
int64_t HeirOf(const GlobalMap& map, const StereoCamera& camera, const MapKeyframe& keyframe, int64_t before) {
  const std::vector<SeenLandmark> landmarks = LandmarksOf(map, keyframe);
  std::vector<uint8_t> is_shown(landmarks.size(), 0);
  int64_t heir = -1;
  int most = 0;
  // Whether all that were taken show enough.
  const auto take = [&](const std::vector<size_t>& views) {
    for (const size_t i : views) {
      const View view(camera, map.keyframes()[i]);
      int shown = 0;
      for (size_t l = 0; l < landmarks.size(); ++l) {
        if (!view.Shows(landmarks[l])) continue;
        is_shown[l] = 1;
        ++shown;
      }
      if (shown <= most) continue;
      most = shown;
      heir = map.keyframes()[i].id;
    }
    const auto all = static_cast<double>(std::count(is_shown.begin(), is_shown.end(), 1));
    return all >= kRedundantShare * static_cast<double>(landmarks.size());
  };
  const std::vector<size_t> beside = ViewsBeside(map, keyframe, before);
  return take(beside) || take(ViewsFound(map, camera, keyframe, before, beside, landmarks)) ? heir : -1;
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
