// What comes in: images of a camera, put together to frames; calibration; an inertial sensor; fixed transforms.
#ifndef GLINT_ROS2_INPUT_INPUT_H_
#define GLINT_ROS2_INPUT_INPUT_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/client.h"
#include "client/localization.h"
#include "features/camera/rig.h"
#include "ros/messages.h"
#include "ros2/config/config.h"
#include "ros2/dds/participant.h"
#include "ros2/input/frame.h"

namespace glint::ros2 {

// Of the images that frames have: one of `camera`, `rig` and `raw_camera` (with `depth`) for pairs and depths; nothing
// for one camera without calibration. As client::LocalizeStreamOptions has them.
struct Cameras {
  std::optional<client::StereoCamera> camera;
  std::optional<client::StereoRig> rig;
  std::optional<client::RgbdCamera> raw_camera;
  std::optional<client::DepthCamera> depth;
  std::optional<RigidTransform> camera_from_imu;  // what is known of it from files and /tf_static
  std::optional<client::InertialSensor> imu;      // likewise, with what files say of its noise; there, too
  std::string source;                             // where they come from, for people, and what was assumed
  int version = 0;                                // 1 and up; another after each change
};

// Subscribes to what the configuration names. Thread-safe.
class Input {
 public:
  struct Callbacks {
    // In the order of stamps, which begins anew after one of over a second back. May not wait. One call at a time.
    std::function<void(std::shared_ptr<const Frame>)> on_frame;
    std::function<void(const ros::Imu&)> on_imu;
  };
  // `participant` must outlive it; `config` is one that CheckConfig() takes. Callbacks are called on threads of DDS,
  // until it is destroyed, and may not call it. INVALID_ARGUMENT and NOT_FOUND name the key of the configuration; else
  // errors of Participant::Subscribe().
  static absl::StatusOr<std::unique_ptr<Input>> Open(Participant* participant, const Config& config,
                                                     Callbacks callbacks);
  virtual ~Input() = default;

  // Where images are put from now on: a ring of the server that is connected; null: into memory of their own. The ring
  // must hold until it is replaced.
  virtual void UseRing(std::shared_ptr<client::SharedMemoryRing> ring) = 0;
  // Bytes of the largest picture so far, as a slot has to hold it; 0: none yet, or all are files.
  virtual size_t image_bytes() const = 0;

  // Nothing: CameraInfo is waited for (or, with an inertial sensor, its transform), which `why` then says.
  virtual std::optional<Cameras> cameras(std::string* why) const = 0;
  // `to` from `from` by the fixed transforms that were heard of, over any number of them: takes coordinates in `from`
  // to those in `to`.
  virtual std::optional<RigidTransform> Transform(const std::string& to, const std::string& from) const = 0;

  // By topic: messages, rate, losses; images without a partner; what could not be read, with the reason. WARN: a topic
  // without a publisher, or with nothing new; ERROR: the cameras cannot be known as things are.
  virtual ros::DiagnosticStatus Diagnose() = 0;
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_INPUT_INPUT_H_
