#include <algorithm>
#include <cstddef>
#include <pugixml.hpp>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "calibration/formats/tree.h"

namespace glint::calibration {
namespace {

using Kind = Node::Kind;

// Texts of FileStorage may be in quotes.
absl::string_view Unquoted(absl::string_view text) {
  const bool quoted = text.size() > 1 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

// An element with elements is a map, or a list if they are called "_"; another is its text. The root's name is lost.
class XmlReader {
 public:
  XmlReader(absl::string_view text, TreeBuilder* tree) : text_(text), tree_(tree) {}

  absl::Status Read() {
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(text_.data(), text_.size(), pugi::parse_default);
    if (!parsed) return LineError(LineAt(parsed.offset), absl::StrCat("XML: ", parsed.description()));
    return Add(document.document_element());
  }

 private:
  int LineAt(ptrdiff_t offset) {
    const size_t end = std::min(static_cast<size_t>(std::max<ptrdiff_t>(offset, 0)), text_.size());
    if (end > counted_) {
      line_ += static_cast<int>(std::count(text_.begin() + counted_, text_.begin() + end, '\n'));
      counted_ = end;
    }
    return line_;
  }
  absl::Status Add(const pugi::xml_node& element) {
    const int line = LineAt(element.offset_debug());
    const auto is_element = [](const pugi::xml_node& node) { return node.type() == pugi::node_element; };
    const pugi::xml_node first = element.find_child(is_element);
    if (!first) {
      const absl::string_view text = absl::StripAsciiWhitespace(element.child_value());
      return tree_->Add(text.empty() ? Empty(line) : Scalar(Unquoted(text), line));
    }
    const Kind kind = absl::string_view(first.name()) == "_" ? Kind::kList : Kind::kMap;
    if (absl::Status status = tree_->Begin(kind, line); !status.ok()) return status;
    for (const pugi::xml_node& child : element.children()) {
      if (!is_element(child)) continue;
      if (kind == Kind::kMap) tree_->Name(child.name());
      if (absl::Status status = Add(child); !status.ok()) return status;
    }
    return tree_->Add(tree_->End());
  }

  absl::string_view text_;
  TreeBuilder* tree_;
  int line_ = 1;
  size_t counted_ = 0;
};

}  // namespace

absl::Status ParseXml(absl::string_view text, TreeBuilder* tree) { return XmlReader(text, tree).Read(); }

}  // namespace glint::calibration
