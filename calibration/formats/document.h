// Trees of names and values, read from YAML, JSON and XML.
#ifndef GLINT_CALIBRATION_FORMATS_DOCUMENT_H_
#define GLINT_CALIBRATION_FORMATS_DOCUMENT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace glint::calibration {

// One value of a document.
struct Node {
  enum class Kind { kEmpty, kScalar, kList, kMap };
  Kind kind = Kind::kEmpty;
  std::string name;            // in the map that has it; empty in lists and at the root
  std::string text;            // of a scalar, without quotes
  std::vector<Node> children;  // of a list or a map, in the file's order
  int line = 0;                // where it begins, from 1

  // The first child of this name, or null.
  const Node* Find(absl::string_view child) const;
  // By names with '/' between them: Find("imu0/T_i_b"); or null.
  const Node* FindPath(absl::string_view path) const;
};

// A document of YAML, JSON or XML, told apart by its text: what FileStorage of OpenCV writes ("%YAML:1.0",
// opencv_storage) included, and the slips that published files have: a colon without a blank, a comma missing between
// numbers, keys twice (the first counts; if their values differ, `warnings` get a sentence with name and lines).
// INVALID_ARGUMENT with the line: it is none, or over a limit: nesting 64, 200 000 nodes, 1 MiB of YAML.
absl::StatusOr<Node> ParseDocument(absl::string_view text, std::vector<std::string>* warnings = nullptr);

// A number. INVALID_ARGUMENT names `node` and its text.
absl::StatusOr<double> NumberOf(const Node& node);
// All numbers of a scalar, a list, nested lists, or a matrix (a map with `data`, which may be empty), in order.
// INVALID_ARGUMENT names what is no number.
absl::StatusOr<std::vector<double>> NumbersOf(const Node& node);

}  // namespace glint::calibration

#endif  // GLINT_CALIBRATION_FORMATS_DOCUMENT_H_
