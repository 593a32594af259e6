#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "calibration/formats/tree.h"

namespace glint::calibration {
namespace {

constexpr size_t kMaxYamlBytes = 1 << 20;  // yaml-cpp holds a list as tokens until it ends

using Kind = Node::Kind;

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

}  // namespace

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

}  // namespace glint::calibration
