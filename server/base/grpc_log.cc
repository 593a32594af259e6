#include "server/base/grpc_log.h"

#include <grpc/support/log.h>

#include <atomic>
#include <cstring>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace glint {
namespace {

std::atomic<Logger*> grpc_logger{nullptr};

void LogOfGrpc(gpr_log_func_args* line) {
  Logger* const logger = grpc_logger;
  if (logger == nullptr) return;
  constexpr char kReason[] = "grpc";
  const char* const slash = std::strrchr(line->file, '/');
  const bool is_error = line->severity == GPR_LOG_SEVERITY_ERROR;  // of a peer, as a rule
  logger->LogLimited(kReason, is_error ? Severity::kWarning : Severity::kInfo, kReason,
                     {{"message", line->message},
                      {"source", absl::StrCat(slash == nullptr ? line->file : slash + 1, ":", line->line)}});
  if (absl::StartsWith(line->message, "assertion failed")) logger->Flush();  // gRPC aborts now
}

}  // namespace

void SendGrpcLogTo(Logger* logger) {
  grpc_logger = logger;
  gpr_set_log_function(logger == nullptr ? nullptr : LogOfGrpc);
}

}  // namespace glint
