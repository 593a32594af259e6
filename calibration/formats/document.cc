#include "calibration/formats/document.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "calibration/formats/tree.h"
#include "features/error.h"

namespace glint::calibration {
namespace {

using Kind = Node::Kind;

absl::Status CheckIsText(absl::string_view text) {
  const auto at = std::find_if(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f';
  });
  if (at == text.end()) return absl::OkStatus();
  return LineError(static_cast<int>(1 + std::count(text.begin(), at, '\n')), "no text");
}

absl::Status AppendNumbers(const Node& node, const Node& part, std::vector<double>* numbers) {
  if (part.kind == Kind::kMap && part.Find("data") != nullptr) {
    const Node& data = *part.Find("data");
    return data.kind == Kind::kEmpty ? absl::OkStatus() : AppendNumbers(node, data, numbers);  // of 0 x 0
  }
  if (part.kind == Kind::kList) {
    for (const Node& child : part.children) {
      if (absl::Status status = AppendNumbers(node, child, numbers); !status.ok()) return status;
    }
    return absl::OkStatus();
  }
  const auto bad = [&] {
    const std::string shown = part.kind == Kind::kScalar ? Echo(part.text) : part.kind == Kind::kMap ? "{...}" : "";
    return absl::InvalidArgumentError(absl::StrCat(node.name.empty() ? "value" : node.name, ": \"", shown,
                                                   "\" in line ", part.line, " is no number"));
  };
  if (part.kind != Kind::kScalar) return bad();
  for (absl::string_view word : absl::StrSplit(part.text, absl::ByAnyChar(" \t\r\n,"), absl::SkipEmpty())) {
    double number;
    if (!absl::SimpleAtod(word, &number) || !std::isfinite(number)) return bad();
    numbers->push_back(number);
  }
  return absl::OkStatus();
}

}  // namespace

const Node* Node::Find(absl::string_view child) const {
  const auto at = std::find_if(children.begin(), children.end(), [&](const Node& c) { return c.name == child; });
  return kind == Kind::kMap && at != children.end() ? &*at : nullptr;
}

const Node* Node::FindPath(absl::string_view path) const {
  const Node* node = this;
  for (absl::string_view name : absl::StrSplit(path, '/')) {
    if (node != nullptr) node = node->Find(name);
  }
  return node;
}

absl::StatusOr<Node> ParseDocument(absl::string_view text, std::vector<std::string>* warnings) {
  text = absl::StripPrefix(text, "\xef\xbb\xbf");
  absl::Status status = CheckIsText(text);
  if (!status.ok()) return status;
  TreeBuilder tree(warnings);
  const absl::string_view begin = absl::StripLeadingAsciiWhitespace(text).substr(0, 1);
  if (begin == "<") {
    status = ParseXml(text, &tree);
  } else if (begin == "{" || begin == "[") {
    status = ParseJson(text, &tree);
  } else {
    status = ParseYaml(text, &tree);
  }
  if (!status.ok()) return status;
  Node root = tree.TakeRoot();
  if (root.kind != Kind::kList && root.kind != Kind::kMap) return LineError(1, "no document of names and values");
  return root;
}

absl::StatusOr<double> NumberOf(const Node& node) {
  absl::StatusOr<std::vector<double>> numbers = NumbersOf(node);
  if (!numbers.ok()) return numbers.status();
  if (numbers->size() == 1) return numbers->front();
  return absl::InvalidArgumentError(
      absl::StrCat(node.name.empty() ? "value" : node.name, ": ", numbers->size(), " numbers, not one"));
}

absl::StatusOr<std::vector<double>> NumbersOf(const Node& node) {
  std::vector<double> numbers;
  if (absl::Status status = AppendNumbers(node, node, &numbers); !status.ok()) return status;
  return numbers;
}

}  // namespace glint::calibration
