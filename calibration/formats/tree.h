// Building the tree of a document, which the parsers of YAML, JSON and XML share.
#ifndef GLINT_CALIBRATION_FORMATS_TREE_H_
#define GLINT_CALIBRATION_FORMATS_TREE_H_

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "calibration/formats/document.h"

namespace glint::calibration {

inline constexpr size_t kMaxDepth = 64;  // of lists and maps

// INVALID_ARGUMENT "line 7: text".
absl::Status LineError(int line, absl::string_view text);

Node Scalar(absl::string_view text, int line);
Node Empty(int line);
size_t CountNodes(const Node& node);

// Makes the tree of what a parser reports in the text's order.
class TreeBuilder {
 public:
  explicit TreeBuilder(std::vector<std::string>* warnings) : warnings_(warnings) {}

  bool WantsName() const { return !open_.empty() && open_.back().node.kind == Node::Kind::kMap && !open_.back().named; }
  bool IsInList() const { return !open_.empty() && open_.back().node.kind == Node::Kind::kList; }
  void Name(std::string name);
  absl::Status Begin(Node::Kind kind, int line);
  Node End();
  absl::Status Count(size_t nodes, int line);
  // A value where the text is.
  absl::Status Add(Node node);
  void Warn(int line, absl::string_view text);
  Node TakeRoot() { return std::move(root_); }

 private:
  struct Open {
    Node node;
    bool named = false;
    std::string name;  // of the next value
    std::unordered_map<std::string, size_t> names;
  };

  void WarnIfDifferent(const Node& first, const Node& again);

  std::vector<std::string>* warnings_;
  std::vector<Open> open_;
  Node root_;
  size_t nodes_ = 0;
};

// Each parser reports one text to `tree`. INVALID_ARGUMENT with the line.
absl::Status ParseYaml(absl::string_view text, TreeBuilder* tree);
absl::Status ParseJson(absl::string_view text, TreeBuilder* tree);
absl::Status ParseXml(absl::string_view text, TreeBuilder* tree);

}  // namespace glint::calibration

#endif  // GLINT_CALIBRATION_FORMATS_TREE_H_
