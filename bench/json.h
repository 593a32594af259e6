// A JSON writer for reports. Thread-compatible.
#ifndef GLINT_BENCH_JSON_H_
#define GLINT_BENCH_JSON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "bench/statistics.h"

namespace glint::bench {

// Values follow each other; inside an object each is preceded by Key(). The caller closes every bracket.
// Indented by two spaces, or all on one line.
class JsonWriter {
 public:
  enum class Layout { kIndented, kOneLine };
  explicit JsonWriter(Layout layout = Layout::kIndented) : layout_(layout) {}

  JsonWriter& BeginObject() { return Begin('{'); }
  JsonWriter& EndObject() { return End('}'); }
  JsonWriter& BeginArray() { return Begin('['); }
  JsonWriter& EndArray() { return End(']'); }
  JsonWriter& Key(absl::string_view key);
  JsonWriter& String(absl::string_view value);
  JsonWriter& Int(int64_t value);
  JsonWriter& Number(double value);  // six significant digits; null if it is not finite
  JsonWriter& Bool(bool value);

  const std::string& text() const { return text_; }

 private:
  JsonWriter& Begin(char bracket);
  JsonWriter& End(char bracket);
  void Separate();
  void Append(absl::string_view value);
  void NewLine();

  const Layout layout_;
  std::string text_;
  std::vector<bool> has_members_;  // of each open bracket
  bool after_key_ = false;
};

// {"median": ..., "p10": ..., "p90": ..., "min": ...}
void WriteSummary(const Summary& summary, JsonWriter* json);

}  // namespace glint::bench

#endif  // GLINT_BENCH_JSON_H_
