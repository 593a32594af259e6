// The points of a stream's map, read in parts beside the pairs.
#ifndef GLINT_CLIENT_SCENES_MAP_READER_H_
#define GLINT_CLIENT_SCENES_MAP_READER_H_

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/time/time.h"
#include "client/localization.h"
#include "client/view/base/scene.h"
#include "features/steady_time.h"

namespace glint::client {

// Hear() and Take() by the stream's thread, the rest by that which writes to it.
class MapReader {
 public:
  // `pause`: between the end of one reading and the begin of the next. `patience`: of Wait().
  explicit MapReader(absl::Duration pause = absl::Seconds(1), absl::Duration patience = absl::Seconds(30))
      : pause_(pause), patience_(patience) {}

  // From where a part is to be asked for. Nothing: not now, since the last one has not come, or all came just before.
  std::optional<MapPosition> Next();
  // Answers to that. All points of the map, when its last part has come; else null. Begins again if the map is another
  // one than that of the parts before, or an answer has failed.
  std::shared_ptr<const view::MapPoints> Take(const LocalizeAnswer& answer);

  // Of any answer, before Take().
  void Hear();
  // Waits for the part that was asked for. False: `stop` says so, or nothing was heard for `patience` since the call.
  bool Wait(const std::function<bool()>& stop);
  // What was read is left, and Next() is the beginning. Only after Wait(), or with another stream.
  void BeginAgain();
  // After Wait(): nothing is left of the last reading, or it has failed.
  bool is_whole() const;

 private:
  const absl::Duration pause_, patience_;
  mutable std::mutex mutex_;
  bool asked_ = false;
  absl::Time due_ = SteadyNow(), heard_ = due_;
  MapPosition next_;
  int map_id_ = 0;
  view::MapPoints points_;
};

}  // namespace glint::client

#endif  // GLINT_CLIENT_SCENES_MAP_READER_H_
