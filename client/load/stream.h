// One stream of a load generator: raw messages over a call of its own, on a completion queue of its worker's.
#ifndef GLINT_CLIENT_LOAD_STREAM_H_
#define GLINT_CLIENT_LOAD_STREAM_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/load/frames.h"
#include "client/load/recorder.h"
#include "client/load/reply.h"
#include "client/load/task.h"

namespace glint::load {

int64_t MonotonicNs();

// When one stream sends, on MonotonicNs()'s clock. A closed loop sends a frame whenever fewer than `in_flight` are
// unanswered; an open loop has frames due at first_due_ns, one interval later, and so on, whatever the server does.
struct Schedule {
  int in_flight = 1;           // of a closed loop
  double interval_ns = 0;      // of an open loop; 0: closed
  int64_t first_due_ns = 0;    // of an open loop
  int64_t record_from_ns = 0;  // frames due before warm everything up
  int64_t end_ns = 0;          // none is due from here on

  bool open_loop() const { return interval_ns > 0; }
  int64_t DueAt(int64_t frame) const {
    return first_due_ns + static_cast<int64_t>(static_cast<double>(frame) * interval_ns);
  }
};

// Thread-safe. The completion queue's thread calls Run() of the tags; anybody may call the rest.
class LoadStream {
 public:
  // What comes back from the completion queue.
  struct Tag {
    LoadStream* stream;
    void (LoadStream::*method)(bool ok, int64_t now_ns);
    void Run(bool ok, int64_t now_ns) { (stream->*method)(ok, now_ns); }
  };

  // Starts the call and writes `first`. `frames` are sent round robin, beginning with number `first_frame`; they, the
  // queue and the recorder must outlive the stream. `glint`: the task is a Glint server's, not an EchoServer's.
  LoadStream(std::shared_ptr<grpc::Channel> channel, Task task, bool glint, const std::string& first,
             const std::vector<FrameBody>* frames, size_t first_frame, grpc::CompletionQueue* queue,
             Recorder* recorder);

  // The first message has been sent, or the stream has broken.
  bool open() const;

  void Begin(const Schedule& schedule);
  // Writes the next frame if one is due and nothing is being written. For a closed loop the first time, for an open
  // loop whenever a frame becomes due.
  void SendDue();
  // Ends the schedule: no frame is due from `end_ns` on.
  void StopAt(int64_t end_ns);
  // No frame of the schedule is left to send and none is unanswered; `now_ns` is past its end. True for a stream that
  // has broken.
  bool Idle(int64_t now_ns) const;
  // Records frames that are due at `now_ns` and not sent as unanswered.
  void GiveUp(int64_t now_ns);

  // Not OK once the call has ended, unless that was asked for. The text states the reason.
  absl::Status broken() const;
  // The newest reply as it came; empty without one.
  std::string last_reply() const;

  // No more frames; over() becomes true when the call has ended.
  void HalfClose();
  void Cancel() { context_.TryCancel(); }
  bool over() const;

 private:
  struct Sent {
    uint64_t id;
    int64_t due_ns;
    bool recorded;
  };

  void OnStarted(bool ok, int64_t now_ns);
  void OnWritten(bool ok, int64_t now_ns);
  void OnHeaders(bool, int64_t);
  void OnRead(bool ok, int64_t now_ns);
  void OnClosed(bool, int64_t) {}
  void OnFinished(bool ok, int64_t now_ns);

  bool NextDue(int64_t now_ns, int64_t* due_ns) const;  // with mutex_
  // What `reply` of `bytes` bytes means for the oldest frame; not OK if it cannot be its answer.
  absl::Status Answer(size_t bytes, int64_t now_ns);

  const Task task_;
  const bool glint_;
  const std::vector<FrameBody>* const frames_;
  const size_t first_frame_;
  Recorder* const recorder_;
  grpc::ByteBuffer first_;
  grpc::ClientContext context_;
  grpc::GenericStub stub_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  Tag started_{this, &LoadStream::OnStarted};
  Tag written_{this, &LoadStream::OnWritten};
  Tag headers_{this, &LoadStream::OnHeaders};
  Tag read_{this, &LoadStream::OnRead};
  Tag closed_{this, &LoadStream::OnClosed};
  Tag finished_{this, &LoadStream::OnFinished};
  grpc::ByteBuffer incoming_;
  Reply reply_;
  grpc::Status end_;

  mutable std::mutex mutex_;  // guards the rest; not held while gRPC writes
  Schedule schedule_;
  std::deque<Sent> unanswered_;  // oldest first
  uint64_t next_id_ = 0;
  int64_t begun_ = 0;  // frames of this schedule that were sent
  grpc::ByteBuffer last_reply_;
  bool writing_ = true;  // the call's start and its first message, to begin with
  int64_t free_ns_ = 0;  // when the last message had been written
  bool open_ = false;
  bool closing_ = false;
  bool over_ = false;
  absl::Status broken_;
};

}  // namespace glint::load

#endif  // GLINT_CLIENT_LOAD_STREAM_H_
