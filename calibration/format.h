// A calibration format: a row of Formats().
#ifndef GLINT_CALIBRATION_FORMAT_H_
#define GLINT_CALIBRATION_FORMAT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "calibration/calibration.h"
#include "calibration/document.h"

namespace glint::calibration {

// A file as it was read.
struct Source {
  std::string path;
  std::string text;
  Node root;                          // kEmpty unless the text is a document
  std::vector<std::string> warnings;  // of ParseDocument(); ReadCalibration() hands them on
};

// A file to write.
struct NamedText {
  std::string name;  // relative, '/' between folders: "cam0/sensor.yaml"
  std::string text;
};

struct Format {
  const char* name;   // "kalibr"
  const char* title;  // for people: "Kalibr camchain"
  // By content alone, never by the file's name. At most one format may recognise a file.
  bool (*recognises)(const Source& source);
  // `sources` are all of this format: one, one for each camera (left, right), or all that it recognises in a folder,
  // sorted by path. Warnings and errors name the path and field.
  absl::StatusOr<Calibration> (*read)(absl::Span<const Source> sources, const ReadOptions& options);
  // The rig in the files that this format wants; INVALID_ARGUMENT says what of the rig it has no place for. Null: Glint
  // does not write this format.
  absl::StatusOr<std::vector<NamedText>> (*write)(const Calibration& calibration);
};

// All formats. Each has a file of its own in calibration/formats/, and a line here.
absl::Span<const Format> Formats();

}  // namespace glint::calibration

#endif  // GLINT_CALIBRATION_FORMAT_H_
