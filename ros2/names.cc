#include "ros2/names.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "features/error.h"

namespace glint::ros2 {
namespace {

// Of rmw: what DDS allows, less its prefixes.
constexpr size_t kMostNodeName = 255, kMostTopic = 247, kMostNamespace = 245;

absl::Status NameError(absl::string_view name, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat("\"", Echo(name), "\" ", problem));
}

// A word is one part of a name.
bool IsWord(absl::string_view word) {
  const auto is_allowed = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  return !word.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(word[0])) &&
         std::all_of(word.begin(), word.end(), is_allowed);
}

// "a/b": words, of which there is at least one.
absl::Status CheckWords(absl::string_view name, absl::string_view words) {
  for (absl::string_view word : absl::StrSplit(words, '/')) {
    if (word.empty()) return NameError(name, "has a '/' too many");
    if (!IsWord(word)) return NameError(name, "is not of letters, digits and '_', no digit first, between its '/'");
  }
  return absl::OkStatus();
}

absl::Status CheckLength(absl::string_view name, size_t most) {
  return name.size() <= most ? absl::OkStatus() : NameError(name, absl::StrCat("is longer than ", most, " characters"));
}

}  // namespace

absl::Status CheckNodeName(absl::string_view name) {
  if (!IsWord(name)) return NameError(name, "is no node's name: letters, digits and '_', no digit first");
  return CheckLength(name, kMostNodeName);
}

absl::Status CheckNamespace(absl::string_view name) {
  if (name == "/") return absl::OkStatus();
  if (!absl::StartsWith(name, "/")) return NameError(name, "is no namespace: it does not begin with '/'");
  if (absl::Status status = CheckWords(name, name.substr(1)); !status.ok()) return status;
  return CheckLength(name, kMostNamespace);
}

absl::StatusOr<std::string> WholeName(absl::string_view name, absl::string_view node_namespace,
                                      absl::string_view node) {
  if (name.empty()) return absl::InvalidArgumentError("\"\" is no name");
  if (absl::StrContains(name, "{")) return NameError(name, "has a substitution, which is not supported");
  const absl::string_view before = node_namespace == "/" ? "" : node_namespace;
  std::string whole;
  if (absl::StartsWith(name, "/")) {
    whole = std::string(name);
  } else if (name == "~" || absl::StartsWith(name, "~/")) {
    whole = absl::StrCat(before, "/", node, name.substr(1));
  } else {
    whole = absl::StrCat(before, "/", name);
  }
  if (absl::Status status = CheckWords(name, absl::string_view(whole).substr(1)); !status.ok()) return status;
  if (absl::Status status = CheckLength(whole, kMostTopic); !status.ok()) return status;
  return whole;
}

absl::StatusOr<std::string> Remapped(absl::string_view name, const std::vector<Remap>& remaps,
                                     absl::string_view node_namespace, absl::string_view node) {
  absl::StatusOr<std::string> whole = WholeName(name, node_namespace, node);
  if (!whole.ok()) return whole;
  for (const Remap& remap : remaps) {
    if (!remap.node.empty() && remap.node != node) continue;
    const absl::StatusOr<std::string> from = WholeName(remap.from, node_namespace, node);
    if (!from.ok()) return from.status();
    if (*from == *whole) return WholeName(remap.to, node_namespace, node);
  }
  return whole;
}

std::string DdsTopic(absl::string_view topic) { return absl::StrCat("rt", topic); }
std::string DdsRequestTopic(absl::string_view service) { return absl::StrCat("rq", service, "Request"); }
std::string DdsReplyTopic(absl::string_view service) { return absl::StrCat("rr", service, "Reply"); }

std::string DdsType(absl::string_view type) {
  const size_t last = std::min(type.rfind('/') + 1, type.size());
  return absl::StrCat(absl::StrReplaceAll(type.substr(0, last), {{"/", "::"}}), "dds_::", type.substr(last), "_");
}

}  // namespace glint::ros2
