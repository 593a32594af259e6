// Serialized options, as the first message of a stream and as the options of a call. The parser that leaves the mask
// where it lies must accept the same messages as protobuf and find the same options; only a frame that options replace
// is not looked into. What is accepted is valid for a lane; what is refused has an error that names a field.
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/unknown_field_set.h>

#include "absl/strings/match.h"
#include "features/options.h"
#include "glint/v1/feature_detection.pb.h"
#include "server/wire/convert.h"
#include "server/wire/options_images.h"
#include "tests/fuzz/targets/input.h"

namespace glint {
namespace {

void CheckError(const absl::Status& status) {
  FUZZ_CHECK(absl::StrContains(status.message(), ":"));
  FUZZ_CHECK(status.message().size() < 1000);  // values in it are cut
}

void CheckDetector(fuzz::Bytes bytes, const ServerOptions& server) {
  const auto detector = OptionsFromWire({&bytes, 1}, server.max_features);
  if (!detector.ok()) return CheckError(detector.status());
  FUZZ_CHECK(ValidateOptions(*detector).ok());
  FUZZ_CHECK(detector->max_features <= server.max_features);
}

void CheckSession(const v1::DetectStreamOptions& options, const ServerOptions& server) {
  const auto detector = FromProto(options.detector(), server.max_features);
  if (!detector.ok()) return CheckError(detector.status());
  FUZZ_CHECK(ValidateOptions(*detector).ok());
  const auto session = SessionFromProto(options, server);
  if (!session.ok()) return CheckError(session.status());
  FUZZ_CHECK(session->max_in_flight >= 1 && session->max_in_flight <= server.max_in_flight);
  FUZZ_CHECK(ValidateGrayRange(session->gray_range).ok());
}

bool HasFrame(fuzz::Bytes bytes) {
  google::protobuf::UnknownFieldSet fields;
  if (!fields.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  for (int i = 0; i < fields.field_count(); ++i) {
    if (fields.field(i).number() == v1::DetectStreamRequest::kFrameFieldNumber) return true;
  }
  return false;
}

// `seed` says where the message is cut.
void CheckFirstMessage(fuzz::Bytes bytes, uint32_t seed, const ServerOptions& server) {
  const fuzz::CutBytes cut(bytes, seed);
  OptionImages masks = {v1::DetectStreamOptions::kMaskFieldNumber};
  const auto message = ParseOptionsAndImages<v1::DetectStreamRequest>(
      cut.spans(), v1::DetectStreamRequest::kFrameFieldNumber, {&masks, 1});
  v1::DetectStreamRequest proto;
  const bool good = proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (!good && message.ok()) {
    FUZZ_CHECK(HasFrame(bytes));
    return;
  }
  FUZZ_CHECK(message.ok() == (good && proto.has_options()));
  if (!message.ok()) return;
  FUZZ_CHECK((masks.count > 0) == proto.options().has_mask());
  proto.mutable_options()->clear_mask();
  proto.DiscardUnknownFields();
  FUZZ_CHECK(message->options().SerializeAsString() == proto.options().SerializeAsString());
  CheckSession(message->options(), server);
}

}  // namespace
}  // namespace glint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const google::protobuf::LogSilencer quiet;  // it reports each string that is not UTF-8
  static const glint::ServerOptions server;
  glint::fuzz::Input input(data, size);
  const auto seed = input.Number<uint32_t>();
  const glint::fuzz::Bytes bytes = input.Rest();
  if (bytes.size() > glint::kMaxOptionsBytes) return 0;  // refused for their size alone
  glint::CheckDetector(bytes, server);
  glint::CheckFirstMessage(bytes, seed, server);
  return 0;
}
