// Stereo rigs of streams: from the wire, and what streams of one server have in common.
#ifndef GLINT_SERVER_WIRE_STEREO_RIG_H_
#define GLINT_SERVER_WIRE_STEREO_RIG_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "glint/v1/calibration.pb.h"
#include "server/config/options.h"
#include "server/pixels/rectification.h"

namespace glint {

void ToProto(const RectifiedPair& rectified, v1::RectifiedCamera* proto);

// Rectifications of the streams that are open, one for all that have the same rig. Thread-safe.
class Rectifications {
 public:
  // `max_bytes`: of all tables together.
  explicit Rectifications(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // Lives as long as its streams. INVALID_ARGUMENT names the field, as a part of "rig":
  // "rig.left.radial_tangential.k1". RESOURCE_EXHAUSTED: raw or rectified images of more than `max_pixels` both
  // together, or more tables than there may be.
  absl::StatusOr<std::shared_ptr<const Rectification>> Get(const v1::StereoRig& proto, int64_t max_pixels);

 private:
  using Shared = std::shared_ptr<const Rectification>;
  Shared Find(const std::string& key) const;  // with mutex_; null: none
  absl::StatusOr<Shared> Add(const std::string& key, Shared made);

  const int64_t max_bytes_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const Rectification>> of_rig_;  // by the bytes of the rig
};

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_STEREO_RIG_H_
