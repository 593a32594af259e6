#include "tests/bench/json_reader.h"

#include <cctype>
#include <cstdlib>
#include <utility>

namespace glint::bench::testing {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  bool ReadAll() {
    if (!Value("")) return false;
    Space();
    return at_ == text_.size();
  }
  std::map<std::string, std::string> TakeValues() { return std::move(values_); }

 private:
  void Space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool Take(char c) {
    Space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool String(std::string* value) {
    if (!Take('"')) return false;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return false;
      if (text_[at_] == '\\' && ++at_ < text_.size() && text_[at_] == 'u') {
        value->push_back(static_cast<char>(std::strtol(text_.substr(at_ + 1, 4).c_str(), nullptr, 16)));
        at_ += 4;
      } else if (at_ < text_.size()) {
        value->push_back(text_[at_]);
      }
    }
    return at_++ < text_.size();
  }
  static std::string Join(const std::string& path, const std::string& key) {
    return path.empty() ? key : path + "." + key;
  }
  // After the opening bracket.
  bool Members(const std::string& path, bool keyed, char close) {
    if (Take(close)) return true;
    for (int i = 0;; ++i) {
      std::string key = std::to_string(i);
      if (keyed) {
        key.clear();
        if (!String(&key) || !Take(':')) return false;
      }
      if (!Value(Join(path, key))) return false;
      if (Take(close)) return true;
      if (!Take(',')) return false;
    }
  }
  bool Value(const std::string& path) {
    if (Take('{')) return Members(path, true, '}');
    if (Take('[')) return Members(path, false, ']');
    Space();
    std::string value;
    if (at_ < text_.size() && text_[at_] == '"') {
      if (!String(&value)) return false;
    } else {
      while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '-' ||
                                    text_[at_] == '+' || text_[at_] == '.')) {
        value.push_back(text_[at_++]);
      }
      char* end = nullptr;
      std::strtod(value.c_str(), &end);
      const bool number = !value.empty() && *end == '\0' && value != "nan" && value != "inf";
      if (!number && value != "true" && value != "false" && value != "null") return false;
    }
    return values_.emplace(path, value).second;
  }

  const std::string& text_;
  size_t at_ = 0;
  std::map<std::string, std::string> values_;
};

}  // namespace

std::optional<std::map<std::string, std::string>> ReadJson(const std::string& text) {
  Reader reader(text);
  if (!reader.ReadAll()) return std::nullopt;
  return reader.TakeValues();
}

}  // namespace glint::bench::testing
