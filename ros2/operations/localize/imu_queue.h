// Readings of an inertial sensor until they are sent, with the frame that they belong to.
#ifndef GLINT_ROS2_OPERATIONS_LOCALIZE_IMU_QUEUE_H_
#define GLINT_ROS2_OPERATIONS_LOCALIZE_IMU_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/localization.h"
#include "ros/messages.h"

namespace glint::ros2 {

// Thread-safe, but for Take() and WaitFor(), which are one thread's.
class ImuQueue {
 public:
  static constexpr size_t kMany = 2000;     // that should not wait for a frame
  static constexpr size_t kMessage = 4096;  // that one message takes

  // One that is not finite, or that no sensor has, is dropped and counted. True: kMany wait.
  bool Add(const ros::Imu& reading) ABSL_LOCKS_EXCLUDED(mutex_);
  // Until there is a reading at or after the time, which the frame's messages often overtake: `most` at most, and not
  // at all after three waits in a row that were in vain, until one comes in time. Or until Stop().
  void WaitFor(int64_t sensor_time_ns, absl::Duration most) ABSL_LOCKS_EXCLUDED(mutex_);
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);
  // WaitFor() waits again. Readings that wait stay.
  void Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  // The oldest that wait, kMessage at most; valid until the next call.
  const client::ImuReadings& Take() ABSL_LOCKS_EXCLUDED(mutex_);
  size_t size() const ABSL_LOCKS_EXCLUDED(mutex_);

  struct Counts {
    int64_t received = 0;
    int64_t bad = 0;
    int64_t dropped = 0;  // none of them could be sent, and others came
  };
  Counts counts() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  static constexpr size_t kMost = 8192;
  static constexpr int kVainWaits = 3;

  client::ImuReadings taken_;
  int vain_waits_ = 0;

  mutable absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  client::ImuReadings waiting_ ABSL_GUARDED_BY(mutex_);
  int64_t newest_ns_ ABSL_GUARDED_BY(mutex_) = std::numeric_limits<int64_t>::min();
  Counts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_OPERATIONS_LOCALIZE_IMU_QUEUE_H_
