#include "ros2/operations/stream_operation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "features/status_macros.h"
#include "features/steady_time.h"
#include "features/thread.h"
#include "ros2/operations/complain.h"

namespace glint::ros2 {
namespace {

constexpr absl::Duration kShortestPause = absl::Milliseconds(20), kLongestPause = absl::Seconds(1);
// After an error that does not mend itself; somebody may have changed the server.
constexpr absl::Duration kRefusedPause = absl::Seconds(10);
// Between looks for a connection and for cameras.
constexpr absl::Duration kLookEvery = absl::Milliseconds(20);

// Errors of a stream's beginning that another attempt would meet again.
bool IsRefusal(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kResourceExhausted:  // a limit that does not pass
      return !client::RetryAfterOf(status).has_value();
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange:
      return true;
    default:
      return false;
  }
}

int64_t ReceivedNs(const Frame& frame) {
  return std::max({frame.left.received_ns, frame.right.received_ns, frame.depth.received_ns});
}

}  // namespace

StreamOperation::StreamOperation(const Context& context, std::string name, size_t capacity, bool needs_cameras)
    : context_(context),
      name_(std::move(name)),
      capacity_(std::max<size_t>(capacity, 1)),
      needs_cameras_(needs_cameras),
      pause_(kShortestPause) {}

StreamOperation::~StreamOperation() { Stop(); }

absl::Status StreamOperation::Start() {
  GLINT_ASSIGN_OR_RETURN(thread_, StartThread(name_, [this] { Run(); }));
  return absl::OkStatus();
}

void StreamOperation::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    if (stream_ != nullptr) stream_->Cancel();
    changed_.SignalAll();
  }
  if (thread_.joinable()) thread_.join();
}

void StreamOperation::Wake() {
  absl::MutexLock lock(&mutex_);
  wake_ = true;
  changed_.SignalAll();
}

void StreamOperation::Restart() {
  absl::MutexLock lock(&mutex_);
  restart_ = wake_ = true;
  if (stream_ != nullptr) stream_->Cancel();
  changed_.SignalAll();
}

void StreamOperation::Take(std::shared_ptr<const Frame> frame) {
  absl::MutexLock lock(&mutex_);
  if (stopping_) return;
  ++figures_.frames;
  if (waiting_.size() >= capacity_) {
    waiting_.erase(waiting_.begin());
    ++figures_.dropped;
  }
  waiting_.push_back(std::move(frame));
  changed_.SignalAll();
}

void StreamOperation::DropAll() {
  figures_.dropped += static_cast<int64_t>(waiting_.size());
  waiting_.clear();
}

void StreamOperation::Run() {
  while (const std::optional<Basis> basis = WaitForBasis()) {
    const absl::Status why = Drive(*basis);
    {
      absl::MutexLock lock(&mutex_);
      figures_.unanswered += static_cast<int64_t>(sent_.size());
      sent_.clear();
    }
    Closed(why);
    if (!why.ok()) Judge(*basis, why);
  }
}

std::optional<StreamOperation::Basis> StreamOperation::WaitForBasis() {
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      while (!stopping_ && !wake_ && waiting_.empty()) changed_.Wait(&mutex_);
      if (stopping_) return std::nullopt;
    }
    Basis basis;
    std::string missing;
    basis.client = context_.connection->client();
    if (basis.client == nullptr) {
      missing = "a server";
    } else if (needs_cameras_) {
      std::optional<Cameras> cameras = context_.input->cameras(&missing);
      if (cameras.has_value()) {
        basis.cameras = std::move(*cameras);
        missing.clear();
      } else if (missing.empty()) {
        missing = "the cameras";
      }
    }
    absl::MutexLock lock(&mutex_);
    if (stopping_) return std::nullopt;
    waits_for_ = missing;
    const bool is_early = SteadyNow() < open_after_ && !(refused_ && basis.cameras.version != refused_version_);
    if (missing.empty() && !is_early) {
      restart_ = false;
      return basis;
    }
    changed_.WaitWithTimeout(&mutex_, kLookEvery);
  }
}

absl::Status StreamOperation::Drive(const Basis& basis) {
  {
    absl::MutexLock lock(&mutex_);
    has_answer_ = false;
  }
  GLINT_ASSIGN_OR_RETURN(const std::unique_ptr<AnyStream> stream, Open(*basis.client, basis.cameras));
  {
    absl::MutexLock lock(&mutex_);
    stream_ = stream.get();
    served_ = absl::InfinitePast();
    ++figures_.streams;
  }
  absl::Status why;
  std::shared_ptr<const Frame> frame;
  while (why.ok() && Next(&frame)) {
    if (frame != nullptr) {
      why = WriteFrame(stream.get(), std::move(frame));
      continue;
    }
    why = Serve(stream.get());
    std::string ignored;
    const auto cameras = needs_cameras_ ? context_.input->cameras(&ignored) : std::nullopt;
    if (cameras.has_value() && cameras->version != basis.cameras.version) Restart();
  }
  absl::MutexLock lock(&mutex_);
  stream_ = nullptr;
  return restart_ || stopping_ ? absl::OkStatus() : why;
}

