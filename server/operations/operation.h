// What an operation is to the rest of the server. It has a folder of its own, and one row of OperationMethods() for
// each of its methods; whatever is not in its folder knows it by this interface alone.
//
// One frame: the call reads its envelope (Read), then has it located and checked (Parse); a lane's thread works on it
// (LaneWork::Run); in its turn the reply is serialized (Reply). An edit of what the stream keeps waits until all frames
// before it are answered (Edit).
#ifndef GLINT_SERVER_OPERATIONS_OPERATION_H_
#define GLINT_SERVER_OPERATIONS_OPERATION_H_

#include <grpcpp/support/slice.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/config/options.h"
#include "server/metrics/metrics.h"
#include "server/schedule/lane_context.h"
#include "server/session/session.h"
#include "server/wire/convert.h"
#include "server/wire/frame_parser.h"

namespace glint {

// What a stream, or one unary call, keeps. Its methods are called for one message at a time, but for Run(), Reply() and
// Answered(): those run side by side for several frames unless it is serial. Frames allocate nothing once warm.
class StreamState : public LaneWork {
 public:
  // One frame is on a lane at a time, in the order of their arrival.
  virtual bool serial() const { return false; }

  // Reads the message into the job's payload, whose type is that of Operation::MakePayload(). Null: it is no serialized
  // message of the method's type. Else in the payload, too.
  virtual const WireEnvelope* Read(decode::Pieces message, FrameJob* job) = 0;
  // Locates what was read, a frame or an edit (FrameJob::is_edit), checks it as far as it can be without decoding, and
  // sets the job's cost, `pixels`. `message` stays until the job has been answered or given up.
  virtual absl::Status Parse(const Message& message, FrameJob* job) = 0;

  // Does an edit in its turn: no other job of the stream is on a lane. Sets the job's status. False: nothing was done,
  // a lane has to Run() it.
  virtual bool Edit(FrameJob* job);
  // The reply but for status and timings, to a job whose Run() or Edit() was OK, right after it.
  virtual grpc::Slice Reply(const FrameJob& job) = 0;
  // The reply to a frame, no edit, is on its way: counts its times.
  virtual void Answered(const FrameJob& job);
};

// What operations are made of. Outlives them.
struct Host {
  const ServerOptions* options;
  Metrics* metrics;
};

// What the streams and calls of a method share in one server. Thread-safe.
class Operation {
 public:
  // `frames` and `edits`: what metrics call these. Null: there are no edits.
  Operation(const Host& host, const char* frames, const char* edits = nullptr)
      : host_(host),
        frames_(host.metrics->registry(), frames),
        edits_(host.metrics->registry(), edits == nullptr ? frames : edits) {}
  virtual ~Operation() = default;

  virtual std::unique_ptr<Payload> MakePayload() const = 0;
  // Begins a stream with its first message; what all streams have goes to `*session`. INVALID_ARGUMENT and
  // RESOURCE_EXHAUSTED name the field. Unary: begins a call; there is no message yet, and no session.
  virtual absl::StatusOr<std::unique_ptr<StreamState>> Begin(const Message& first, SessionOptions* session) = 0;

  const FrameCounters& counters(bool is_edit) const { return is_edit ? edits_ : frames_; }

 protected:
  const ServerOptions& options() const { return *host_.options; }
  Metrics* metrics() const { return host_.metrics; }

 private:
  const Host host_;
  const FrameCounters frames_, edits_;
};

// A row of the table of methods.
struct OperationMethod {
  const char* service;  // with its package
  const char* name;
  const char* request;  // the type of its messages
  bool unary;           // else a stream
  std::unique_ptr<Operation> (*make)(const Host& host);
};

// All of them (app/operation_table.cc). Constant: nothing registers itself.
absl::Span<const OperationMethod> OperationMethods();

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_OPERATION_H_
