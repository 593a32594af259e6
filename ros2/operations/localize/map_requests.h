// Requests to save and load maps, from wherever they come, until the server answers them.
#ifndef GLINT_ROS2_OPERATIONS_LOCALIZE_MAP_REQUESTS_H_
#define GLINT_ROS2_OPERATIONS_LOCALIZE_MAP_REQUESTS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "client/localization.h"

namespace glint::ros2 {

// Thread-safe.
class MapRequests {
 public:
  enum class Kind { kSave, kLoad };
  using Done = std::function<void(const absl::Status&)>;

  // Ids of messages are from here on.
  explicit MapRequests(uint64_t first_id) : next_id_(first_id) {}

  // A stream is open.
  void Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  // It has ended: what is not answered fails with `why`, and so does what comes before the next Begin().
  void End(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);
  // Likewise, for good.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

  // `done` is called with how it went, once, on any thread, or before this returns.
  void Add(Kind kind, const std::string& name, Done done) ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes what was added since the last call. Errors are the stream's end.
  absl::Status Write(client::LocalizeStream* stream) ABSL_LOCKS_EXCLUDED(mutex_);
  // What the server says of the message `id`; one that is not of these requests is ignored.
  void Answered(uint64_t id, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Request {
    Kind kind;
    std::string name;
    uint64_t id;
    Done done;
    bool written = false;
  };

  void FailAll(const absl::Status& why, bool for_good) ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_);
  // Why there is no stream.
  absl::Status no_stream_ ABSL_GUARDED_BY(mutex_) = absl::UnavailableError("no stream to a server is open");
  std::vector<Request> requests_ ABSL_GUARDED_BY(mutex_);  // oldest first
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_OPERATIONS_LOCALIZE_MAP_REQUESTS_H_
