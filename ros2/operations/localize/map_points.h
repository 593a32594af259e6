// The points of a stream's map, read in parts beside the frames.
#ifndef GLINT_ROS2_OPERATIONS_LOCALIZE_MAP_POINTS_H_
#define GLINT_ROS2_OPERATIONS_LOCALIZE_MAP_POINTS_H_

#include <array>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/localization.h"
#include "features/steady_time.h"

namespace glint::ros2 {

// Next() and Begin() by the thread that writes to the stream, Take() by the stream's.
class MapPoints {
 public:
  using Points = std::vector<std::array<float, 3>>;  // in the map's world, metres

  // `pause`: between the end of one reading and the begin of the next.
  explicit MapPoints(absl::Duration pause) : pause_(pause) {}

  // Of a new stream.
  void Begin();
  // From where a part is to be asked for. Nothing: not now.
  std::optional<client::MapPosition> Next() ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers to that. With the last part, `use` has all points. Begins again if the map is another one than that of the
  // parts before, or an answer has failed.
  void Take(const client::LocalizeAnswer& answer, absl::FunctionRef<void(const Points&)> use)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const absl::Duration pause_;
  absl::Mutex mutex_;
  bool asked_ ABSL_GUARDED_BY(mutex_) = false;  // then the rest, but for pause_, is Take()'s
  bool is_first_ = true;                        // part of a reading
  absl::Time due_ = SteadyNow();
  client::MapPosition next_;
  int map_id_ = 0;
  Points points_;
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_OPERATIONS_LOCALIZE_MAP_POINTS_H_
