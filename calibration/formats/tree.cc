#include "calibration/formats/tree.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "features/error.h"

namespace glint::calibration {
namespace {

constexpr size_t kMaxNodes = 200'000;

using Kind = Node::Kind;

bool SameValue(const Node& a, const Node& b) {
  return a.kind == b.kind && a.text == b.text &&
         std::equal(a.children.begin(), a.children.end(), b.children.begin(), b.children.end(),
                    [](const Node& x, const Node& y) { return x.name == y.name && SameValue(x, y); });
}

}  // namespace

absl::Status LineError(int line, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", text));
}

Node Scalar(absl::string_view text, int line) {
  Node node;
  node.kind = Kind::kScalar;
  node.text = std::string(text);
  node.line = line;
  return node;
}

Node Empty(int line) {
  Node node;
  node.line = line;
  return node;
}

size_t CountNodes(const Node& node) {
  size_t count = 1;
  for (const Node& child : node.children) count += CountNodes(child);
  return count;
}

void TreeBuilder::Name(std::string name) {
  open_.back().named = true;
  open_.back().name = std::move(name);
}

absl::Status TreeBuilder::Begin(Kind kind, int line) {
  if (open_.size() == kMaxDepth) return LineError(line, absl::StrCat("nested more than ", kMaxDepth, " deep"));
  open_.emplace_back();
  open_.back().node.kind = kind;
  open_.back().node.line = line;
  return absl::OkStatus();
}

Node TreeBuilder::End() {
  Node node = std::move(open_.back().node);
  open_.pop_back();
  return node;
}

absl::Status TreeBuilder::Count(size_t nodes, int line) {
  nodes_ += nodes;
  return nodes_ <= kMaxNodes ? absl::OkStatus() : LineError(line, absl::StrCat("more than ", kMaxNodes, " values"));
}

absl::Status TreeBuilder::Add(Node node) {
  if (absl::Status counted = Count(1, node.line); !counted.ok()) return counted;
  if (open_.empty()) {
    root_ = std::move(node);
    return absl::OkStatus();
  }
  Open& parent = open_.back();
  if (parent.node.kind == Kind::kMap) {
    node.name = std::exchange(parent.name, {});
    parent.named = false;
    const auto [at, is_new] = parent.names.emplace(node.name, parent.node.children.size());
    if (!is_new) {
      WarnIfDifferent(parent.node.children[at->second], node);
      return absl::OkStatus();
    }
  }
  parent.node.children.push_back(std::move(node));
  return absl::OkStatus();
}

void TreeBuilder::Warn(int line, absl::string_view text) {
  if (warnings_ != nullptr && warnings_->size() < 16) warnings_->push_back(absl::StrCat("line ", line, ": ", text));
}

void TreeBuilder::WarnIfDifferent(const Node& first, const Node& again) {
  if (SameValue(first, again)) return;
  Warn(again.line,
       absl::StrCat("\"", Echo(again.name), "\" has another value in line ", first.line, ", which was taken"));
}

}  // namespace glint::calibration
