// What all streams of the client have in common: a window of unanswered frames, a thread that reads, the answer handed
// to the caller. Internal to the library.
#ifndef GLINT_CLIENT_STREAM_CORE_H_
#define GLINT_CLIENT_STREAM_CORE_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/open_calls.h"
#include "client/shared_memory.h"
#include "client/wire.h"
#include "features/status_macros.h"
#include "features/steady_time.h"
#include "features/thread.h"

namespace glint::client {

// Pixels that are the server's until a frame is answered.
struct FrameSlots {
  SharedSlot first, second;
  std::vector<SharedSlot> more = {};
};

// The sending half of a stream. A thread of its own writes, since nothing ends gRPC 1.51's write to a socket that takes
// no more bytes, such as that of a local server which hangs: then the thread is left behind, until the connection ends.
template <typename Request, typename Wire>
class StreamSender {
 public:
  // Its thread, which shares `sender`. RESOURCE_EXHAUSTED: it cannot be made.
  static absl::StatusOr<std::thread> Start(const std::shared_ptr<StreamSender>& sender, std::unique_ptr<Wire> stream) {
    sender->stream_ = std::move(stream);
    return StartThread("stream", [sender] { sender->Run(); });
  }

  // Waits until the message before is written; then request() may be changed. False: it was not, and the stream is
  // over.
  bool WaitForRoom() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return over_ || !to_write_; });
    return !to_write_;
  }
  Request* request() { return &request_; }
  // After WaitForRoom(): request() is written next, or that there are no more.
  void Write() { Do(&to_write_); }
  void WritesDone() { Do(&to_close_); }
  // Nothing is written any more. Waits a moment for the thread's end; false: it has not ended.
  bool End() {
    Do(&over_);
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, kEndPatience, [this] { return ended_; });
  }
  Wire* stream() const { return stream_.get(); }

  grpc::ClientContext context;

 private:
  static constexpr std::chrono::milliseconds kEndPatience{100};

  void Do(bool* what) {
    const std::lock_guard<std::mutex> lock(mutex_);
    *what = true;
    changed_.notify_all();
  }
  void Run() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (bool good = true; good && !over_;) {
      changed_.wait(lock, [this] { return over_ || to_write_ || to_close_; });
      if (over_) break;
      lock.unlock();
      good = to_write_ ? stream_->Write(request_) : stream_->WritesDone() && false;
      lock.lock();
      to_write_ = to_write_ && !good;  // after a failure there is no room until the stream is over
      changed_.notify_all();
    }
    ended_ = true;
    changed_.notify_all();
  }

  std::unique_ptr<Wire> stream_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Request request_;  // kept for its memory
  bool to_write_ = false, to_close_ = false, over_ = false, ended_ = false;
};

// `Response` has frame_id. Two locks, taken in the order write_mu_, mu_. write_mu_ is held while a message waits to be
// written, which can take as long as the server likes; mu_ only for a moment. The standard's mutexes, since the thread
// sanitizer understands them where Abseil is a packaged library.
template <typename Request, typename Response>
class StreamCore {
 public:
  using Wire = grpc::ClientReaderWriter<Request, Response>;
  // Called on the reading thread for each answer, in order. Not OK: the stream is broken.
  using Deliver = std::function<absl::Status(const Response& response, absl::Duration round_trip)>;

  StreamCore(int window, Deliver deliver)
      : sender_(std::make_shared<Sender>()), context(sender_->context), window_(window), deliver_(std::move(deliver)) {}
  ~StreamCore() {
    context.TryCancel();
    if (reader_.joinable()) reader_.join();
    if (watcher_.joinable()) watcher_.join();
    if (sending_.joinable()) sender_->End() ? sending_.join() : sending_.detach();
  }
  StreamCore(const StreamCore&) = delete;
  StreamCore& operator=(const StreamCore&) = delete;

  // Before Open(). `timeout` is StreamOptions'; `calls` can cancel the stream.
  void Prepare(absl::Duration timeout, std::shared_ptr<OpenCalls> calls) {
    timeout_ = timeout;
    open_call_.emplace(std::move(calls), &context);
  }

