#include "client/load/stream.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/load/echo_server.h"
#include "client/wire.h"

namespace glint::load {
namespace {

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace

int64_t MonotonicNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

LoadStream::LoadStream(std::shared_ptr<grpc::Channel> channel, Task task, bool glint, const std::string& first,
                       const std::vector<FrameBody>* frames, size_t first_frame, grpc::CompletionQueue* queue,
                       Recorder* recorder)
    : task_(task),
      glint_(glint),
      frames_(frames),
      first_frame_(first_frame),
      recorder_(recorder),
      first_(ToBuffer(first)),
      stub_(std::move(channel)) {
  call_ = stub_.PrepareCall(&context_, glint ? MethodOf(task) : kEchoMethod, queue);
  call_->StartCall(&started_);
}

void LoadStream::OnStarted(bool ok, int64_t) {
  if (!ok) {
    call_->Finish(&end_, &finished_);
    return;
  }
  call_->Write(first_, &written_);
  call_->ReadInitialMetadata(&headers_);  // before the first read, as client/stream.cc
}

void LoadStream::OnHeaders(bool, int64_t) { call_->Read(&incoming_, &read_); }

void LoadStream::OnWritten(bool ok, int64_t now_ns) {
  if (!ok) return;  // nor can anything be read; that path ends the call
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (closing_) {
      call_->WritesDone(&closed_);
      return;
    }
    open_ = true;
    writing_ = false;
    free_ns_ = now_ns;
  }
  SendDue();
}

void LoadStream::OnRead(bool ok, int64_t now_ns) {
  if (!ok) {
    call_->Finish(&end_, &finished_);
    return;
  }
  const size_t bytes = incoming_.Length();
  if (absl::Status s = Answer(bytes, now_ns); !s.ok()) {
    std::lock_guard<std::mutex> lock(mutex_);
    broken_ = std::move(s);
    context_.TryCancel();
  }
  call_->Read(&incoming_, &read_);
  SendDue();
}

absl::Status LoadStream::Answer(size_t bytes, int64_t now_ns) {
  if (glint_ && !ReadReply(task_, &incoming_, &reply_)) {
    return absl::InternalError("the server sent something that is no answer of this stream");
  }
  Sent sent;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (unanswered_.empty()) return closing_ ? absl::OkStatus() : absl::InternalError("an answer without a frame");
    sent = unanswered_.front();
    unanswered_.pop_front();
    if (glint_) last_reply_ = incoming_;
  }
  if (glint_ && reply_.frame_id != sent.id) {
    return absl::InternalError(absl::StrCat("the server answered frame ", reply_.frame_id, " instead of ", sent.id));
  }
  if (!sent.recorded) return absl::OkStatus();
  if (glint_) {
    recorder_->Answered(now_ns - sent.due_ns, reply_, bytes, now_ns);
  } else {
    recorder_->Echoed(now_ns - sent.due_ns, bytes, now_ns);
  }
  return absl::OkStatus();
}

void LoadStream::OnFinished(bool, int64_t) {
  std::lock_guard<std::mutex> lock(mutex_);
  over_ = true;
  if (!broken_.ok() || closing_) return;
  broken_ = end_.ok() ? absl::UnavailableError("the server ended the stream") : client::FromGrpc(end_);
}

bool LoadStream::open() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return open_ || over_ || !broken_.ok();
}

void LoadStream::Begin(const Schedule& schedule) {
  std::lock_guard<std::mutex> lock(mutex_);
  schedule_ = schedule;
  begun_ = 0;
}

void LoadStream::StopAt(int64_t end_ns) {
  std::lock_guard<std::mutex> lock(mutex_);
  schedule_.end_ns = std::min(schedule_.end_ns, end_ns);
}

bool LoadStream::NextDue(int64_t now_ns, int64_t* due_ns) const {
  if (schedule_.open_loop()) {
    *due_ns = schedule_.DueAt(begun_);
    return *due_ns <= now_ns && *due_ns < schedule_.end_ns;
  }
  *due_ns = now_ns;
  return unanswered_.size() < static_cast<size_t>(schedule_.in_flight) && now_ns < schedule_.end_ns;
}

void LoadStream::SendDue() {
  Sent sent;
  const FrameBody* body = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const int64_t now_ns = MonotonicNs();
    if (writing_ || closing_ || over_ || !broken_.ok() || !NextDue(now_ns, &sent.due_ns)) return;
    sent.id = next_id_++;
    sent.recorded = sent.due_ns >= schedule_.record_from_ns;
    if (schedule_.open_loop() && sent.recorded && free_ns_ <= sent.due_ns) recorder_->Late(now_ns - sent.due_ns);
    unanswered_.push_back(sent);
    ++begun_;
    writing_ = true;
    body = &(*frames_)[(first_frame_ + sent.id) % frames_->size()];
  }
  int64_t copied = 0;
  call_->Write(body->Message(sent.id, &copied), &written_);
  if (sent.recorded) recorder_->Copied(copied);
}

bool LoadStream::Idle(int64_t now_ns) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (over_ || !broken_.ok()) return true;
  if (now_ns < schedule_.end_ns || !unanswered_.empty()) return false;
  return !schedule_.open_loop() || schedule_.DueAt(begun_) >= schedule_.end_ns;
}

void LoadStream::GiveUp(int64_t now_ns) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Sent& sent : unanswered_) {
    if (sent.recorded) recorder_->Unanswered(now_ns - sent.due_ns);
  }
  unanswered_.clear();
  for (; schedule_.open_loop() && schedule_.DueAt(begun_) < schedule_.end_ns; ++begun_) {
    const int64_t due_ns = schedule_.DueAt(begun_);
    if (due_ns >= schedule_.record_from_ns) recorder_->Unanswered(now_ns - due_ns);
  }
  closing_ = true;
  context_.TryCancel();
}

absl::Status LoadStream::broken() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return broken_;
}

std::string LoadStream::last_reply() const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!last_reply_.Valid()) return "";
  grpc::Slice slice;
  if (!last_reply_.DumpToSingleSlice(&slice).ok()) return "";
  return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
}

void LoadStream::HalfClose() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (std::exchange(closing_, true) || writing_ || over_) return;
  writing_ = true;
  call_->WritesDone(&closed_);
}

bool LoadStream::over() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return over_;
}

}  // namespace glint::load
