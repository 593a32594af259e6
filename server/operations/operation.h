// Interface between an operation and the rest of the server. Each operation has a folder of its own and one row of
// OperationMethods() per method; code outside its folder uses this interface only.
//
// One frame: the call reads its envelope (Read), then locates and checks its content (Parse); a lane's thread runs it
// (LaneWork::Run); in its turn the reply is serialized (Reply). An edit of the stream's state waits until all frames
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
#include "server/session/places.h"
#include "server/session/session.h"
#include "server/wire/convert.h"
#include "server/wire/frame_parser.h"

namespace glint {

class BackgroundThreads;
class Rectifications;

// State of a stream, or of one unary call. Methods are called for one message at a time, except Run(), Reply() and
// Answered(), which run concurrently for several frames unless the state is serial. Frames allocate nothing once warm.
class StreamState : public LaneWork {
 public:
  // True if at most one frame is on a lane at a time, in order of arrival.
  virtual bool serial() const { return false; }
  // True if a frame of a serial state may wait for later messages (LaneWork::WaitsUntil).
  virtual bool awaits_messages() const { return false; }

  // Reads the message into the job's payload, of the type that Operation::MakePayload() creates. Returns the envelope,
  // which lies in the payload; null: not a serialized message of the method's type.
  virtual const WireEnvelope* Read(decode::Pieces message, FrameJob* job) = 0;
  // Locates the content of a frame or an edit (FrameJob::is_edit), checks it as far as possible without decoding, and
  // sets the job's nominal cost, `pixels`. `message` is valid until the job is answered or dropped; of an edit that is
  // made to let others pass (FrameJob::lets_pass), during this call.
  virtual absl::Status Parse(const Message& message, FrameJob* job) = 0;

  // An edit that was parsed without an error will have its turn, unless the stream ends before. Called before the next
  // message is parsed.
  virtual void Accept(FrameJob*) {}
  // Applies an edit in its turn, while no other job of the stream is on a lane, and sets the job's status. False:
  // nothing was done, and a lane must Run() it. An edit that lets others pass: while later ones may be on lanes; true.
  virtual bool Edit(FrameJob* job);
  // Serializes the reply without status and timings. Called right after a Run() or Edit() that succeeded.
  virtual grpc::Slice Reply(const FrameJob& job) = 0;
  // Counts the times of a frame whose reply has been sent. Not called for edits.
  virtual void Answered(const FrameJob& job);
};

// Services of the server for operations; outlives them.
struct Host {
  const ServerOptions* options;
  Metrics* metrics;
  Rectifications* rectifications;
  BackgroundThreads* background = nullptr;  // for work beside lanes; null: a stream makes threads of its own
};

// State that the streams and calls of a method share in one server. Thread-safe.
class Operation {
 public:
  // `frames`, `edits`: names in metrics. Null: the operation has no edits.
  Operation(const Host& host, const char* frames, const char* edits = nullptr)
      : host_(host),
        frames_(host.metrics->registry(), frames),
        edits_(host.metrics->registry(), edits == nullptr ? frames : edits) {}
  virtual ~Operation() = default;

  virtual std::unique_ptr<Payload> MakePayload() const = 0;
  // Begins a stream from its first message; common options go to `*session`. INVALID_ARGUMENT and RESOURCE_EXHAUSTED
  // name the field. Unary methods: begins a call; `first` is empty and `session` null.
  virtual absl::StatusOr<std::unique_ptr<StreamState>> Begin(const Message& first, SessionOptions* session) = 0;

  // The part of all streams' places that this method's streams have at most; null: all. A stream takes its place before
  // its first message is read.
  virtual PlacePart* places() { return nullptr; }

  const FrameCounters& counters(bool is_edit) const { return is_edit ? edits_ : frames_; }

 protected:
  const ServerOptions& options() const { return *host_.options; }
  Metrics* metrics() const { return host_.metrics; }
  Rectifications* rectifications() const { return host_.rectifications; }

 private:
  const Host host_;
  const FrameCounters frames_, edits_;
};

// A row of the table of methods.
struct OperationMethod {
  const char* service;  // fully qualified
  const char* name;
  const char* request;  // message type of requests
  bool unary;           // else a stream
  std::unique_ptr<Operation> (*make)(const Host& host);
};

// The table of methods (app/operation_table.cc). Constant: operations do not register themselves.
absl::Span<const OperationMethod> OperationMethods();

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_OPERATION_H_
