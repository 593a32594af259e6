// All keyframes and points of a session, including odometry's window.
#ifndef GLINT_SLAM_MAP_GLOBAL_MAP_H_
#define GLINT_SLAM_MAP_GLOBAL_MAP_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "slam/estimate/local_map.h"
#include "slam/estimate/point_query.h"
#include "slam/estimate/pose_uncertainty.h"
#include "slam/front_end/frame_stamp.h"
#include "slam/front_end/front_end.h"
#include "slam/geometry/pose.h"
#include "slam/inertial/imu.h"
#include "slam/map/landmark_table.h"

namespace glint::slam {

// A keypoint and its Observation, in the layout of map files.
struct KeyframeKeypoint {
  float x = 0;
  float y = 0;
  float disparity = 0;  // of is_stereo
  float vertical_disparity = 0;
  float position_sigma = 1;
  uint8_t octave = 0;
  uint8_t is_stereo = 0;
  uint16_t unused = 0;  // map files have no bytes that are not set
};

// Features of a keyframe. Immutable once made, so that other threads may read them.
struct KeyframeFeatures {
  std::vector<KeyframeKeypoint> keypoints;
  std::vector<uint8_t> descriptors;  // one after another
  int descriptor_bytes = 0;
  std::vector<int32_t> strongest;  // stereo keypoints by response, at most PlaceIndex::kStrongest

  const uint8_t* descriptor(size_t i) const { return descriptors.data() + i * static_cast<size_t>(descriptor_bytes); }
  Observation ObservationOf(size_t keypoint, const NoiseModel& noise) const;
};
// `observations[i]` belongs to keypoint i of the frame.
std::shared_ptr<const KeyframeFeatures> KeyframeFeaturesOf(const StereoFrame& frame,
                                                           const std::vector<Observation>& observations);

struct MapKeyframe {
  struct Neighbour {
    int64_t id;
    int shared;  // points
  };
  int64_t id = 0;
  int32_t map_id = 0;  // keyframes of one map have one world
  FrameStamp stamp;
  Pose camera_from_world;
  std::shared_ptr<const KeyframeFeatures> features;
  std::vector<int32_t> points;  // id of each keypoint's point, or -1
  // The preceding keyframe of odometry's window or its heir, -1: none, and the pose relative to it.
  int64_t parent = -1;
  Pose from_parent;
  PackedUncertainty step;             // of from_parent; not known: as odometry's noise
  std::vector<Neighbour> neighbours;  // covisible keyframes, by id
};

// Noise of odometry between neighbouring keyframes, standard deviations in radians and metres.
inline constexpr double kOdometryRotationSigma = 0.0005;
inline double OdometryTranslationSigma(const Pose& moved) { return 0.003 + 0.01 * moved.translation.norm(); }
// The same as a pose's uncertainty.
PoseUncertainty UncertaintyOf(double rotation_sigma, double translation_sigma);
inline PoseUncertainty OdometryUncertainty(const Pose& moved) {
  return UncertaintyOf(kOdometryRotationSigma, OdometryTranslationSigma(moved));
}

// Two keyframes that see the same place.
struct LoopEdge {
  int64_t from = 0;
  int64_t to = 0;
  Pose to_from;
  double rotation_sigma = 0;  // standard deviations, radians and metres
  double translation_sigma = 0;
};

// Not thread-safe.
class GlobalMap {
 public:
  static constexpr size_t kNone = ~size_t{0};

  // The keypoints of `features` are those of the StereoFrame that the local map's observations name. Ids count up.
  // `step`: how uncertain the keyframe is relative to the one before.
  void Add(int64_t id, int32_t map_id, const FrameStamp& stamp, std::shared_ptr<const KeyframeFeatures> features,
           const PoseUncertainty& step = {});
  // Copies poses, points and observations of the window; keyframes that were not added are left out.
  void Sync(const LocalMap& window);
  // Corrects keyframes of a map by CorrectionOf() (new world from old), and each point with its last keyframe.
  void ApplyCorrections(const std::map<int64_t, Pose>& corrections, int32_t map_id);
  // Makes keyframes and points of map `from` those of map `to`, in whose world they are by now. It is as level as `to`
  // was, else as `from`.
  void Join(int32_t from, int32_t to);
  // Removes all of a map, which has no loops with others.
  void RemoveMap(int32_t map_id);
  // How many keyframes a map has; the map with the most, the older one among equals; a copy with that one alone.
  int64_t CountOf(int32_t map_id) const;
  int32_t LargestMap() const;
  GlobalMap Only(int32_t map_id) const;
  // Of a map's world; nothing unless it is level.
  std::optional<WorldLevel> LevelOf(int32_t map_id) const;
  const std::map<int32_t, WorldLevel>& levels() const { return levels_; }  // of all maps, by id
  void SetLevel(int32_t map_id, const WorldLevel& level) { levels_[map_id] = level; }
  void AddLoop(const LoopEdge& loop) { loops_.push_back(loop); }
  // Removes a keyframe, which is not in odometry's window, and the landmarks that nothing else observes. What it was
  // tied to is tied to `heir`, another keyframe, by the pose between both.
  void Remove(int64_t id, int64_t heir);
  // Removes the landmarks that this keyframe alone observes.
  void RemoveLandmarksSeenOnce(int64_t id);

  // The keyframe and those that share most points with it, `window` in all, with their points.
  LocalMap Around(int64_t id, int window, const NoiseModel& noise) const;

  size_t IndexOf(int64_t id) const;                                         // kNone: not there
  const std::vector<MapKeyframe>& keyframes() const { return keyframes_; }  // by id
  const LandmarkTable& points() const { return points_; }
  const std::vector<LoopEdge>& loops() const { return loops_; }
  int64_t live_points() const { return live_points_; }  // those with observations
  size_t MemoryBytes() const;

  // For reading files: what was written, whose references must be valid. Counts observations.
  void Restore(std::vector<MapKeyframe> keyframes, const std::vector<MapLandmark>& points, std::vector<LoopEdge> loops);

 private:
  void RemoveObservations(MapKeyframe* keyframe);
  // `indices`: of the window's keyframes; `shared`: how many points each sees with each later one.
  void UpdateNeighbours(const LocalMap& window, const std::vector<size_t>& indices, const std::vector<int>& shared);
  std::set<int64_t> TiedTo(int64_t id) const;
  // Whether an edge that is handed on is to tie two keyframes: not if one does already, nor between keyframes of many
  // edges if two through a third one do. Else, of a room that is passed again and again, all would be tied to all.
  bool NeedsTie(int64_t a, int64_t b) const;
  void HandOnEdges(const MapKeyframe& gone, const MapKeyframe& heir);
  void HandOnNeighbours(const MapKeyframe& gone, MapKeyframe* heir);

  std::vector<MapKeyframe> keyframes_;
  LandmarkTable points_;
  std::vector<LoopEdge> loops_;
  std::map<int32_t, WorldLevel> levels_;  // by map
  int64_t live_points_ = 0;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_MAP_GLOBAL_MAP_H_
