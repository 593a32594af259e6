// Text from outside: command line, environment, flag files, certificates, traceparents, access files. The first byte
// chooses which.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/traceparent.h"
#include "server/access/access_rules.h"
#include "server/config/flags.h"
#include "server/net/certificate.h"
#include "tests/fuzz/targets/input.h"

namespace glint {
namespace {

// Accepted flags are valid; refused ones have a reason.
void CheckFlags(const std::vector<std::string>& arguments, const char* variable) {
  const auto parsed = ParseFlags(arguments, [variable](const char*) { return variable; });
  if (parsed.ok()) {
    FUZZ_CHECK(FlagsThatDiffer(parsed->options, parsed->options).empty());
    FUZZ_CHECK(ValidateServerOptions(parsed->options).ok());
  } else {
    FUZZ_CHECK(absl::IsInvalidArgument(parsed.status()) || absl::IsOutOfRange(parsed.status()));
    FUZZ_CHECK(!parsed.status().message().empty());
  }
}

// One for each process, since several may run at once.
const std::string& FilePath() {
  static const std::string path =
      (std::filesystem::temp_directory_path() / absl::StrCat("glint-fuzz-", getpid(), ".flags")).string();
  return path;
}

void CheckFlagFile(const std::string& text) {
  if (absl::StrContains(text, "/dev/")) return;  // a file without an end is the operator's fault
  std::ofstream(FilePath(), std::ios::binary) << text;
  CheckFlags({absl::StrCat("--flagfile=", FilePath())}, nullptr);
}

// A valid text stays valid with text around it, and the earliest end counts.
void CheckCertificate(const std::string& text) {
  const auto expiry = CertificateExpiry(text);
  if (!expiry.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(expiry.status()) && !expiry.status().message().empty());
    return;
  }
  const auto twice = CertificateExpiry(absl::StrCat("\n", text, "\n", text));
  FUZZ_CHECK(twice.ok() && *twice == *expiry);
}

// Against the grammar of the recommendation, written down once more.
void CheckTraceparent(const std::string& text) {
  static const std::regex valid("(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-[^]*)?",
                                std::regex::ECMAScript | std::regex::optimize);
  if (text.size() > 100) return;  // std::regex recurses
  const bool is_valid = std::regex_match(text, valid) && (!absl::StartsWith(text, "00") || text.size() == 55);
  const auto parsed = ParseTraceparent(text);
  FUZZ_CHECK(parsed.has_value() == is_valid);
  if (!is_valid) return;
  FUZZ_CHECK(parsed->trace_id == absl::string_view(text).substr(3, 32));
  FUZZ_CHECK(parsed->sampled == (std::stoi(text.substr(53, 2), nullptr, 16) % 2 != 0));
}

// What a word of an access file says that a caller shows.
Credentials ShownBy(absl::string_view word) {
  Credentials shown;
  const std::pair<absl::string_view, absl::string_view> field = absl::StrSplit(word, absl::MaxSplits('=', 1));
  uint32_t uid = 0;
  if (field.first == "token") {
    shown.authorizations = 1;
    shown.token = ParseDigest(field.second);
  } else if (field.first == "uid") {
    FUZZ_CHECK(absl::SimpleAtoi(field.second, &uid));
    shown.uid = uid;
  } else if (field.first != "may") {
    shown.has_certificate = true;
    shown.names = {std::string(word)};
  }
  return shown;
}

// Whoever shows what a line says is the identity of that line, and may call what the line says; nothing shown leads to
// "anonymous" alone.
void CheckAccessFile(const std::string& text) {
  static const std::vector<std::string> methods = {"Detect", "DetectStream", "Match"};
  const auto rules = AccessRules::Parse("f", text, methods);
  if (!rules.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(rules.status()) || absl::IsOutOfRange(rules.status()));
    FUZZ_CHECK(absl::StartsWith(rules.status().message(), "access-file: f:") && rules.status().message().size() < 1000);
    return;
  }
  size_t identities = 0;
  bool anonymous = false;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty() || words[0][0] == '#') continue;
    ++identities;
    anonymous = anonymous || words[0] == kAnonymous;
    std::vector<bool> may(methods.size(), true);
    for (const absl::string_view word : words) {
      if (!absl::StartsWith(word, "may=")) continue;
      const std::vector<absl::string_view> named = absl::StrSplit(word.substr(4), ',');
      for (size_t m = 0; m < methods.size(); ++m)
        may[m] = std::find(named.begin(), named.end(), methods[m]) != named.end();
    }
    for (size_t w = 1; w < words.size(); ++w) {
      if (absl::StartsWith(words[w], "may=")) continue;
      for (size_t m = 0; m < methods.size(); ++m) {
        const auto found = rules->Check(ShownBy(words[w]), m);
        FUZZ_CHECK(found.ok() == may[m]);
        FUZZ_CHECK(found.ok() ? (*found)->name == words[0] : absl::IsPermissionDenied(found.status()));
      }
    }
  }
  FUZZ_CHECK(rules->identities() == identities);
  const auto nobody = rules->Check({}, 0);
  FUZZ_CHECK(anonymous || absl::IsUnauthenticated(nobody.status()));
}

}  // namespace
}  // namespace glint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  glint::fuzz::Input input(data, size);
  const auto kind = input.Number<uint8_t>();
  const std::string text = glint::fuzz::ToString(input.Rest());
  switch (kind % 6) {
    case 0:
      glint::CheckFlags(absl::StrSplit(text, '\n'), nullptr);
      break;
    case 1:
      glint::CheckFlags({}, text.c_str());
      break;
    case 2:
      glint::CheckFlagFile(text);
      break;
    case 3:
      glint::CheckCertificate(text);
      break;
    case 4:
      glint::CheckTraceparent(text);
      break;
    case 5:
      glint::CheckAccessFile(text);
      break;
  }
  return 0;
}
