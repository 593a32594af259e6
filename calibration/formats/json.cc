#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "calibration/formats/tree.h"
#include "features/error.h"

namespace glint::calibration {
namespace {

using Kind = Node::Kind;

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

}  // namespace

absl::Status ParseJson(absl::string_view text, TreeBuilder* tree) { return JsonParser(text, tree).Parse(); }

}  // namespace glint::calibration
