// Loop closing: finds keyframes that show a place of the map again, and the corrections of all poses.
#ifndef GLINT_SLAM_LOOPS_LOOP_CLOSER_H_
#define GLINT_SLAM_LOOPS_LOOP_CLOSER_H_

#include <cstdint>
#include <map>
#include <memory>
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
    int64_t parent;
    Pose from_parent;
    Pose camera_from_world;
    std::shared_ptr<const KeyframeFeatures> features;
  };
  // A keyframe to look up, and the newest keyframe that may match it: its covisible neighbours are excluded.
  struct LoopQuery {
    int64_t id;
    int64_t last;
  };
  StereoCamera camera;
  LevelScales scales;
  std::vector<Frame> frames;  // by id
  std::vector<LoopEdge> loops;
  std::vector<LoopQuery> queries;
};
// `queried`: ids of keyframes of the map to look up, ascending.
MapSnapshot SnapshotOf(const GlobalMap& map, const StereoCamera& camera, const LevelScales& scales,
                       const std::vector<int64_t>& queried);

struct ClosedLoops {
  std::vector<LoopEdge> loops;
  std::map<int64_t, Pose> corrections;  // new world from old, for every keyframe of the snapshot; empty: no change
};

// Not thread-safe.
class LoopCloser {
 public:
  struct Place {
    int64_t keyframe = 0;
    PlaceFit fit;
  };

  LoopCloser(const NoiseModel& noise, int min_inliers) : fitter_(noise), min_inliers_(min_inliers) {}

  // Adds the queries' keyframes to the index; with `close_loops`, looks each up first.
  ClosedLoops Check(const MapSnapshot& snapshot, bool close_loops);
  // The first of the candidates most similar to `query`, up to keyframe `last`, whose place fits.
  bool FindPlace(const MapSnapshot& snapshot, const KeyframeFeatures& query, int64_t last, Place* place);
  size_t MemoryBytes() const { return index_.MemoryBytes(); }

 private:
  PlaceIndex index_;
  PlaceFitter fitter_;
  const int min_inliers_;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_LOOPS_LOOP_CLOSER_H_
