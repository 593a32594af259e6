#include "tests/fuzz/targets/session.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "glint/v1/feature_detection.pb.h"
#include "tests/server/raw_calls.h"

namespace glint::fuzz {
namespace {

using testing::RawCall;

constexpr char kDetect[] = "/glint.v1.FeatureDetection/Detect";
// Less than a stream's flow-control window: beyond it, answers to what was sent are read first, so that no write waits
// for the server to read. And of a whole stream.
constexpr size_t kMaxSent = 48 << 10, kMaxSentInAll = 4 * kMaxSent;
constexpr int kGoodCallEvery = 16;

// Steps after those of the method.
enum Beyond { kHalfClose, kRead, kCancel, kBeyond };

void CheckEnd(const grpc::Status& status) {
  FUZZ_CHECK(status.error_code() != grpc::StatusCode::UNKNOWN && status.error_code() != grpc::StatusCode::INTERNAL);
  FUZZ_CHECK(status.ok() || !status.error_message().empty());
}

// A folder that is there until the process ends.
std::string ProcessFolder() {
  struct Folder {
    Folder() : path(absl::StrCat(std::filesystem::temp_directory_path().string(), "/glint-fuzz-", getpid())) {
      std::filesystem::create_directory(path);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    const std::string path;
  };
  static const Folder folder;
  return folder.path;
}

// One stream, driven by the input. Cancelled at its end if it is open then.
class DrivenStream {
 public:
  DrivenStream(const std::shared_ptr<grpc::Channel>& channel, const Method& method)
      : method_(method), call_(channel, method.path) {}

  void Run(Input* input) {
    while (!input->empty()) {
      const int step = input->Number<uint8_t>() % (method_.steps + kBeyond);
      if (step == method_.steps + kCancel) return;
      if (step == method_.steps + kHalfClose) break;
      if (step == method_.steps + kRead) {
        if (read_ < Answers() && !ReadOne()) break;
        continue;
      }
      const std::string message = method_.message(step, input);
      if (message.size() > kMaxSent || sent_in_all_ + message.size() > kMaxSentInAll) break;
      if (sent_ + message.size() > kMaxSent && !ReadAll()) break;
      sent_ += message.size();
      sent_in_all_ += message.size();
      if (!call_.Write(message)) break;
      ++written_;
    }
    call_.WritesDone();
    while (ReadOne()) continue;
    const grpc::Status status = call_.Finish();
    CheckEnd(status);
    FUZZ_CHECK(!status.ok() || read_ == Answers());
  }

 private:
  // Of all messages but the first, if the stream is a good one.
  int Answers() const { return written_ > 0 ? written_ - 1 : 0; }

  bool ReadOne() {
    const auto reply = call_.Read();
    if (!reply.has_value()) return false;
    method_.check(*reply);
    FUZZ_CHECK(++read_ <= Answers());
    return true;
  }
  bool ReadAll() {
    while (read_ < Answers()) {
      if (!ReadOne()) return false;
    }
    sent_ = 0;
    return true;
  }

  const Method& method_;
  RawCall call_;
  size_t sent_ = 0, sent_in_all_ = 0;
  int written_ = 0, read_ = 0;
};

}  // namespace

void SetImage(Input* input, v1::Image* image) {
  v1::RawImage* const raw = image->mutable_raw();
  raw->set_format(v1::PIXEL_FORMAT_GRAY8);
  const int side = 1 + input->Number<uint8_t>() % 64;
  const auto gray = input->Number<uint8_t>();
  raw->set_width(static_cast<uint32_t>(side));
  raw->set_height(static_cast<uint32_t>(side));
  std::string* const data = raw->mutable_data();
  for (int i = 0; i < side * side; ++i) data->push_back(static_cast<char>((i / 7 * gray + i % 5) & 0xff));
}

std::string Damage(Input* input, std::string bytes) {
  const auto at = input->Number<uint8_t>();
  bytes[at % bytes.size()] = static_cast<char>(input->Number<uint8_t>());
  return bytes;
}

Session::Session() : folder_(ProcessFolder()) {
  ServerOptions options;
  options.listen = {absl::StrCat("unix:", folder_, "/server")};
  options.metrics_listen = "";
  options.lanes.backend = Backend::kCpu;
  options.lanes.lanes = 1;
  options.lanes.max_image_pixels = 2 * 128 * 128;
  options.max_features = 500;
  options.max_in_flight = 4;
  options.max_message_bytes = 1 << 17;
  options.max_localize_pixels = options.lanes.max_image_pixels;
  options.max_map_keyframes = 100;
  options.max_maps = 2;
  options.map_directory = absl::StrCat(folder_, "/maps");
  std::filesystem::create_directory(options.map_directory);
  auto created = Server::Create(options);
  FUZZ_CHECK(created.ok());
  server_ = *std::move(created);
  FUZZ_CHECK(server_->Start().ok() && server_->WaitUntilServing(absl::Seconds(60)));
  channel_ = grpc::CreateChannel(options.listen[0], grpc::InsecureChannelCredentials());
}

void Session::Stream(const Method& method, Input input) {
  DrivenStream(channel_, method).Run(&input);
  CheckThatAllIsFree();
}

void Session::Call(const Method& method, Input input) {
  RawCall call(channel_, method.path);
  const int step = input.Number<uint8_t>() % method.steps;
  const bool sent = call.Write(method.message(step, &input)) && call.WritesDone();
  const auto reply = sent ? call.Read() : std::nullopt;
  if (reply.has_value()) method.check(*reply);
  const grpc::Status status = call.Finish();
  CheckEnd(status);
  FUZZ_CHECK(status.ok() == reply.has_value());
  CheckThatAllIsFree();
}

void Session::ClearMaps() {
  const std::string maps = absl::StrCat(folder_, "/maps");
  for (const auto& file : std::filesystem::directory_iterator(maps)) std::filesystem::remove(file.path());
  std::ofstream(absl::StrCat(maps, "/foreign.glintmap")) << "no map";
}

void Session::CheckThatAllIsFree() {
  // Asked once each time: a call that was cancelled at once may arrive at the server only now.
  const auto is_free = [this] { return server_->sessions() == 0 && server_->frames_in_flight() == 0; };
  const absl::Time give_up = absl::Now() + absl::Seconds(10);
  bool all_is_free = is_free();
  while (!all_is_free && absl::Now() < give_up) {
    absl::SleepFor(absl::Microseconds(100));
    all_is_free = is_free();
  }
  FUZZ_CHECK(all_is_free);
  FUZZ_CHECK(server_->serving());
  if (runs_++ % kGoodCallEvery == 0) CheckGoodCall();
}

void Session::CheckGoodCall() {
  const uint8_t numbers[] = {63, 77};
  Input input(numbers, sizeof(numbers));
  v1::DetectRequest request;
  SetImage(&input, request.mutable_image());
  RawCall call(channel_, kDetect);
  FUZZ_CHECK(call.Write(request.SerializeAsString()) && call.WritesDone());
  const auto reply = call.Read();
  v1::DetectResponse response;
  FUZZ_CHECK(reply.has_value() && response.ParseFromString(*reply) && response.has_features());
  FUZZ_CHECK(call.Finish().ok());
}

}  // namespace glint::fuzz
