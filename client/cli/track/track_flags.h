// The options of glint track that are its own.
#ifndef GLINT_CLIENT_CLI_TRACK_TRACK_FLAGS_H_
#define GLINT_CLIENT_CLI_TRACK_TRACK_FLAGS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/base/flags.h"
#include "client/cli/output/live_view.h"
#include "client/cli/output/stream_report.h"
#include "client/tracking.h"

namespace glint::cli {

inline constexpr char kTrackCsvHeader[] = "image,camera,id,age,x,y,last_x,last_y,state,residual,gain,offset";

struct TrackFlags : AnswerFlags {
  bool cameras = false;  // each operand is one
  std::string points;    // file; empty: none
  std::optional<int> target, in_flight, max_frames;
  std::optional<float> min_share;
  bool predict = false;
  std::optional<int> template_frames;
  view::ViewAddresses view;

  void AddTo(Flags* flags);
  absl::Status Validate() const;
  // What the server is asked for, but for the detector and the number of cameras.
  client::TrackStreamOptions Options() const;

 private:
  std::optional<int> levels_, patch_size_, coarse_patch_size_, fine_levels_, max_iterations_;
  std::optional<float> epsilon_, min_eigenvalue_, max_move_, max_residual_, max_backward_error_;
  TrackOptions track_;
};

// Points to follow, by camera.
struct PointList {
  std::vector<float> x, y;
};

// A file of lines "X Y" or "X Y CAMERA" (also with commas), pixels of the first picture; '#' begins a comment. A list
// for each of `cameras`. INVALID_ARGUMENT names the file and the line.
absl::StatusOr<std::vector<PointList>> ReadPoints(const std::string& path, int cameras);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_TRACK_TRACK_FLAGS_H_
