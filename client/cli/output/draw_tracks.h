// --draw of glint track: where points have been.
#ifndef GLINT_CLIENT_CLI_OUTPUT_DRAW_TRACKS_H_
#define GLINT_CLIENT_CLI_OUTPUT_DRAW_TRACKS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <opencv2/core.hpp>

#include "client/tracking.h"

namespace glint::cli {

// Thread-compatible.
class Trails {
 public:
  // After each answer: live tracks grow by their positions, those that ended go.
  void Add(const client::TrackArrays& tracks);
  // The last kMaxLength positions of each live track of the camera, coloured by its age: from blue (new) to red
  // (kOldest frames and more). `canvas` is 8-bit BGR.
  void Draw(int camera, cv::Mat* canvas) const;

  static constexpr size_t kMaxLength = 32;
  static constexpr uint32_t kOldest = 60;

  struct Trail {
    uint32_t age = 0;
    std::deque<cv::Point2f> points;  // oldest first
  };
  // Those of a camera, by id.
  const std::map<uint64_t, Trail>& of(int camera) const;

 private:
  std::map<int, std::map<uint64_t, Trail>> cameras_;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_DRAW_TRACKS_H_
