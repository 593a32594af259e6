#include "tests/soak/client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "glint/v1/feature_detection.grpc.pb.h"
#include "tests/soak/located.h"

namespace glint::soak {
namespace {

using grpc::StatusCode;
using testing::Random;

constexpr size_t kMaxBlame = 20;
constexpr char kCut[] = "Received RST_STREAM with error code 1";

struct Sent {
  uint64_t id;
  bool good;
};

// What is wrong with an answer; empty if nothing is.
std::string Judge(const Sent& sent, const v1::DetectStreamOptions& options, bool faults,
                  const v1::DetectStreamResponse& reply) {
  const int code = reply.status().code();
  const std::string what = absl::StrCat("frame ", sent.id, " (", sent.good ? "good" : "bad", "): code ", code,
                                        ", drop ", reply.status().drop_reason(), ", ", reply.status().message());
  if (reply.frame_id() != sent.id) return absl::StrCat(what, ": answered as ", reply.frame_id());
  if ((code == 0) != reply.has_features()) return what + ": features and status disagree";
  switch (reply.status().drop_reason()) {
    case v1::DROP_REASON_UNSPECIFIED:
      if (sent.good) return code == 0 || (faults && code == StatusCode::RESOURCE_EXHAUSTED) ? "" : what;
      return code == StatusCode::INVALID_ARGUMENT || code == StatusCode::RESOURCE_EXHAUSTED ? "" : what;
    case v1::DROP_REASON_EXPIRED:
      return code == StatusCode::DEADLINE_EXCEEDED && options.max_age_ns() > 0 ? "" : what;
    case v1::DROP_REASON_REJECTED:
      return code == StatusCode::RESOURCE_EXHAUSTED && options.overload_policy() == v1::OVERLOAD_POLICY_REJECT ? ""
                                                                                                               : what;
    case v1::DROP_REASON_SUPERSEDED:
      return code == StatusCode::ABORTED && (options.overload_policy() == v1::OVERLOAD_POLICY_DROP_OLDEST ||
                                             options.overload_policy() == v1::OVERLOAD_POLICY_LATEST)
                 ? ""
                 : what;
    default:
      return what;
  }
}

class Client {
 public:
  Client(const std::string& address, const Files& files, uint32_t seed, const Habits& habits, Doing* doing,
         Tally* tally)
      : files_(files), random_(seed), habits_(habits), doing_(doing), tally_(tally) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
    stub_ = v1::FeatureDetection::NewStub(channel_);
  }

  void Stream(bool cancel);
  void Call(bool cancel);
  void Follow(bool cancel) { FollowPoints(channel_, cancel, habits_, &random_, doing_, tally_); }
  void Locate(bool cancel) { LocateCamera(channel_, cancel, habits_, &random_, doing_, tally_); }
  // A stream that breaks the protocol, and must end with the error for that.
  void BreakRules();
  bool OneIn(int n) { return random_.OneIn(n); }

 private:
  bool FillFrame(v1::DetectFrame* frame) {
    frame->Clear();
    GoodImage(files_, &random_, frame->mutable_image());
    if (random_.OneIn(6)) AnyRegion(&random_, frame);
    if (!random_.OneIn(8)) return true;
    Spoil(&random_, frame);
    return false;
  }

