#include "bench/json.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "features/utf8.h"

namespace glint::bench {

JsonWriter& JsonWriter::Key(absl::string_view key) {
  String(key);
  text_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::String(absl::string_view value) {
  Separate();
  text_ += '"';
  for (const char c : Utf8Text(value)) {
    if (c == '"' || c == '\\') text_ += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&text_, "\\u%04x", c);
    } else {
      text_ += c;
    }
  }
  text_ += '"';
  return *this;
}

JsonWriter& JsonWriter::Int(int64_t value) {
  Append(absl::StrCat(value));
  return *this;
}

JsonWriter& JsonWriter::Number(double value) {
  Append(std::isfinite(value) ? absl::StrCat(value) : "null");
  return *this;
}

JsonWriter& JsonWriter::Bool(bool value) {
  Append(value ? "true" : "false");
  return *this;
}

JsonWriter& JsonWriter::Begin(char bracket) {
  Separate();
  text_ += bracket;
  has_members_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::End(char bracket) {
  const bool had_members = has_members_.back();
  has_members_.pop_back();
  if (had_members) NewLine();
  text_ += bracket;
  return *this;
}

void JsonWriter::Separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_members_.empty()) return;
  if (has_members_.back()) text_ += ',';
  has_members_.back() = true;
  NewLine();
}

void JsonWriter::Append(absl::string_view value) {
  Separate();
  absl::StrAppend(&text_, value);
}

void JsonWriter::NewLine() {
  if (layout_ == Layout::kOneLine) return;
  text_ += '\n';
  text_.append(2 * has_members_.size(), ' ');
}

void WriteSummary(const Summary& summary, JsonWriter* json) {
  json->BeginObject();
  json->Key("median").Number(summary.median).Key("p10").Number(summary.p10);
  json->Key("p90").Number(summary.p90).Key("min").Number(summary.min);
  json->EndObject();
}

}  // namespace glint::bench
