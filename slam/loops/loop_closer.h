// Loop closing: finds keyframes that show a place of the map again, and the corrections of all poses.
#ifndef GLINT_SLAM_LOOPS_LOOP_CLOSER_H_
#define GLINT_SLAM_LOOPS_LOOP_CLOSER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "slam/geometry/stereo_camera.h"
#include "slam/loops/place_fit.h"
#include "slam/map/global_map.h"
#include "slam/map/place_index.h"

namespace glint::slam {

// A copy of the parts of the map that loop closing reads, for another thread.
struct MapSnapshot {
  struct Frame {
    int64_t id;
    int32_t map_id;
    int64_t parent;
    Pose from_parent;
    Pose camera_from_world;
    std::shared_ptr<const KeyframeFeatures> features;
  };
  // A keyframe to look up, and the newest keyframe that may match it: its covisible neighbours are excluded, and of its
  // own map what comes shortly before.
  struct LoopQuery {
    int64_t id;
    int64_t last;
  };
  StereoCamera camera;
  LevelScales scales;
  std::vector<Frame> frames;  // by id
  std::vector<LoopEdge> loops;
  std::vector<LoopQuery> queries;
  std::set<int32_t> level_maps;  // in whose worlds z points up, which corrections leave as it is
};
// `queried`: ids of keyframes of the map to look up, ascending.
MapSnapshot SnapshotOf(const GlobalMap& map, const StereoCamera& camera, const LevelScales& scales,
                       const std::vector<int64_t>& queried);

struct ClosedLoops {
  int64_t last = -1;  // keyframe that was looked up; -1: none
  std::vector<LoopEdge> loops;
  // New world from old, for every keyframe of the map `map_id` in the snapshot; empty: no change.
  std::map<int64_t, Pose> corrections;
  int32_t map_id = 0;
  int32_t into = 0;  // the older map whose world the corrections lead to: both become one; else map_id again
};

// Not thread-safe.
class LoopCloser {
 public:
  struct Place {
    int64_t keyframe = 0;
    PlaceFit fit;
  };

  LoopCloser(const NoiseModel& noise, int min_inliers) : fitter_(noise), min_inliers_(min_inliers) {}

  // Adds the queries' keyframes, all of one map, to the index; with `close_loops`, looks each up first. The index
  // forgets keyframes that a snapshot has no longer.
  ClosedLoops Check(const MapSnapshot& snapshot, bool close_loops);
  // The first of the candidates most similar to `query`, up to keyframe `last`, whose place fits.
  bool FindPlace(const MapSnapshot& snapshot, const KeyframeFeatures& query, int64_t last, Place* place);
  size_t MemoryBytes() const { return index_.MemoryBytes(); }

 private:
  // Where a keyframe of one map was found in another.
  struct Meeting {
    int32_t map_id;
    int32_t other_id;
    Pose other_from_map;  // worlds
  };

  void ForgetAllBut(const MapSnapshot& snapshot);

  // A place in the keyframe's own map; whether it corrects the map.
  bool AddLoop(const MapSnapshot& snapshot, const MapSnapshot::Frame& frame, const Place& place,
               ClosedLoops* closed) const;
  // Two keyframes that agree where another map is make both maps one.
  void Meet(const MapSnapshot& snapshot, const MapSnapshot::Frame& frame, const Place& place, ClosedLoops* closed);

  std::optional<Meeting> meeting_;  // the last one, of maps that are still two
  PlaceIndex index_;
  PlaceFitter fitter_;
  const int min_inliers_;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_LOOPS_LOOP_CLOSER_H_