bool StreamOperation::Next(std::shared_ptr<const Frame>* frame) {
  absl::MutexLock lock(&mutex_);
  frame->reset();
  while (!stopping_ && !restart_) {
    const absl::Time now = SteadyNow();
    if (wake_ || now - served_ >= kServeEvery) {
      wake_ = false;
      served_ = now;
      return true;
    }
    if (!waiting_.empty()) {
      *frame = std::move(waiting_.front());
      waiting_.erase(waiting_.begin());
      return true;
    }
    changed_.WaitWithTimeout(&mutex_, served_ + kServeEvery - now);
  }
  return false;
}

absl::Status StreamOperation::WriteFrame(AnyStream* stream, std::shared_ptr<const Frame> frame) {
  const uint64_t id = next_id_++;
  {
    absl::MutexLock lock(&mutex_);
    sent_.push_back({id, frame, 0});
  }
  absl::Status status = stream->Write(id, *frame);
  absl::MutexLock lock(&mutex_);
  const auto sent = std::find_if(sent_.begin(), sent_.end(), [id](const Sent& one) { return one.id == id; });
  if (status.ok()) {
    if (sent != sent_.end()) sent->written_ns = absl::GetCurrentTimeNanos();
    return status;
  }
  if (sent != sent_.end()) sent_.erase(sent);
  if (status.code() == absl::StatusCode::kInvalidArgument && has_answer_) {  // an image that cannot be sent
    ++figures_.failed;
    frame_error_ = std::string(status.message());
    return absl::OkStatus();
  }
  if (waiting_.size() < capacity_) {
    waiting_.insert(waiting_.begin(), std::move(frame));
  } else {
    ++figures_.dropped;
  }
  return status;
}

void StreamOperation::Answered(uint64_t id, const absl::Status& status, client::DropReason drop_reason,
                               const client::Timings& timings, absl::FunctionRef<void(const Frame&)> publish) {
  const int64_t began_ns = absl::GetCurrentTimeNanos();
  Sent sent = {};
  {
    absl::MutexLock lock(&mutex_);
    has_answer_ = true;
    error_ = absl::OkStatus();
    refused_ = false;
    pause_ = kShortestPause;
    const auto found = std::find_if(sent_.begin(), sent_.end(), [id](const Sent& one) { return one.id == id; });
    if (found == sent_.end()) return;
    sent = std::move(*found);
    sent_.erase(found);
    if (drop_reason != client::DropReason::kNone) {
      ++figures_.dropped_by_server;
      return;
    }
    if (!status.ok()) {
      ++figures_.failed;
      frame_error_ = std::string(status.message());
      return;
    }
  }
  publish(*sent.frame);
  const int64_t ended_ns = absl::GetCurrentTimeNanos();
  const int64_t received_ns = ReceivedNs(*sent.frame);
  absl::MutexLock lock(&mutex_);
  ++figures_.answered;
  figures_.latency.Add(ended_ns - received_ns);
  figures_.bridge.Add((sent.written_ns != 0 ? sent.written_ns : began_ns) - received_ns + ended_ns - began_ns);
  figures_.server.Add(timings.total_ns);
}

void StreamOperation::Judge(const Basis& basis, const absl::Status& why) {
  const bool is_lost = why.code() == absl::StatusCode::kUnavailable;
  if (is_lost) context_.connection->Lost(basis.client, why);
  absl::MutexLock lock(&mutex_);
  error_ = why;
  refused_ = !has_answer_ && IsRefusal(why);
  refused_version_ = basis.cameras.version;
  if (is_lost) {
    DropAll();  // they may lie in memory that the next server does not have
    open_after_ = absl::InfinitePast();
    return;
  }
  absl::Duration pause = refused_ ? kRefusedPause : pause_;
  if (const auto asked = client::RetryAfterOf(why)) pause = std::clamp(*asked, pause, kRefusedPause);
  open_after_ = SteadyNow() + pause;
  pause_ = std::min(2 * pause_, kLongestPause);
  if (refused_ && said_ != why.message()) {
    said_ = std::string(why.message());
    Complain(absl::StrCat(name_, ": the server refuses the stream: ", said_));
  }
}

}  // namespace glint::ros2
