#include "client/cli/base/command.h"

#include <csignal>
#include <cstdio>

#include "absl/strings/str_cat.h"

namespace glint::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

void Complain(absl::string_view command, absl::string_view message) {
  std::fputs(absl::StrCat("glint", command.empty() ? "" : " ", command, ": ", message, "\n").c_str(), stderr);
}

int UsageError(absl::string_view command, absl::string_view message) {
  Complain(command, message);
  std::fputs(absl::StrCat("Try 'glint", command.empty() ? "" : " ", command, " --help'.\n").c_str(), stderr);
  return kUsage;
}

int CallError(absl::string_view command, const absl::Status& status) {
  Complain(command, Describe(status));
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      return kUnavailable;
    case absl::StatusCode::kInvalidArgument:
      return kUsage;
    default:
      return kFailed;
  }
}

int SourceError(absl::string_view command, const absl::Status& status) {
  Complain(command, status.message());
  return Interrupted() ? kInterrupted : kFailed;
}

std::string Describe(const absl::Status& status) {
  return absl::StrCat(absl::StatusCodeToString(status.code()), ": ", status.message());
}

bool Interrupted() { return interrupted != 0; }

void CatchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // the second one is not caught
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace glint::cli