  // On an error the stream is over. RESOURCE_EXHAUSTED: a thread cannot be made.
  absl::Status Open(std::unique_ptr<Wire> stream, const Request& first) {
    due_since_ = SteadyNow();
    *sender_->request() = first;
    GLINT_ASSIGN_OR_RETURN(sending_, Sender::Start(sender_, std::move(stream)));
    sender_->Write();
    GLINT_ASSIGN_OR_RETURN(reader_, StartThread("stream", [this] { ReadResults(); }));
    if (timeout_ < absl::InfiniteDuration()) {
      GLINT_ASSIGN_OR_RETURN(watcher_, StartThread("stream", [this] { WatchAnswers(); }));
    }
    if (!sender_->WaitForRoom()) {
      const absl::Status status = WaitForEnd();
      return status.ok() ? absl::InternalError("the server ended the stream before its first message") : status;
    }
    std::lock_guard<std::mutex> lock(mu_);
    due_since_ = absl::InfiniteFuture();
    return absl::OkStatus();
  }

  // `fill(Request*, FrameSlots*)` makes the message, in memory that is kept; its error is returned and the stream
  // lives on.
  template <typename Fill>
  absl::Status Write(uint64_t frame_id, Fill fill) {
    {
      std::lock_guard<std::mutex> write_lock(write_mu_);
      if (writing_over_) return absl::FailedPreconditionError("Write() after Finish()");
      FrameSlots slots;
      bool open = sender_->WaitForRoom();
      if (open) {
        GLINT_RETURN_IF_ERROR(fill(sender_->request(), &slots));
        std::unique_lock<std::mutex> lock(mu_);
        changed_.wait(lock, [this] { return reading_over_ || static_cast<int>(sent_.size()) < window_; });
        open = !reading_over_;
        if (open) sent_.push_back({frame_id, SteadyNow(), std::move(slots)});
      }
      if (open) {
        sender_->Write();
        return absl::OkStatus();
      }
    }
    const absl::Status status = WaitForEnd();
    return status.ok() ? absl::UnavailableError("the server ended the stream") : status;
  }

  // The server is told that nothing more comes when all is answered: where it has not read all, gRPC 1.51 may end the
  // stream for saying so (tests/client/half_close_test.cc).
  absl::Status Finish() {
    bool first;
    {
      std::lock_guard<std::mutex> write_lock(write_mu_);
      first = !std::exchange(writing_over_, true);
    }
    {
      std::unique_lock<std::mutex> lock(mu_);
      changed_.wait(lock, [this] { return reading_over_ || sent_.empty(); });
    }
    if (first) {
      std::lock_guard<std::mutex> write_lock(write_mu_);
      {
        std::lock_guard<std::mutex> lock(mu_);
        due_since_ = SteadyNow();
      }
      if (sender_->WaitForRoom()) sender_->WritesDone();
    }
    return WaitForEnd();
  }

  void Cancel() { context.TryCancel(); }

  int in_flight() const {
    std::lock_guard<std::mutex> lock(mu_);
    return static_cast<int>(sent_.size());
  }

 private:
  using Sender = StreamSender<Request, Wire>;
  const std::shared_ptr<Sender> sender_;

 public:
  grpc::ClientContext& context;  // the sender's

 private:
  struct Sent {
    uint64_t frame_id;
    absl::Time at;
    FrameSlots slots;
  };

  // When the server owes an answer since: to the oldest frame, or about the stream itself (due_since_). In the future
  // if it owes none, or if the caller has not taken the last one yet. Needs mu_.
  absl::Time OwedSince() const {
    if (delivering_) return absl::InfiniteFuture();
    return std::max(answered_at_, sent_.empty() ? due_since_ : sent_.front().at);
  }

  // Cancels the stream when an answer is owed for timeout_.
  void WatchAnswers() {
    std::unique_lock<std::mutex> lock(mu_);
    while (!over_) {
      // What is not owed yet cannot be late before timeout_ has passed from now.
      const absl::Time now = SteadyNow();
      const absl::Duration left = std::min(OwedSince(), now) + timeout_ - now;
      late_ = left <= absl::ZeroDuration();
      if (late_) break;
      ended_.wait_for(lock, absl::ToChronoNanoseconds(std::min(left, absl::Hours(1))), [this] { return over_; });
    }
    if (late_) context.TryCancel();
  }

  // How the stream ended. Needs mu_.
  void EndWith(const absl::Status& status) {
    end_ = late_ && !status.ok() ? absl::DeadlineExceededError(
                                       absl::StrCat("no answer from the server for ", absl::FormatDuration(timeout_)))
                                 : status;
    over_ = true;
    changed_.notify_all();
    ended_.notify_all();
  }

