// Calibration files of other programs: recognised by their content, read into a rig.
#ifndef GLINT_CALIBRATION_CALIBRATION_H_
#define GLINT_CALIBRATION_CALIBRATION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "calibration/formats/format.h"

namespace glint::calibration {

// The calibration in files or folders: one, or one for each camera (left, right). INVALID_ARGUMENT says why: no format
// matches (it lists them, or says what the file seems to be), several do, a field is missing or bad. NOT_FOUND, or what
// reading a file says. Files over 16 MiB are refused. The first two cameras are left and right: as options or files of
// a camera each are ordered, as names or the format say, else by their poses (Calibration::reordered). Whether cameras
// are plausible is Check()'s question (calibration/check.h).
absl::StatusOr<Calibration> ReadCalibration(absl::Span<const std::string> paths, const ReadOptions& options = {});

// Of texts as if they were files of these names: one, or one for each camera.
absl::StatusOr<Calibration> ParseCalibrations(absl::Span<const NamedText> files, const ReadOptions& options = {});

// Of `text` as if it came from a file `path`.
absl::StatusOr<Calibration> ParseCalibration(absl::string_view path, absl::string_view text,
                                             const ReadOptions& options = {});

}  // namespace glint::calibration

#endif  // GLINT_CALIBRATION_CALIBRATION_H_
