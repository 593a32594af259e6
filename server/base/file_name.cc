#include "server/base/file_name.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "features/error.h"

namespace glint {
namespace {

constexpr size_t kMaxName = 64, kNamesSaid = 20;

bool IsFileName(absl::string_view name) {
  const bool good = std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
  });
  return good && !name.empty() && name.size() <= kMaxName && name.front() != '.';
}

}  // namespace

absl::Status CheckFileName(absl::string_view name) {
  if (IsFileName(name)) return absl::OkStatus();
  return ContradictionError("name", absl::StrCat("\"", Echo(name), "\" is not 1..", kMaxName,
                                                 " letters, digits, '_', '-' and '.', which is not the first"));
}

std::string SomeOf(const std::set<std::string>& names) {
  std::vector<absl::string_view> said;
  for (const std::string& name : names) {
    if (said.size() < kNamesSaid && IsFileName(name)) said.push_back(name);
  }
  return absl::StrCat(said.empty() ? "none" : absl::StrJoin(said, ", "), names.size() > said.size() ? ", ..." : "");
}

}  // namespace glint