  absl::Status WaitForEnd() {
    std::unique_lock<std::mutex> lock(mu_);
    changed_.wait(lock, [this] { return over_; });
    return end_;
  }

  void ReadResults() {
    Response response;
    absl::Status broken;
    // Not with the first message: gRPC 1.51 may lose the end of a call that is cancelled between the two
    // (tests/client/cancel_test.cc).
    Wire* const stream = sender_->stream();
    stream->WaitForInitialMetadata();
    while (broken.ok() && stream->Read(&response)) broken = Take(response);
    if (!broken.ok()) {
      context.TryCancel();
      while (stream->Read(&response)) {
      }
    }
    {
      std::lock_guard<std::mutex> lock(mu_);
      reading_over_ = true;
      changed_.notify_all();
    }
    // A write that is under way fails now, since the call is over, unless the socket takes no more.
    sender_->End();
    absl::Status status = FromGrpc(stream->Finish());
    std::lock_guard<std::mutex> lock(mu_);
    if (!broken.ok()) {
      status = broken;
    } else if (status.ok() && !sent_.empty()) {
      status = absl::InternalError(
          absl::StrCat("the server ended the stream and left ", sent_.size(), " frames unanswered"));
    }
    for (Sent& frame : sent_) frame.slots = FrameSlots();
    EndWith(status);
  }

  absl::Status Take(const Response& response) {
    Sent oldest;
    {
      std::lock_guard<std::mutex> lock(mu_);
      if (sent_.empty()) return absl::InternalError("the server sent a result without a frame");
      oldest = sent_.front();
      delivering_ = true;
    }
    if (response.frame_id() != oldest.frame_id) {
      return absl::InternalError(
          absl::StrCat("the server answered frame ", response.frame_id(), " instead of ", oldest.frame_id));
    }
    GLINT_RETURN_IF_ERROR(deliver_(response, SteadyNow() - oldest.at));
    std::lock_guard<std::mutex> lock(mu_);
    sent_.pop_front();
    delivering_ = false;
    answered_at_ = SteadyNow();
    changed_.notify_all();
    return absl::OkStatus();
  }

  const int window_;
  const Deliver deliver_;
  absl::Duration timeout_ = absl::InfiniteDuration();

  std::mutex write_mu_;        // guards the sender's request and the next one
  bool writing_over_ = false;  // by the caller's wish

  mutable std::mutex mu_;            // guards the rest
  std::condition_variable changed_;  // any of them
  std::deque<Sent> sent_;            // frames without a delivered result, oldest first
  bool reading_over_ = false;        // nothing may be written any more
  bool over_ = false;                // `end_` is known
  absl::Status end_;
  // Of the watch.
  std::condition_variable ended_;                  // over_
  absl::Time answered_at_ = absl::InfinitePast();  // when the caller had taken the last answer
  absl::Time due_since_ = absl::InfiniteFuture();  // when something that is no frame was sent: the options, the end
  bool delivering_ = false, late_ = false;

  std::optional<OpenCall> open_call_;  // of `context`
  std::thread sending_, reader_, watcher_;
};

// Implementation of a stream whose answers have frame_id and status. `Service` is a class of gRPC's.
template <typename Service, typename Request, typename Response, typename Answer>
struct StreamImpl {
  using Callback = std::function<void(const Answer& answer)>;
  // Converts what a response has besides its envelope. Not OK: the stream is broken.
  using Read = std::function<absl::Status(const Response& response, absl::Duration round_trip, Answer* answer)>;

  StreamImpl(const std::shared_ptr<grpc::ChannelInterface>& channel, int window, Callback callback, Read read)
      : on_answer(std::move(callback)),
        stub(Service::NewStub(channel)),
        core(window, [this, read = std::move(read)](const Response& response, absl::Duration round_trip) {
          FromWire(response, &answer);
          GLINT_RETURN_IF_ERROR(read(response, round_trip, &answer));
          if (on_answer) on_answer(answer);
          return absl::OkStatus();
        }) {}

  const Callback on_answer;
  const std::unique_ptr<typename Service::Stub> stub;
  Answer answer;  // of the reading thread; kept for its memory
  StreamCore<Request, Response> core;
};

}  // namespace glint::client

#endif  // GLINT_CLIENT_STREAM_CORE_H_
