// What all streams of the client have in common: a window of unanswered frames, a thread that reads, the answer handed
// to the caller. Internal to the library.
#ifndef GLINT_CLIENT_STREAM_CORE_H_
#define GLINT_CLIENT_STREAM_CORE_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/shared_memory.h"
#include "client/wire.h"
#include "features/status_macros.h"
#include "features/steady_time.h"

namespace glint::client {

// Pixels that are the server's until a frame is answered.
struct FrameSlots {
  SharedSlot first, second;
  std::vector<SharedSlot> more = {};
};

// `Response` has frame_id. Two locks, taken in the order write_mu_, mu_. write_mu_ is held while a message is written,
// which can take as long as the server likes; mu_ only for a moment. The reading thread needs write_mu_ just once, when
// the reading is over, and by then nothing that holds write_mu_ waits any more. The standard's mutexes, since the
// thread sanitizer understands them where Abseil is a packaged library.
template <typename Request, typename Response>
class StreamCore {
 public:
  using Wire = grpc::ClientReaderWriter<Request, Response>;
  // Called on the reading thread for each answer, in order. Not OK: the stream is broken.
  using Deliver = std::function<absl::Status(const Response& response, absl::Duration round_trip)>;

  StreamCore(int window, Deliver deliver) : window_(window), deliver_(std::move(deliver)) {}
  ~StreamCore() {
    context.TryCancel();
    if (reader_.joinable()) reader_.join();
  }
  StreamCore(const StreamCore&) = delete;
  StreamCore& operator=(const StreamCore&) = delete;

  absl::Status Open(std::unique_ptr<Wire> stream, const Request& first) {
    stream_ = std::move(stream);
    if (!stream_->Write(first)) {
      const absl::Status status = FromGrpc(stream_->Finish());
      return status.ok() ? absl::InternalError("the server ended the stream before its first message") : status;
    }
    reader_ = std::thread([this] { ReadResults(); });
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
      GLINT_RETURN_IF_ERROR(fill(&request_, &slots));
      bool open;
      {
        std::unique_lock<std::mutex> lock(mu_);
        changed_.wait(lock, [this] { return reading_over_ || static_cast<int>(sent_.size()) < window_; });
        open = !reading_over_;
        if (open) sent_.push_back({frame_id, SteadyNow(), std::move(slots)});
      }
      if (open && stream_->Write(request_)) return absl::OkStatus();
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
      bool open;
      {
        std::lock_guard<std::mutex> lock(mu_);
        open = !reading_over_;
      }
      if (open) stream_->WritesDone();  // fails when the call has ended; WaitForEnd() tells why
    }
    return WaitForEnd();
  }

  void Cancel() { context.TryCancel(); }

  int in_flight() const {
    std::lock_guard<std::mutex> lock(mu_);
    return static_cast<int>(sent_.size());
  }

  grpc::ClientContext context;

 private:
  struct Sent {
    uint64_t frame_id;
    absl::Time at;
    FrameSlots slots;
  };

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
    stream_->WaitForInitialMetadata();
    while (broken.ok() && stream_->Read(&response)) broken = Take(response);
    if (!broken.ok()) {
      context.TryCancel();
      while (stream_->Read(&response)) {
      }
    }
    {
      std::lock_guard<std::mutex> lock(mu_);
      reading_over_ = true;
      changed_.notify_all();
    }
    // A write that is under way fails now, since the call is over, and no other begins; gRPC's Finish() comes after it.
    absl::Status status;
    {
      std::lock_guard<std::mutex> write_lock(write_mu_);
      status = FromGrpc(stream_->Finish());
    }
    std::lock_guard<std::mutex> lock(mu_);
    if (!broken.ok()) {
      status = broken;
    } else if (status.ok() && !sent_.empty()) {
      status = absl::InternalError(
          absl::StrCat("the server ended the stream and left ", sent_.size(), " frames unanswered"));
    }
    for (Sent& frame : sent_) frame.slots = FrameSlots();
    end_ = status;
    over_ = true;
    changed_.notify_all();
  }

  absl::Status Take(const Response& response) {
    Sent oldest;
    {
      std::lock_guard<std::mutex> lock(mu_);
      if (sent_.empty()) return absl::InternalError("the server sent a result without a frame");
      oldest = sent_.front();
    }
    if (response.frame_id() != oldest.frame_id) {
      return absl::InternalError(
          absl::StrCat("the server answered frame ", response.frame_id(), " instead of ", oldest.frame_id));
    }
    GLINT_RETURN_IF_ERROR(deliver_(response, SteadyNow() - oldest.at));
    std::lock_guard<std::mutex> lock(mu_);
    sent_.pop_front();
    changed_.notify_all();
    return absl::OkStatus();
  }

  const int window_;
  const Deliver deliver_;
  std::unique_ptr<Wire> stream_;

  std::mutex write_mu_;        // guards the next two
  Request request_;            // kept for its memory
  bool writing_over_ = false;  // by the caller's wish

  mutable std::mutex mu_;            // guards the rest
  std::condition_variable changed_;  // any of them
  std::deque<Sent> sent_;            // frames without a delivered result, oldest first
  bool reading_over_ = false;        // nothing may be written any more
  bool over_ = false;                // `end_` is known
  absl::Status end_;

  std::thread reader_;
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
