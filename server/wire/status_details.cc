#include "server/wire/retry.h"

#include "absl/strings/cord.h"
#include "server/wire/wire_writer.h"

namespace glint {
namespace {

constexpr char kRetryInfo[] = "type.googleapis.com/google.rpc.RetryInfo";
constexpr int64_t kNanoseconds = 1'000'000'000;

}  // namespace

absl::Status WithRetryAfter(absl::Status status, int64_t retry_after_ns) {
  std::string delay, info;  // google.protobuf.Duration: seconds, nanos; RetryInfo: retry_delay
  AppendVarintField(1, static_cast<uint64_t>(retry_after_ns / kNanoseconds), &delay);
  AppendVarintField(2, static_cast<uint64_t>(retry_after_ns % kNanoseconds), &delay);
  AppendBytesField(1, delay, &info);
  status.SetPayload(kRetryInfo, absl::Cord(info));
  return status;
}

std::string RetryDetails(const absl::Status& status) {
  const auto info = status.GetPayload(kRetryInfo);
  if (!info.has_value()) return "";
  std::string any, details;  // google.protobuf.Any: type_url, value; Status: code, message, details
  AppendBytesField(1, kRetryInfo, &any);
  AppendBytesField(2, std::string(*info), &any);
  AppendVarintField(1, static_cast<uint64_t>(status.code()), &details);
  AppendBytesField(2, status.message(), &details);
  AppendBytesField(3, any, &details);
  return details;
}

}  // namespace glint
