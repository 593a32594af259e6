// Maps as files: a header with magic number and version, the map, whether its world is level, and a checksum of all.
// Little-endian. Of the version before, files are read, too: their worlds are not level.
#ifndef GLINT_SLAM_MAP_MAP_FILE_H_
#define GLINT_SLAM_MAP_MAP_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slam/estimate/point_query.h"
#include "slam/front_end/feature_kind.h"
#include "slam/geometry/stereo_camera.h"
#include "slam/map/global_map.h"

namespace glint::slam {

struct MapFileLimits {
  int64_t keyframes = 0;
  int64_t points = 0;
};

struct LoadedMap {
  StereoCamera camera;  // with the rig's rotation
  LevelScales scales;
  FeatureKind features;
  GlobalMap map;  // of a keyframe at least; its id is 0
};

// Writes the file as AtomicFile does, with its errors: any number of writers and readers may use one path at a time.
// `features` made all descriptors of the map.
absl::Status WriteMapFile(const std::string& path, const StereoCamera& camera, const LevelScales& scales,
                          const FeatureKind& features, const GlobalMap& map);

// NOT_FOUND: no such file. INVALID_ARGUMENT: not a map, of another version, cut short, damaged, of another camera than
// `camera` (whose rig rotation does not matter) or another detector than that of `features`, or a number of the level
// out of its range. RESOURCE_EXHAUSTED: over a limit. Allocates no more than what the file's length and the limits
// allow.
absl::StatusOr<LoadedMap> ReadMapFile(const std::string& path, const StereoCamera& camera, const FeatureKind& features,
                                      const MapFileLimits& limits);

}  // namespace glint::slam

#endif  // GLINT_SLAM_MAP_MAP_FILE_H_
