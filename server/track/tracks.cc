#include "server/track/tracks.h"

#include "features/error.h"

namespace glint {

absl::Status ValidateTrackingOptions(const TrackingOptions& o) {
  if (absl::Status s = ValidateTrackOptions(o.track); !s.ok()) return s;
  if (o.cameras < 1 || o.cameras > kMaxTrackCameras) return OutOfRangeError("cameras", o.cameras, 1, kMaxTrackCameras);
  if (o.target < 1 || o.target > kMaxTrackPoints) return OutOfRangeError("target", o.target, 1, kMaxTrackPoints);
  // Written so that NaN fails.
  if (!(o.min_share >= 0 && o.min_share <= 1)) return OutOfRangeError("min_share", o.min_share, 0, 1);
  if (o.template_frames < 0 || o.template_frames > kMaxTemplateFrames) {
    return OutOfRangeError("template_frames", o.template_frames, 0, kMaxTemplateFrames);
  }
  if (const int64_t all = int64_t{o.target} * o.cameras; all > o.max_tracks) {
    return LimitError("target of all cameras", all, o.max_tracks, "--max-tracks");
  }
  return absl::OkStatus();
}

void CameraTracks::Resize(size_t count) {
  id.resize(count);
  age.resize(count);
  state.resize(count);
  origin.resize(count);
  for (auto* v : {&x, &y, &last_x, &last_y, &residual, &gain, &offset}) v->resize(count);
}

void CameraTracks::Begin(uint64_t new_id, float new_x, float new_y, int frame) {
  const size_t i = count();
  Resize(i + 1);
  id[i] = new_id;
  age[i] = 0;
  x[i] = last_x[i] = new_x;
  y[i] = last_y[i] = new_y;
  state[i] = TrackState::kTracked;
  origin[i] = {new_x, new_y, 0, frame};
  residual[i] = offset[i] = 0;
  gain[i] = 1;
}

void CameraTracks::Append(const CameraTracks& from, size_t i) {
  id.push_back(from.id[i]);
  age.push_back(from.age[i]);
  state.push_back(from.state[i]);
  origin.push_back(from.origin[i]);
  x.push_back(from.x[i]);
  y.push_back(from.y[i]);
  last_x.push_back(from.last_x[i]);
  last_y.push_back(from.last_y[i]);
  residual.push_back(from.residual[i]);
  gain.push_back(from.gain[i]);
  offset.push_back(from.offset[i]);
}

}  // namespace glint
