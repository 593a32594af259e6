#include "client/cli/source/text_file.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "client/cli/source/picture.h"
#include "features/status_macros.h"

namespace glint::cli {

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::string bytes;
  GLINT_RETURN_IF_ERROR(ReadBytes(path, &bytes));
  if (absl::StartsWith(bytes, "\xFF\xFE") || absl::StartsWith(bytes, "\xFE\xFF")) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is UTF-16, as its byte order mark says; save it as UTF-8"));
  }
  const absl::string_view text = absl::StripPrefix(bytes, "\xEF\xBB\xBF");
  return absl::StrReplaceAll(text, {{"\r\n", "\n"}, {"\r", "\n"}});
}

}  // namespace glint::cli
