// What calibration files are read into, and a format of them: a row of Formats().
#ifndef GLINT_CALIBRATION_FORMATS_FORMAT_H_
#define GLINT_CALIBRATION_FORMATS_FORMAT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "calibration/formats/document.h"
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
  // Of a camera with depth, metres: of a sample of 1, and the nominal baseline.
  std::optional<double> depth_unit, depth_baseline;
  // The format means its first camera to be the left one of a pair, as names do that have "left" in them.
  bool first_is_left = false;
  // Each camera has a file of its own: files that are given in an order say which is the left one.
  bool file_for_each = false;
  // Doubts, a sentence each, that name file and field: two values that differ, coefficients that were left out.
  std::vector<std::string> warnings;
  // What was chosen where files leave a choice, a sentence each: nothing is in doubt.
  std::vector<std::string> notes;
  // As a note, why the pair is not in the files' order; empty: it is.
  std::string reordered;
};

// What a file does not say itself.
struct ReadOptions {
  Shape image;                 // chooses the section of files with several sizes; 0 x 0: unknown
  std::string cameras;         // names of cameras or projections, "P2,P3"; empty: the format's first two
  bool in_file_order = false;  // cameras are of no stereo pair, whose left one would come first
};

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
  // Whether write() writes the inertial sensor; else it leaves it out.
  bool writes_imu = false;
};

// All formats. Each has a file of its own in this folder, and a line in format.cc.
absl::Span<const Format> Formats();

}  // namespace glint::calibration

#endif  // GLINT_CALIBRATION_FORMATS_FORMAT_H_
