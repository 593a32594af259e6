#include "server/wire/client_status.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "features/error.h"
#include "features/limits.h"

namespace glint {
namespace {

// What a user without flags can do about a limit; empty: nothing.
std::string AdviceOn(absl::string_view flag) {
  if (flag == "--max-image-pixels" || flag == "--max-localize-pixels" || flag == "--max-track-pixels" ||
      flag == "--max-rectification-bytes") {
    return absl::StrCat("scale the picture down; the limit grows with the memory that the process may use, up to ",
                        kMaxImagePixels, " pixels of a picture or pair");
  }
  if (flag == "--max-features") {
    return absl::StrCat("take fewer features; no server takes more than ", kMaxFeatures,
                        " of a picture, and half of that of each of a pair");
  }
  if (flag == "--max-tracks") return "follow fewer points; no server takes more";
  if (flag == "--max-map-bytes") return "begin another map; the limit grows with the memory that the process may use";
  return "";
}

// Text with the part in parentheses that names flags replaced by `advice` at the end or, without advice, completed.
std::string WithoutFlag(absl::string_view text, absl::string_view advice) {
  const size_t flag = text.find("--");
  const size_t open = flag == absl::string_view::npos ? flag : text.rfind('(', flag);
  const size_t close = open == absl::string_view::npos ? open : text.find(')', flag);
  if (open == absl::string_view::npos || close == absl::string_view::npos) return std::string(text);
  std::string changed;
  if (advice.empty()) {
    changed = absl::StrCat(text.substr(0, close), " of a glint-server", text.substr(close));
  } else {
    const absl::string_view before = text.substr(0, open);
    changed = absl::StrCat(absl::EndsWith(before, " ") ? before.substr(0, before.size() - 1) : before,
                           text.substr(close + 1), "; ", advice);
  }
  return absl::StrReplaceAll(changed, {{"this server", "this process"}});
}

bool IsSide(absl::string_view field) { return absl::EndsWith(field, ".width") || absl::EndsWith(field, ".height"); }

}  // namespace

absl::Status ForClient(const absl::Status& status, const ServerOptions& options) {
  if (status.ok() || !options.in_process) return status;
  std::optional<ErrorInfo> info = ErrorInfoOf(status);
  const std::string advice = info.has_value() ? AdviceOn(info->flag) : "";
  const bool may_name_flag = !info.has_value() || !info->flag.empty();
  std::string text = may_name_flag ? WithoutFlag(status.message(), advice) : std::string(status.message());
  if (info.has_value() && IsSide(info->field) && info->highest == absl::StrCat(kMaxImageSide)) {
    absl::StrAppend(&text, "; scale the picture down, or cut it into parts");
  }
  absl::Status changed(status.code(), text);
  status.ForEachPayload(
      [&changed](absl::string_view name, const absl::Cord& payload) { changed.SetPayload(name, payload); });
  if (!info.has_value()) return changed;
  if (!advice.empty()) info->flag.clear();
  return WithErrorInfo(std::move(changed), *info);
}

}  // namespace glint
