// Stereo rigs and raw cameras with depth of streams: from the wire, and what streams of one server have in common.
#ifndef GLINT_SERVER_WIRE_STEREO_RIG_H_
#define GLINT_SERVER_WIRE_STEREO_RIG_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "glint/v1/calibration.pb.h"
#include "server/config/options.h"
#include "server/pixels/rectification.h"
#include "server/wire/calibration_directory.h"

namespace glint {

void ToProto(const RectifiedPair& rectified, v1::RectifiedCamera* proto);

// Rectifications of the streams that are open, one for all that have the same rig or raw camera. Thread-safe.
class Rectifications {
 public:
  // What is doubtful in the calibration of this name, a sentence.
  using Warn = std::function<void(absl::string_view name, const std::string& warning)>;

  // `max_bytes`: of all tables together. `calibration_directory`: where those with names are; empty: nowhere. `warn`,
  // if any, is called for each one with a name that no open stream has.
  explicit Rectifications(int64_t max_bytes, std::string calibration_directory = "", Warn warn = nullptr)
      : max_bytes_(max_bytes), calibrations_(std::move(calibration_directory)), warn_(std::move(warn)) {}

  // Lives as long as its streams. INVALID_ARGUMENT names the field, as a part of "rig":
  // "rig.left.radial_tangential.k1". RESOURCE_EXHAUSTED: raw or rectified images of more than `max_pixels` both
  // together, or more tables than there may be. A rig with a name is read from its files by each call; errors are those
  // of CalibrationDirectory, and FAILED_PRECONDITION where a rig by value has INVALID_ARGUMENT.
  absl::StatusOr<std::shared_ptr<const Rectification>> Get(const v1::StereoRig& proto, int64_t max_pixels);
  // The same of a camera with depth, as a part of "raw_camera". Pixels are those of an image and its depths.
  absl::StatusOr<std::shared_ptr<const Rectification>> Get(const v1::RgbdCamera& proto, int64_t max_pixels);

 private:
  using Shared = std::shared_ptr<const Rectification>;
  Shared Find(const std::string& key) const;  // with mutex_; null: none
  template <typename Proto>
  absl::StatusOr<Shared> GetOf(const char* field, const Proto& proto, int64_t max_pixels);
  absl::StatusOr<Shared> Add(const std::string& key, Shared made);

  const int64_t max_bytes_;
  const CalibrationDirectory calibrations_;
  const Warn warn_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const Rectification>> of_cameras_;  // by KeyOf()
};

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_STEREO_RIG_H_
