// Calibration files of other programs: recognised by their content, read into a rig.
#ifndef GLINT_CALIBRATION_CALIBRATION_H_
#define GLINT_CALIBRATION_CALIBRATION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "features/camera/rig.h"
#include "features/types.h"

namespace glint::calibration {

// A rig and what its files say and do not say.
struct Calibration {
  std::string format;  // a name of Formats(): "kalibr", "euroc", ...
  Rig rig;
  // The cameras are pinholes of rectified images: side by side, without distortion, of one focal length and centre.
  bool rectified = false;
  // Scale of the translations is unknown (OpenCV's: the board's unit; COLMAP's: any).
  bool unit_is_unknown = false;
  // Doubts, a sentence each, that name file and field: two values that differ, coefficients that were left out.
  std::vector<std::string> warnings;
};

// What a file does not say itself.
struct ReadOptions {
  Shape image;          // chooses the section of files with several sizes; 0 x 0: unknown
  std::string cameras;  // names of cameras or projections, "P2,P3"; empty: the format's first two
};

// The calibration in files or folders: one, or one for each camera (left, right). INVALID_ARGUMENT says why: no format
// matches (it lists them), several do, a field is missing or bad. NOT_FOUND, or what reading a file says. Files over
// 16 MiB are refused. Whether cameras are plausible is Check()'s question (calibration/check.h).
absl::StatusOr<Calibration> ReadCalibration(absl::Span<const std::string> paths, const ReadOptions& options = {});

// Of `text` as if it came from a file `path`.
absl::StatusOr<Calibration> ParseCalibration(absl::string_view path, absl::string_view text,
                                             const ReadOptions& options = {});

}  // namespace glint::calibration

#endif  // GLINT_CALIBRATION_CALIBRATION_H_