  const Files& files_;
  Random random_;
  const Habits habits_;
  Doing* const doing_;
  Tally* const tally_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::FeatureDetection::Stub> stub_;
};

void Client::Stream(bool cancel) {
  // Says that it is done before all is answered, where that is not counted.
  const bool hasty = habits_.cancels && !cancel && random_.OneIn(2);
  grpc::ClientContext context;
  const auto stream = stub_->DetectStream(&context);
  v1::DetectStreamRequest request;
  const v1::DetectStreamOptions options = AnyOptions(&random_);
  *request.mutable_options() = options;
  doing_->what = "opens a stream";
  stream->Write(request);
  ++tally_->streams;
  if (cancel) ++tally_->cancelled_streams;

  std::mutex mutex;
  std::condition_variable all_answered;
  std::deque<Sent> unanswered;
  bool over = false;
  int64_t ok = 0, bad = 0, dropped = 0;
  std::thread reader([&] {
    v1::DetectStreamResponse reply;
    stream->WaitForInitialMetadata();  // as client/stream.cc
    while (stream->Read(&reply)) {
      ++tally_->answers;
      ++doing_->answered;
      Sent sent;
      {
        std::lock_guard<std::mutex> lock(mutex);
        if (unanswered.empty()) return tally_->Blame("an answer without a frame");
        sent = unanswered.front();
        unanswered.pop_front();
        if (unanswered.empty()) all_answered.notify_one();
      }
      const std::string wrong = Judge(sent, options, habits_.faults, reply);
      if (!wrong.empty()) tally_->Blame(wrong);
      ++(reply.status().code() == 0 ? ok : reply.status().drop_reason() != v1::DROP_REASON_UNSPECIFIED ? dropped : bad);
    }
    std::lock_guard<std::mutex> lock(mutex);
    over = true;
    all_answered.notify_one();
  });
  const int frames = random_.Uniform(1, 30);
  const int cancel_after = cancel ? random_.Uniform(0, frames) : frames;
  int written = 0;
  doing_->frames = cancel_after;
  doing_->written = 0;
  doing_->answered = 0;
  doing_->what = cancel ? "writes a stream that it will cancel" : "writes a stream";
  for (; written < cancel_after; ++written) {
    v1::DetectFrame* const frame = request.mutable_frame();
    const bool good = FillFrame(frame);
    frame->set_frame_id(uint64_t{random_.Bits()} << 32 | static_cast<uint64_t>(written));
    {
      std::lock_guard<std::mutex> lock(mutex);
      unanswered.push_back({frame->frame_id(), good});
    }
    if (!stream->Write(request)) break;
    ++tally_->sent;
    ++doing_->written;
    if (random_.OneIn(10)) std::this_thread::sleep_for(std::chrono::milliseconds(random_.Uniform(1, 20)));
  }
  if (cancel) {
    if (random_.OneIn(2)) std::this_thread::sleep_for(std::chrono::milliseconds(random_.Uniform(0, 10)));
    context.TryCancel();
  } else {
    std::unique_lock<std::mutex> lock(mutex);
    doing_->what = "awaits the answers of a stream before it closes its half";
    if (!hasty) all_answered.wait(lock, [&] { return over || unanswered.empty(); });
    lock.unlock();
    stream->WritesDone();
  }
  doing_->what = cancel ? "awaits the end of a cancelled stream" : "awaits the answers of a stream";
  reader.join();
  doing_->what = "awaits the status of a stream";
  const grpc::Status status = stream->Finish();
  if (cancel) return;
  if (hasty && status.error_code() == StatusCode::INTERNAL && status.error_message() == kCut) {
    ++tally_->cut_streams;
    return;
  }
  if (!status.ok()) {
    tally_->Blame(absl::StrCat("a stream ended with ", status.error_code(), ": ", status.error_message()));
    return;
  }
  if (written != frames || !unanswered.empty() || ok + bad + dropped != frames) {
    tally_->Blame(absl::StrCat(frames, " frames, ", written, " written, ", ok + bad + dropped, " answered"));
  }
  tally_->written += written;
  tally_->ok += ok;
  tally_->bad += bad;
  tally_->dropped += dropped;
}

void Client::Call(bool cancel) {
  v1::DetectFrame frame;
  const bool good = FillFrame(&frame);
  v1::DetectRequest request;
  *request.mutable_image() = frame.image();
  if (frame.has_mask()) *request.mutable_mask() = frame.mask();
  grpc::ClientContext context;
  if (cancel) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::microseconds(random_.Uniform(0, 5000)));
  }
  v1::DetectResponse reply;
  doing_->what = cancel ? "calls Detect with a deadline" : "calls Detect";
  const grpc::Status status = stub_->Detect(&context, request, &reply);
  ++tally_->calls;
  if (cancel) {
    ++tally_->cancelled_calls;
    return;
  }
  const StatusCode code = status.error_code();
  const bool refused = code == StatusCode::RESOURCE_EXHAUSTED;  // a full queue, or too large
  if (!refused && (good ? code != StatusCode::OK : code != StatusCode::INVALID_ARGUMENT)) {
    tally_->Blame(absl::StrCat("Detect (", good ? "good" : "bad", "): ", code, ": ", status.error_message()));
  }
}

void Client::BreakRules() {
  grpc::ClientContext context;
  const auto stream = stub_->DetectStream(&context);
  v1::DetectStreamRequest request;
  StatusCode expected = StatusCode::FAILED_PRECONDITION;
  switch (random_.Uniform(0, 2)) {
    case 0:  // a frame before the options
      FillFrame(request.mutable_frame());
      stream->Write(request);
      break;
    case 1:  // options twice
      request.mutable_options();
      stream->Write(request);
      stream->Write(request);
      break;
    default:
      request.mutable_options()->mutable_detector()->set_levels(99);
      stream->Write(request);
      expected = StatusCode::INVALID_ARGUMENT;
  }
  ++tally_->refused_streams;
  doing_->what = "awaits the end of a stream that broke the rules";
  v1::DetectStreamResponse reply;
  stream->WaitForInitialMetadata();
  while (stream->Read(&reply)) tally_->Blame("a reply to a broken stream");
  const grpc::Status status = stream->Finish();
  if (status.error_code() != expected) {
    tally_->Blame(absl::StrCat("a broken stream ended with ", status.error_code(), ": ", status.error_message()));
  }
}

}  // namespace

void Tally::Blame(const std::string& what) {
  if (forgiving) return;
  std::lock_guard<std::mutex> lock(mutex_);
  if (blame_.size() < kMaxBlame) blame_.push_back(what);
}

std::vector<std::string> Tally::TakeBlame() {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::move(blame_);
}

void RunClient(const std::string& address, const Files& files, uint32_t seed, const Habits& habits,
               const std::atomic<bool>& stop, Doing* doing, Tally* tally) {
  std::unique_ptr<Client> client;
  for (uint32_t round = 0; !stop; ++round) {
    if (client == nullptr || client->OneIn(20)) {
      doing->what = "connects";
      client = std::make_unique<Client>(address, files, seed + round, habits, doing, tally);
    }
    const bool cancel = habits.cancels && client->OneIn(3);
    if (client->OneIn(12)) {
      client->BreakRules();
    } else if (habits.cancels && client->OneIn(5)) {
      client->Call(cancel);
    } else if (client->OneIn(6)) {
      client->Follow(cancel);
    } else if (client->OneIn(8)) {
      client->Locate(cancel);
    } else {
      client->Stream(cancel);
    }
  }
  doing->what = "nothing";
}

}  // namespace glint::soak
