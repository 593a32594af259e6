// Answers to localization as scenes of the live view have them: where the camera was, and stage times.
#ifndef GLINT_CLIENT_SCENES_PATH_TRACE_H_
#define GLINT_CLIENT_SCENES_PATH_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/localization.h"
#include "client/result.h"
#include "client/view/base/scene.h"

namespace glint::client {

// Where a camera is from above, metres: with x to the right and z ahead of a map's first camera, or, in a level world
// (Location::level), with its -y to the right and its x ahead.
struct PlaceFromAbove {
  double right = 0, ahead = 0;
  bool level = false;  // places in a level world and others say nothing of each other
};
PlaceFromAbove FromAbove(const Location& found);

// The path so far (in a level world since that: FromAbove()), in bounded memory: of a long one every second step is
// left out, again and again. Thread-compatible.
class PathTrace {
 public:
  void Add(const Location& found);
  const std::vector<view::Step>& steps() const { return steps_; }

  static constexpr size_t kMaxSteps = 4096;

 private:
  std::vector<view::Step> steps_;
  bool level_ = false;
};

using Stages = std::vector<std::pair<std::string, int64_t>>;  // nanoseconds

// In the order of a frame. `own` are those of the kind of answer, between detect and download.
Stages StagesOf(const Timings& timings, absl::Duration round_trip, const Stages& own);

}  // namespace glint::client

#endif  // GLINT_CLIENT_SCENES_PATH_TRACE_H_
