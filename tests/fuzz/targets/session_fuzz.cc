// Sequences of messages of one stream, against a server in this process: good options and frames, damaged ones, any
// bytes in their place, half-closing, reading late, cancelling. A stream that ends well has one answer for each frame;
// however it ends, its place is free again, no frame stays in flight, and the server answers a good call.
// Input: steps, each a byte for what to do, and numbers or bytes for how.
#include <google/protobuf/stubs/logging.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "glint/v1/feature_detection.pb.h"
#include "server/server.h"
#include "tests/fuzz/targets/input.h"
#include "tests/server/raw_calls.h"

namespace glint {
namespace {

using testing::RawCall;

constexpr char kDetect[] = "/glint.v1.FeatureDetection/Detect";
constexpr char kDetectStream[] = "/glint.v1.FeatureDetection/DetectStream";
// Less than a stream's flow-control window, so that no write waits for the server to read.
constexpr size_t kMaxSent = 48 << 10;
constexpr int kGoodCallEvery = 16;

enum Step { kBytes, kOptions, kFrame, kMaskedFrame, kDamagedFrame, kHalfClose, kRead, kCancel, kSteps };

void SetImage(fuzz::Input* input, v1::Image* image) {
  v1::RawImage* const raw = image->mutable_raw();
  raw->set_format(v1::PIXEL_FORMAT_GRAY8);
  const int side = 1 + input->Number<uint8_t>() % 64;
  const auto gray = input->Number<uint8_t>();
  raw->set_width(static_cast<uint32_t>(side));
  raw->set_height(static_cast<uint32_t>(side));
  std::string* const data = raw->mutable_data();
  for (int i = 0; i < side * side; ++i) data->push_back(static_cast<char>((i / 7 * gray + i % 5) & 0xff));
}

std::string Message(int step, fuzz::Input* input) {
  if (step == kBytes) return fuzz::ToString(input->Take(input->Number<uint16_t>() % 2000));
  v1::DetectStreamRequest request;
  if (step == kOptions) {
    v1::StreamOptions* const options = request.mutable_options();
    options->mutable_detector()->set_preset("orb");
    options->mutable_detector()->set_max_features(1 + input->Number<uint8_t>());
    options->set_overload_policy(static_cast<v1::OverloadPolicy>(input->Number<uint8_t>() % 6));
    options->set_max_in_flight(input->Number<uint8_t>() % 6);
    if (input->Number<uint8_t>() % 4 == 0) SetImage(input, options->mutable_mask());
    return request.SerializeAsString();
  }
  v1::Frame* const frame = request.mutable_frame();
  frame->set_frame_id(input->Number<uint8_t>());
  SetImage(input, frame->mutable_image());
  if (step == kMaskedFrame) SetImage(input, frame->mutable_mask());
  std::string bytes = request.SerializeAsString();
  if (step == kDamagedFrame) {
    const auto at = input->Number<uint8_t>();
    bytes[at % bytes.size()] = static_cast<char>(input->Number<uint8_t>());
  }
  return bytes;
}

// One stream, driven by the input. Cancelled at its end if it is open then.
class Stream {
 public:
  explicit Stream(const std::shared_ptr<grpc::Channel>& channel) : call_(channel, kDetectStream) {}

  void Run(fuzz::Input* input) {
    while (!input->empty()) {
      const int step = input->Number<uint8_t>() % kSteps;
      if (step == kCancel) return;
      if (step == kHalfClose) break;
      if (step == kRead) {
        if (read_ < Frames() && !ReadOne()) break;
        continue;
      }
      const std::string message = Message(step, input);
      sent_ += message.size();
      if (sent_ > kMaxSent || !call_.Write(message)) break;
      ++written_;
    }
    call_.WritesDone();
    while (ReadOne()) continue;
    const grpc::Status status = call_.Finish();
    FUZZ_CHECK(status.error_code() != grpc::StatusCode::UNKNOWN && status.error_code() != grpc::StatusCode::INTERNAL);
    FUZZ_CHECK(status.ok() ? read_ == Frames() : !status.error_message().empty());
  }

 private:
  // All messages but the first, if the stream is a good one.
  int Frames() const { return written_ > 0 ? written_ - 1 : 0; }

  bool ReadOne() {
    const auto reply = call_.Read();
    if (!reply.has_value()) return false;
    v1::DetectStreamResponse response;
    FUZZ_CHECK(response.ParseFromString(*reply));
    FUZZ_CHECK((response.status().code() == 0) == response.has_features());
    FUZZ_CHECK(++read_ <= Frames());
    return true;
  }

  RawCall call_;
  size_t sent_ = 0;
  int written_ = 0, read_ = 0;
};

class Target {
 public:
  Target() {
    ServerOptions options;
    const std::string folder = std::filesystem::temp_directory_path().string();
    options.listen = {absl::StrCat("unix:", folder, "/glint-fuzz-", getpid(), ".sock")};
    options.metrics_listen = "";
    options.lanes.backend = Backend::kCpu;
    options.lanes.lanes = 1;
    options.lanes.max_image_pixels = 128 * 128;
    options.max_features = 500;
    options.max_in_flight = 4;
    options.max_message_bytes = 1 << 17;
    options.memory_limit = int64_t{1} << 40;
    auto created = Server::Create(options);
    FUZZ_CHECK(created.ok());
    server_ = *std::move(created);
    FUZZ_CHECK(server_->Start().ok() && server_->WaitUntilServing(absl::Seconds(60)));
    channel_ = grpc::CreateChannel(options.listen[0], grpc::InsecureChannelCredentials());
  }

  void Run(fuzz::Input input) {
    Stream(channel_).Run(&input);
    const absl::Time give_up = absl::Now() + absl::Seconds(10);
    while ((server_->sessions() > 0 || server_->frames_in_flight() > 0) && absl::Now() < give_up) {
      absl::SleepFor(absl::Microseconds(100));
    }
    FUZZ_CHECK(server_->sessions() == 0 && server_->frames_in_flight() == 0);
    FUZZ_CHECK(server_->serving());
    if (runs_++ % kGoodCallEvery == 0) CheckGoodCall();
  }

 private:
  void CheckGoodCall() {
    const uint8_t numbers[] = {63, 77};
    fuzz::Input input(numbers, sizeof(numbers));
    v1::DetectRequest request;
    SetImage(&input, request.mutable_image());
    RawCall call(channel_, kDetect);
    FUZZ_CHECK(call.Write(request.SerializeAsString()) && call.WritesDone());
    const auto reply = call.Read();
    v1::DetectResponse response;
    FUZZ_CHECK(reply.has_value() && response.ParseFromString(*reply) && response.has_features());
    FUZZ_CHECK(call.Finish().ok());
  }

  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  int runs_ = 0;
};

}  // namespace
}  // namespace glint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const google::protobuf::LogSilencer quiet;
  static glint::Target* const target = new glint::Target();  // not destroyed: libFuzzer ends by exit()
  target->Run(glint::fuzz::Input(data, size));
  return 0;
}
