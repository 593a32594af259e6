// --draw of glint localize: the path from above.
#ifndef GLINT_CLIENT_CLI_OUTPUT_DRAW_PATH_H_
#define GLINT_CLIENT_CLI_OUTPUT_DRAW_PATH_H_

#include <opencv2/core.hpp>
#include <vector>

#include "client/localization.h"
#include "client/scenes/path_trace.h"

namespace glint::cli {

// 1, 2 or 5 times a power of ten, at most `length`: for bars of a scale.
double RoundLength(double length);

// Thread-compatible.
class PathPicture {
 public:
  void Add(const client::Location& found);
  // The picture, 8-bit BGR, with the path so far (in a level world since that) beside it, from above: green where
  // the camera was located, orange where it coasted, red where it had no pose; keyframes as dots. The scale fits the
  // path, with a bar of its length.
  cv::Mat Draw(const cv::Mat& picture) const;

 private:
  struct Step {
    client::PlaceFromAbove at;
    client::LocationStatus status;
    bool keyframe;
  };
  std::vector<Step> steps_;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_DRAW_PATH_H_
