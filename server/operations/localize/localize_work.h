// A lane's part of a pair that is to be located, or of a request about a map.
#ifndef GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_WORK_H_
#define GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_WORK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/operations/localize/localization.h"
#include "server/operations/localize/map_directory.h"
#include "server/pixels/image_source.h"
#include "server/pixels/pair_masks.h"
#include "server/pixels/rectification.h"
#include "server/schedule/lane_context.h"

namespace glint {

// What a pair is charged until it is known what it took, as pixels of a detector, of about a nanosecond each.
inline constexpr int64_t kPixelsOfLocation = 20'000'000;

struct LocalizeTask {
  enum class Kind { kTrack, kRelocalize, kRead, kSave, kLoad, kImu };
  Kind kind = Kind::kTrack;
  ImageSource left;
  ImageSource right;                 // kNone: the left one has both images; or depths
  std::optional<DepthSensor> depth;  // then
  Shape depth_shape;                 // then
  PairMaskSources masks;             // of the pair, in place of the stream's
  const PairMasks* stream_masks = nullptr;
  const DetectorOptions* detector = nullptr;     // of the stream
  const Rectification* rectification = nullptr;  // of raw images; null: they are rectified
  int64_t time_ns = 0;                           // of capture
  int64_t turn = 0;                              // of the message in the stream
  bool had_readings = false;                     // of the inertial sensor up to time_ns, when the pair came
  bool ahead_of_readings = false;                // there were none when a lane began it
  bool wants_poses = false;                      // of kImu, at these times of the sensor's clock
  std::vector<int64_t> pose_times;
  MapPosition from;  // of kRead
  std::string file;  // of kSave and kLoad

  // What was found, in memory of the lane.
  const Location* location = nullptr;  // of a pair
  const MapPart* part = nullptr;       // of kRead
  ImuReceived received;                // of kImu
  std::vector<ImuPose> poses;          // likewise
  MapSize size;
};

// Both images together have up to the context's `max_pixels`. The lane finds, matches and follows features; the pose is
// found in this thread, and the map adjusted in those of the stream. Maps are saved in `maps`. What that takes and
// frees is not counted as the frame path's.
absl::Status RunLocalize(const LaneContext& context, MapDirectory* maps, Localization* stream, LocalizeTask* task,
                         FrameJob* job);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_WORK_H_
