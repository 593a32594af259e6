#include "server/wire/status_details.h"

#include <optional>
#include <utility>

#include "absl/strings/cord.h"
#include "server/wire/wire_writer.h"

namespace glint {
namespace {

constexpr char kErrorInfo[] = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr char kRetryInfo[] = "type.googleapis.com/google.rpc.RetryInfo";
constexpr char kErrorDomain[] = "glint";
constexpr int64_t kNanoseconds = 1'000'000'000;

void AddDetail(const char* type, std::string serialized, v1::StatusDetails* details) {
  google::protobuf::Any* const any = details->add_details();
  any->set_type_url(type);
  any->set_value(std::move(serialized));
}

}  // namespace

absl::Status WithRetryAfter(absl::Status status, int64_t retry_after_ns) {
  std::string delay, info;  // google.protobuf.Duration: seconds, nanos; RetryInfo: retry_delay
  AppendVarintField(1, static_cast<uint64_t>(retry_after_ns / kNanoseconds), &delay);
  AppendVarintField(2, static_cast<uint64_t>(retry_after_ns % kNanoseconds), &delay);
  AppendBytesField(1, delay, &info);
  status.SetPayload(kRetryInfo, absl::Cord(info));
  return status;
}

void ToProto(const ErrorInfo& info, v1::ErrorInfo* proto) {
  proto->set_reason(info.reason);
  proto->set_domain(kErrorDomain);
  const std::pair<const char*, const std::string*> members[] = {{"field", &info.field},     {"value", &info.value},
                                                                {"lowest", &info.lowest},   {"highest", &info.highest},
                                                                {"allowed", &info.allowed}, {"flag", &info.flag}};
  for (const auto& [key, text] : members) {
    if (!text->empty()) (*proto->mutable_metadata())[key] = *text;
  }
}

std::string SerializeStatusDetails(const absl::Status& status) {
  v1::StatusDetails details;
  if (const std::optional<ErrorInfo> info = ErrorInfoOf(status); info.has_value()) {
    v1::ErrorInfo proto;
    ToProto(*info, &proto);
    AddDetail(kErrorInfo, proto.SerializeAsString(), &details);
  }
  if (const auto retry = status.GetPayload(kRetryInfo); retry.has_value()) {
    AddDetail(kRetryInfo, std::string(*retry), &details);
  }
  if (details.details().empty()) return "";
  details.set_code(static_cast<int>(status.code()));
  details.set_message(std::string(status.message()));
  return details.SerializeAsString();
}

}  // namespace glint
