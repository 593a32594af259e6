#include "server/operations/track/tracks.h"

#include "features/error.h"
#include "features/server_error.h"
#include "features/status_macros.h"

namespace glint {

absl::Status ValidateTrackingOptions(const TrackingOptions& o) {
  GLINT_RETURN_IF_ERROR(ValidateTrackOptions(o.track));
  if (o.cameras < 1 || o.cameras > kMaxTrackCameras) return OutOfRangeError("cameras", o.cameras, 1, kMaxTrackCameras);
  if (o.target < 1 || o.target > kMaxTrackPoints) return OutOfRangeError("target", o.target, 1, kMaxTrackPoints);
  // Written so that NaN fails.
  if (!(o.min_share >= 0 && o.min_share <= 1)) return OutOfRangeError("min_share", o.min_share, 0, 1);
  if (o.template_frames < 0 || o.template_frames > kMaxTemplateFrames) {
    return OutOfRangeError("template_frames", o.template_frames, 0, kMaxTemplateFrames);
  }
  if (const int64_t all = int64_t{o.target} * o.cameras; all > o.max_tracks) {
    return LimitError("target", all, "tracks of all cameras", o.max_tracks, "--max-tracks");
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

void CameraTracks::Begin(uint64_t first_id, absl::Span<const float> new_x, absl::Span<const float> new_y, int frame) {
  size_t i = count();
  Resize(i + new_x.size());
  for (size_t k = 0; k < new_x.size(); ++k, ++i) {
    id[i] = first_id + k;
    age[i] = 0;
    x[i] = last_x[i] = new_x[k];
    y[i] = last_y[i] = new_y[k];
    state[i] = TrackState::kTracked;
    origin[i] = {new_x[k], new_y[k], 0, frame};
    residual[i] = offset[i] = 0;
    gain[i] = 1;
  }
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

void CameraTracks::TakeLiving(const CameraTracks& from) {
  const size_t most = from.count();
  Resize(most);
  size_t living = 0;
  const auto take = [&](const auto& values, auto* taken) {
    living = 0;
    for (size_t i = 0; i < most; ++i) {
      (*taken)[living] = values[i];
      living += from.lives(i) ? 1 : 0;
    }
  };
  take(from.id, &id);
  take(from.age, &age);
  take(from.state, &state);
  take(from.origin, &origin);
  take(from.x, &x);
  take(from.y, &y);
  take(from.last_x, &last_x);
  take(from.last_y, &last_y);
  take(from.residual, &residual);
  take(from.gain, &gain);
  take(from.offset, &offset);
  Resize(living);
}

}  // namespace glint
