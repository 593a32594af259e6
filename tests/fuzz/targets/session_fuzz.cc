// Sequences of messages of DetectStream, against a server in this process (session.h).
// Input: steps, each a byte for what to do, and numbers or bytes for how.
#include <google/protobuf/stubs/logging.h>

#include <string>

#include "glint/v1/feature_detection.pb.h"
#include "tests/fuzz/targets/session.h"

namespace glint {
namespace {

enum Step { kBytes, kOptions, kFrame, kMaskedFrame, kDamagedFrame, kSteps };

std::string Message(int step, fuzz::Input* input) {
  if (step == kBytes) return fuzz::ToString(input->Take(input->Number<uint16_t>() % 2000));
  v1::DetectStreamRequest request;
  if (step == kOptions) {
    v1::DetectStreamOptions* const options = request.mutable_options();
    options->mutable_detector()->set_preset("orb");
    options->mutable_detector()->set_max_features(1 + input->Number<uint8_t>());
    options->set_overload_policy(static_cast<v1::OverloadPolicy>(input->Number<uint8_t>() % 6));
    options->set_max_in_flight(input->Number<uint8_t>() % 6);
    if (input->Number<uint8_t>() % 4 == 0) fuzz::SetImage(input, options->mutable_mask());
    return request.SerializeAsString();
  }
  v1::DetectFrame* const frame = request.mutable_frame();
  frame->set_frame_id(input->Number<uint8_t>());
  fuzz::SetImage(input, frame->mutable_image());
  if (step == kMaskedFrame) fuzz::SetImage(input, frame->mutable_mask());
  const std::string bytes = request.SerializeAsString();
  return step == kDamagedFrame ? fuzz::Damage(input, bytes) : bytes;
}

void Check(const std::string& reply) {
  v1::DetectStreamResponse response;
  FUZZ_CHECK(response.ParseFromString(reply));
  FUZZ_CHECK((response.status().code() == 0) == response.has_features());
}

constexpr fuzz::Method kDetectStream = {"/glint.v1.FeatureDetection/DetectStream", kSteps, Message, Check};

}  // namespace
}  // namespace glint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const google::protobuf::LogSilencer quiet;
  static glint::fuzz::Session* const session = new glint::fuzz::Session();  // not destroyed: libFuzzer ends by exit()
  session->Stream(glint::kDetectStream, glint::fuzz::Input(data, size));
  return 0;
}
