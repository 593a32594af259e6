// All keyframes and points of a session, of which odometry's window is the newest part.
#ifndef GLINT_SLAM_MAP_GLOBAL_MAP_H_
#define GLINT_SLAM_MAP_GLOBAL_MAP_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "slam/estimate/local_map.h"
#include "slam/estimate/point_query.h"
#include "slam/front_end/front_end.h"
#include "slam/geometry/pose.h"

namespace glint::slam {

// A keypoint as Sight has it.
struct ViewKeypoint {
  float x = 0;
  float y = 0;
  float disparity = 0;  // of is_stereo
  float rise = 0;
  float position_error = 1;
  uint8_t octave = 0;
  uint8_t is_stereo = 0;
  uint16_t unused = 0;  // map files have no bytes that are not set
};

// What a camera saw from one place. Never changes, so that other threads may read it.
struct View {
  std::vector<ViewKeypoint> keypoints;
  std::vector<uint8_t> descriptors;  // one after another
  int descriptor_bytes = 0;
  std::vector<int32_t> strongest;  // stereo keypoints by response, at most PlaceIndex::kStrongest

  const uint8_t* descriptor(size_t i) const { return descriptors.data() + i * static_cast<size_t>(descriptor_bytes); }
  Sight SightOf(size_t keypoint, const SightErrors& errors) const;
};
// `sights`: of each keypoint of the frame.
std::shared_ptr<const View> ViewOf(const StereoFrame& frame, const std::vector<Sight>& sights);

struct MapKeyframe {
  struct Neighbour {
    int64_t id;
    int shared;  // points
  };
  int64_t id = 0;
  double seconds = 0;
  Pose camera_from_world;
  std::shared_ptr<const View> view;
  std::vector<int32_t> points;  // id of each keypoint's point, or -1
  // The keyframe before it in odometry's window, and the motion between them as odometry found it; -1: none.
  int64_t parent = -1;
  Pose from_parent;
  std::vector<Neighbour> neighbours;  // covisible keyframes, by id
};

struct GlobalPoint {
  Eigen::Vector3d position = Eigen::Vector3d::Zero();  // world, metres
  int64_t keyframe = -1;                               // the last one that sees it, with which it moves
  int32_t sights = 0;                                  // 0: not a point any more
};

// Two keyframes that see the same place.
struct LoopEdge {
  int64_t from = 0;
  int64_t to = 0;
  Pose to_from;
  double turn_error = 0;  // standard deviations, radians and metres
  double shift_error = 0;
};

// Not thread-safe.
class GlobalMap {
 public:
  static constexpr size_t kNone = ~size_t{0};

  // The view's keypoints are those of the StereoFrame that the local map's sights name. Ids count up.
  void Add(int64_t id, double seconds, std::shared_ptr<const View> view);
  // Takes over poses, points and sights of the window; keyframes that were not added are left out.
  void Sync(const LocalMap& window);
  // Moves keyframes (new world from old, by id), the later ones by the last of them, and points with their keyframes.
  void Move(const std::map<int64_t, Pose>& motions);
  void AddLoop(const LoopEdge& loop) { loops_.push_back(loop); }

  // The keyframe and those that share most points with it, `window` in all, with their points.
  LocalMap Around(int64_t id, int window, const SightErrors& errors) const;

  size_t PlaceOf(int64_t id) const;                                         // kNone: not there
  const std::vector<MapKeyframe>& keyframes() const { return keyframes_; }  // by id
  const std::vector<GlobalPoint>& points() const { return points_; }        // by id
  const std::vector<LoopEdge>& loops() const { return loops_; }
  int64_t live_points() const { return live_points_; }  // those with sights
  size_t MemoryBytes() const;

  // For reading files: what was written, whose references must be valid. Counts sights.
  void Restore(std::vector<MapKeyframe> keyframes, std::vector<GlobalPoint> points, std::vector<LoopEdge> loops);

 private:
  void Release(MapKeyframe* keyframe);
  void See(MapKeyframe* keyframe, size_t keypoint, int32_t point);
  void CountShared(const LocalMap& window, const std::vector<size_t>& places);

  std::vector<MapKeyframe> keyframes_;
  std::vector<GlobalPoint> points_;
  std::vector<LoopEdge> loops_;
  int64_t live_points_ = 0;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_MAP_GLOBAL_MAP_H_
