// Finds the keyframes that show a place of the map again, and the motions of all keyframes that close the loops.
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

// A copy of what loops need of the map, for another thread.
struct MapSnapshot {
  struct Frame {
    int64_t id;
    int64_t parent;
    Pose from_parent;
    Pose camera_from_world;
    std::shared_ptr<const View> view;
  };
  // A keyframe to look up, and the last one that may be its place: those around it are not news.
  struct Question {
    int64_t id;
    int64_t last;
  };
  StereoCamera camera;
  LevelScales scales;
  std::vector<Frame> frames;  // by id
  std::vector<LoopEdge> loops;
  std::vector<Question> questions;
};
// `asked`: keyframes of the map, in the order of ids.
MapSnapshot SnapshotOf(const GlobalMap& map, const StereoCamera& camera, const LevelScales& scales,
                       const std::vector<int64_t>& asked);

struct ClosedLoops {
  std::vector<LoopEdge> loops;
  std::map<int64_t, Pose> motions;  // new world from old, of every keyframe of the snapshot; empty: nothing moves
};

// Not thread-safe.
class LoopCloser {
 public:
  struct Place {
    int64_t keyframe = 0;
    PlaceFit fit;
  };

  LoopCloser(const SightErrors& errors, int min_inliers) : fitter_(errors), min_inliers_(min_inliers) {}

  // Puts the questions' keyframes into the index; with `close_loops`, looks each up before.
  ClosedLoops Check(const MapSnapshot& snapshot, bool close_loops);
  // The first keyframe, of those that look most like it, that the view fits.
  bool FindPlace(const MapSnapshot& snapshot, const View& view, int64_t last, Place* place);
  size_t MemoryBytes() const { return index_.MemoryBytes(); }

 private:
  PlaceIndex index_;
  PlaceFitter fitter_;
  const int min_inliers_;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_LOOPS_LOOP_CLOSER_H_
