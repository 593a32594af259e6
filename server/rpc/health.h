// Health of the server. NOT_SERVING until each lane has passed a warm-up frame, while a lane hangs, while draining, and
// after the loss of a device. Load alone never makes it NOT_SERVING.
#ifndef GLINT_SERVER_RPC_HEALTH_H_
#define GLINT_SERVER_RPC_HEALTH_H_

#include <condition_variable>
#include <functional>
#include <mutex>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace glint {

// Thread-safe.
class Health {
 public:
  explicit Health(int lanes) : cold_lanes_(lanes) {}

  void LaneIsWarm();
  // A lane leaves; `warm`: it had passed its warm-up. For the last lane call Fail().
  void LaneLeaves(bool warm);
  void StartDraining();
  // Sets the health of lanes. Not OK: a lane hangs, with the reason.
  void SetLaneHealth(const absl::Status& lanes);
  // Only the first failure is kept.
  void Fail(const absl::Status& why);

  bool serving() const;
  absl::Status failure() const;
  absl::Status lane_health() const;
  // False after `timeout`, or immediately if the state can no longer become true.
  bool WaitUntilServing(absl::Duration timeout);

  // `publish` is called now and at every change of serving(), one call at a time. It must not call back.
  void Publish(std::function<void(bool serving)> publish);

  // Blocks until RequestShutdown() (OK) or Fail().
  absl::Status WaitForEnd();
  void RequestShutdown();

 private:
  bool ServingLocked() const { return cold_lanes_ == 0 && lane_health_.ok() && !draining_ && failure_.ok(); }
  void ChangedLocked();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int cold_lanes_;
  bool draining_ = false;
  bool shutdown_requested_ = false;
  absl::Status lane_health_;
  absl::Status failure_;
  std::function<void(bool)> publish_;
  bool published_ = false;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_HEALTH_H_
