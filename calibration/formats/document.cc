#include "calibration/formats/document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <map>
#include <pugixml.hpp>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "features/error.h"

namespace glint::calibration {
namespace {

constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxNodes = 200'000;
constexpr size_t kMaxYamlBytes = 1 << 20;  // yaml-cpp holds a list as tokens until it ends

using Kind = Node::Kind;

absl::Status LineError(int line, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", text));
}

bool SameValue(const Node& a, const Node& b) {
  return a.kind == b.kind && a.text == b.text &&
         std::equal(a.children.begin(), a.children.end(), b.children.begin(), b.children.end(),
                    [](const Node& x, const Node& y) { return x.name == y.name && SameValue(x, y); });
}

size_t CountNodes(const Node& node) {
  size_t count = 1;
  for (const Node& child : node.children) count += CountNodes(child);
  return count;
}

// Makes the tree of what a parser reports in the text's order.
class TreeBuilder {
 public:
  explicit TreeBuilder(std::vector<std::string>* warnings) : warnings_(warnings) {}

  bool WantsName() const { return !open_.empty() && open_.back().node.kind == Kind::kMap && !open_.back().named; }
  void Name(std::string name) {
    open_.back().named = true;
    open_.back().name = std::move(name);
  }
  absl::Status Begin(Kind kind, int line) {
    if (open_.size() == kMaxDepth) return LineError(line, absl::StrCat("nested more than ", kMaxDepth, " deep"));
    open_.emplace_back();
    open_.back().node.kind = kind;
    open_.back().node.line = line;
    return absl::OkStatus();
  }
  Node End() {
    Node node = std::move(open_.back().node);
    open_.pop_back();
    return node;
  }
  absl::Status Count(size_t nodes, int line) {
    nodes_ += nodes;
    return nodes_ <= kMaxNodes ? absl::OkStatus() : LineError(line, absl::StrCat("more than ", kMaxNodes, " values"));
  }
  // A value where the text is.
  absl::Status Add(Node node) {
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
  void Warn(int line, absl::string_view text) {
    if (warnings_ != nullptr && warnings_->size() < 16) warnings_->push_back(absl::StrCat("line ", line, ": ", text));
  }
  bool IsInList() const { return !open_.empty() && open_.back().node.kind == Kind::kList; }
  Node TakeRoot() { return std::move(root_); }

 private:
  struct Open {
    Node node;
    bool named = false;
    std::string name;  // of the next value
    std::unordered_map<std::string, size_t> names;
  };

  void WarnIfDifferent(const Node& first, const Node& again) {
    if (SameValue(first, again)) return;
    Warn(again.line,
         absl::StrCat("\"", Echo(again.name), "\" has another value in line ", first.line, ", which was taken"));
  }

  std::vector<std::string>* warnings_;
  std::vector<Open> open_;
  Node root_;
  size_t nodes_ = 0;
};

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

// --- YAML

bool AreNumbers(absl::string_view text) {
  double ignored;
  const std::vector<absl::string_view> words = absl::StrSplit(text, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
  return words.size() > 1 &&
         std::all_of(words.begin(), words.end(), [&](auto word) { return absl::SimpleAtod(word, &ignored); });
}

class YamlEvents : public YAML::EventHandler {
 public:
  explicit YamlEvents(TreeBuilder* tree) : tree_(tree) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { Value(Empty(LineOf(mark)), anchor); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto at = anchors_.find(anchor);
    if (at == anchors_.end()) throw YAML::ParserException(mark, "an alias of what is not yet complete");
    Check(tree_->Count(CountNodes(at->second), LineOf(mark)));
    Value(at->second, YAML::NullAnchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, const std::string& value) override {
    if (tree_->WantsName()) return tree_->Name(value);
    if (tree_->IsInList() && AreNumbers(value)) tree_->Warn(LineOf(mark), "a comma is missing between numbers");
    Value(Scalar(value, LineOf(mark)), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Begin(mark, anchor, Kind::kList);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Begin(mark, anchor, Kind::kMap);
  }
  void OnSequenceEnd() override { End(); }
  void OnMapEnd() override { End(); }

  const absl::Status& status() const { return status_; }

 private:
  struct Stop : std::exception {};  // the reason is status_

  static int LineOf(const YAML::Mark& mark) { return mark.line + 1; }
  void Check(absl::Status status) {
    status_ = std::move(status);
    if (!status_.ok()) throw Stop();
  }
  void Begin(const YAML::Mark& mark, YAML::anchor_t anchor, Kind kind) {
    if (tree_->WantsName()) throw YAML::ParserException(mark, "a name is a list or a map");
    Check(tree_->Begin(kind, LineOf(mark)));
    open_anchors_.push_back(anchor);
  }
  void End() {
    const YAML::anchor_t anchor = open_anchors_.back();
    open_anchors_.pop_back();
    Value(tree_->End(), anchor);
  }
  void Value(Node node, YAML::anchor_t anchor) {
    if (tree_->WantsName()) return tree_->Name(node.text);
    if (anchor != YAML::NullAnchor) {
      Check(tree_->Count(CountNodes(node), node.line));
      anchors_[anchor] = node;
    }
    Check(tree_->Add(std::move(node)));
  }

  TreeBuilder* tree_;
  absl::Status status_;
  std::vector<YAML::anchor_t> open_anchors_;
  std::map<YAML::anchor_t, Node> anchors_;
};

// Where a name that begins a line or an entry ends: at its colon. 0: there is none.
size_t NameEnd(absl::string_view text) {
  size_t end = 0;
  if (text.empty() || !(absl::ascii_isalpha(text[0]) || text[0] == '_')) return 0;
  while (end < text.size() && (absl::ascii_isalnum(text[end]) || absl::StrContains("_.-", text[end]))) ++end;
  return end < text.size() && text[end] == ':' ? end : 0;
}

// A text that is neither in quotes nor a list, and that YAML would not take for one value: "cam0: MT9M034", "@topic".
bool NeedsQuotes(absl::string_view value) {
  if (value.empty() || absl::StrContains("[{\"'|>&*!#-?", value[0])) return false;
  return absl::StrContains("@`%", value[0]) || absl::StrContains(value, ": ") || absl::EndsWith(value, ":");
}

// YAML without the slips of published files that yaml-cpp refuses, each line where it was.
class YamlCleaner {
 public:
  absl::Status AddLine(absl::string_view line) {
    ++line_;
    line = absl::StripSuffix(line, "\r");
    if (depth_ == 0 && absl::StartsWith(line, "%")) line = "";  // "%YAML:1.0" is no directive
    const size_t indent = std::min(line.find_first_not_of(" \t"), line.size());
    for (char c : line.substr(0, indent)) text_ += c == '\t' ? "  " : " ";
    line.remove_prefix(indent);
    if (depth_ == 0) line = AddName(line);
    absl::Status status = AddValue(line);
    text_ += '\n';
    return status;
  }
  const std::string& text() const { return text_; }

 private:
  // The dashes and the name before a value, and what it has no place for: returns the rest.
  absl::string_view AddName(absl::string_view line) {
    while (absl::StartsWith(line, "- ")) {
      text_ += "- ";
      line = absl::StripLeadingAsciiWhitespace(line.substr(2));
    }
    const size_t colon = NameEnd(line);
    if (colon == 0) return line;
    absl::StrAppend(&text_, line.substr(0, colon), ": ");
    line = absl::StripLeadingAsciiWhitespace(line.substr(colon + 1));
    const absl::string_view value = absl::StripTrailingAsciiWhitespace(line.substr(0, line.find(" #")));
    if (!NeedsQuotes(value)) return line;
    absl::StrAppend(&text_, "'", absl::StrReplaceAll(value, {{"'", "''"}}), "'");
    return line.substr(value.size());
  }
  absl::Status AddValue(absl::string_view line) {
    bool begins = true;  // a value or a name may begin here
    char quote = 0;
    for (size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (quote != 0) {
        if (c == '\\' && quote == '"' && i + 1 < line.size()) text_ += line[i++];
        if (c == quote) quote = 0;
        text_ += line[i];
        continue;
      }
      if (c == '#' && (i == 0 || absl::ascii_isspace(line[i - 1]))) return absl::OkStatus();
      if (begins && depth_ > 0) {
        if (const size_t colon = NameEnd(line.substr(i)); colon != 0) {
          absl::StrAppend(&text_, line.substr(i, colon), ": ");
          i += colon;
          continue;
        }
      }
      text_ += c;
      if (begins && (c == '"' || c == '\'')) quote = c;
      if ((c == '[' || c == '{') && (begins || depth_ > 0) && ++depth_ > kMaxDepth) {
        return LineError(line_, absl::StrCat("nested more than ", kMaxDepth, " deep"));
      }
      if ((c == ']' || c == '}') && depth_ > 0) --depth_;
      begins = absl::ascii_isspace(c) ? begins : absl::StrContains("[{,:", c);
    }
    return absl::OkStatus();
  }

  std::string text_;
  int line_ = 0;
  size_t depth_ = 0;  // of lists and maps in brackets
};

absl::Status ParseYaml(absl::string_view text, TreeBuilder* tree) {
  if (text.size() > kMaxYamlBytes) {
    return absl::InvalidArgumentError(absl::StrCat(text.size(), " bytes of YAML are more than ", kMaxYamlBytes));
  }
  YamlCleaner clean;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::Status status = clean.AddLine(line); !status.ok()) return status;
  }
  YamlEvents events(tree);
  try {
    std::istringstream stream(clean.text());
    YAML::Parser parser(stream);
    parser.HandleNextDocument(events);  // false: an empty text
  } catch (const YAML::Exception& e) {
    return LineError(e.mark.line + 1, e.msg);
  } catch (const std::exception& e) {
    return events.status().ok() ? absl::InvalidArgumentError(e.what()) : events.status();
  }
  return absl::OkStatus();
}

// --- JSON

class JsonParser {
 public:
  JsonParser(absl::string_view text, TreeBuilder* tree) : rest_(text), tree_(tree) {}

  absl::Status Parse() {
    absl::Status status = Value();
    if (!status.ok()) return status;
    return Next() == 0 ? absl::OkStatus() : Error("text after the end");
  }

 private:
  absl::Status Error(absl::string_view text) const { return LineError(line_, absl::StrCat("JSON: ", text)); }
  // The first character that is not blank; 0 at the end.
  char Next() {
    while (!rest_.empty() && absl::ascii_isspace(rest_[0])) {
      line_ += rest_[0] == '\n';
      rest_.remove_prefix(1);
    }
    return rest_.empty() ? 0 : rest_[0];
  }
  bool Take(char c) { return Next() == c && (rest_.remove_prefix(1), true); }

  absl::Status Value() {
    switch (Next()) {
      case '{':
        return Children(Kind::kMap, '}');
      case '[':
        return Children(Kind::kList, ']');
      case '"': {
        const int line = line_;
        std::string text;
        if (absl::Status status = String(&text); !status.ok()) return status;
        return tree_->Add(Scalar(text, line));
      }
      default:
        return Word();
    }
  }
  absl::Status Children(Kind kind, char end) {
    if (absl::Status status = tree_->Begin(kind, line_); !status.ok()) return status;
    rest_.remove_prefix(1);
    bool first = true;
    while (!Take(end)) {
      if (!first && !Take(',')) return Error(absl::StrCat("no comma or ", std::string(1, end), " after a value"));
      first = false;
      if (kind == Kind::kMap) {
        std::string name;
        if (Next() != '"') return Error("no name in quotes");
        if (absl::Status status = String(&name); !status.ok()) return status;
        if (!Take(':')) return Error(absl::StrCat("no colon after \"", Echo(name), "\""));
        tree_->Name(std::move(name));
      }
      if (absl::Status status = Value(); !status.ok()) return status;
    }
    return tree_->Add(tree_->End());
  }
  // A number, true, false or null; NaN and Infinity as Python writes them, which NumberOf() refuses by name.
  absl::Status Word() {
    size_t size = 0;
    while (size < rest_.size() && (absl::ascii_isalnum(rest_[size]) || absl::StrContains("+-.", rest_[size]))) ++size;
    const absl::string_view word = rest_.substr(0, size);
    double ignored;
    if (word == "null") {
      rest_.remove_prefix(size);
      return tree_->Add(Empty(line_));
    }
    if (word != "true" && word != "false" && !absl::SimpleAtod(word, &ignored)) return Error("no value");
    rest_.remove_prefix(size);
    return tree_->Add(Scalar(word, line_));
  }
  absl::Status String(std::string* text) {
    for (rest_.remove_prefix(1); !rest_.empty(); rest_.remove_prefix(1)) {
      char c = rest_[0];
      if (c == '"') return rest_.remove_prefix(1), absl::OkStatus();
      if (c == '\n') break;
      if (c == '\\' && rest_.size() > 1) {
        rest_.remove_prefix(1);
        if (rest_[0] == 'u') {  // of names and comments alone: kept as it is
          *text += "\\u";
          continue;
        }
        constexpr absl::string_view kEscapes = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
        const size_t which = kEscapes.find(rest_[0]);
        if (which == absl::string_view::npos) return Error("an escape in a text that JSON has not");
        c = kMeanings[which];
      }
      *text += c;
    }
    return Error("a text without an end");
  }

  absl::string_view rest_;
  TreeBuilder* tree_;
  int line_ = 1;
};

// --- XML

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

absl::Status CheckIsText(absl::string_view text) {
  const auto at = std::find_if(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f';
  });
  if (at == text.end()) return absl::OkStatus();
  return LineError(static_cast<int>(1 + std::count(text.begin(), at, '\n')), "no text");
}

absl::Status AppendNumbers(const Node& node, const Node& part, std::vector<double>* numbers) {
  if (part.kind == Kind::kMap && part.Find("data") != nullptr) return AppendNumbers(node, *part.Find("data"), numbers);
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
    status = XmlReader(text, &tree).Read();
  } else if (begin == "{" || begin == "[") {
    status = JsonParser(text, &tree).Parse();
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
