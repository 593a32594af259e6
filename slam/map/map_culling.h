// Keeps a map as small as the space that it shows: keyframes that show nothing of their own are removed.
//
// ORB-SLAM removes a keyframe if three others observe 90 % of its landmarks at the same or a finer scale. Here a new
// pass makes landmarks of its own, so what counts is not who observes a landmark but who shows it: a keyframe that is
// known to show the same place, by landmarks in common or by a loop, has it in its image, from about the same side and
// from no farther off. The older keyframe stays, and one is enough: a second pass adds only what the first did not see.
// Where those do not suffice, keyframes are asked that nothing ties to the place, but that look at it by their poses:
// what they have in their images tells whether a wall is in between.
#ifndef GLINT_SLAM_MAP_MAP_CULLING_H_
#define GLINT_SLAM_MAP_MAP_CULLING_H_

#include <cstdint>
#include <deque>

#include "slam/estimate/local_map.h"
#include "slam/geometry/stereo_camera.h"
#include "slam/map/global_map.h"

namespace glint::slam {

// Deterministic: equal maps and calls remove the same keyframes. Not thread-safe.
class MapCuller {
 public:
  // A new keyframe of the map, which Cull() judges once it has left odometry's window.
  void Add(int64_t keyframe) { unjudged_.push_back(keyframe); }
  // Judges keyframes up to `last`, in the order of ids, at most two in a call. Those that are redundant beside older
  // ones are removed; of the others, the landmarks that nothing else has seen.
  void Cull(const StereoCamera& camera, const LocalMap& window, int64_t last, GlobalMap* map);
  // Removes the oldest keyframe that is redundant beside any others, but for the first of the map and those of the
  // window. Looks at a few keyframes in a call, and goes on from there in the next. False: none of them is.
  bool MakeRoom(const StereoCamera& camera, const LocalMap& window, GlobalMap* map);

 private:
  std::deque<int64_t> unjudged_;  // ascending
  int64_t last_looked_at_ = -1;   // by MakeRoom()
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_MAP_MAP_CULLING_H_
