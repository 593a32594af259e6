// Reads JSON text into a flat map, to check what the tool prints.
#ifndef GLINT_TESTS_BENCH_JSON_READER_H_
#define GLINT_TESTS_BENCH_JSON_READER_H_

#include <map>
#include <optional>
#include <string>

namespace glint::bench::testing {

// Every value by its path: {"a": {"b": [1, "x"]}} is a.b.0 -> 1, a.b.1 -> x. Strings without their quotes. Nothing if
// the text is not one JSON value and white space.
std::optional<std::map<std::string, std::string>> ReadJson(const std::string& text);

}  // namespace glint::bench::testing

#endif  // GLINT_TESTS_BENCH_JSON_READER_H_
