// A frame in the RPC layer: the job, the message that holds its pixels, and the reply. Frames are pooled, so that their
// buffers are reused.
#ifndef GLINT_SERVER_RPC_FRAME_H_
#define GLINT_SERVER_RPC_FRAME_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/types/span.h"
#include "glint/v1/feature_detection.pb.h"
#include "server/access/client_account.h"
#include "server/metrics/metrics.h"
#include "server/operations/operation.h"
#include "server/rpc/served_method.h"
#include "server/schedule/frame_job.h"
#include "server/wire/convert.h"

namespace glint {

// A message of more slices is copied into one. Only hostile clients send such messages: DATA frames of 24 bytes turn 34
// MiB into 1.4 million slices, whose list is as large as the message.
inline constexpr size_t kMaxPieces = 8192;

struct Frame : FrameJob {
  // What came in, where gRPC left it: the job's pixels are in there until a lane has them.
  grpc::ByteBuffer message;
  std::vector<absl::Span<const uint8_t>> message_pieces;
  std::array<ImageBytes, kMaxMessageImages> images;  // of the message, in the order that its operation gives them
  std::vector<std::unique_ptr<Payload>> payloads;    // one for each method
  const Operation* operation = nullptr;              // that it was begun for
  // What goes out when the frame failed. (A response that is cleared deletes its timings.)
  v1::DetectStreamResponse failure;
  v1::Timings timings;
  // The reply but for its timings, which are serialized last and follow it: protobuf reads concatenated messages as
  // one. So `total` includes the serialization of the features.
  grpc::Slice reply;
  std::shared_ptr<ClientAccount> client;  // that it counts in; null: none

  // For jobs of these methods.
  explicit Frame(absl::Span<const ServedMethod> methods = {});
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  // For a job of `state`, of that method.
  void Begin(const ServedMethod& method, StreamState* state, FrameSink* its_sink);
  StreamState* state() const { return static_cast<StreamState*>(work); }
  const FrameCounters& counters() const { return operation->counters(is_edit); }

  // Takes the bytes, `*bytes` is empty afterwards; no more than kMaxPieces pieces. False if gRPC lost them.
  bool Receive(grpc::ByteBuffer* bytes);
  // What operations are given of it.
  Message received(const ImageRules& rules) { return {message_pieces, rules, absl::MakeSpan(images)}; }
  // Gives them back, and with them the job's pixels. What lists of pieces have grown stays.
  void ReleaseMessage();
  // As above, but the caller takes the bytes: freeing thousands of slices takes longer than sending the reply.
  grpc::ByteBuffer TakeMessage();
  // As above, and frees the lists: for a frame that only waits for its turn in the order of replies.
  void ReleaseAll();

  // Counts in the account of its client until the message is released. Not OK: that has its share already, and the
  // frame is REJECTED, with retry_after_ns.
  absl::Status Join(const std::shared_ptr<ClientAccount>& account, Metrics* metrics);

  // Has the edit done, unless a lane has to do it: false.
  bool ApplyEdit();
  // Makes what a lane found into the reply.
  void PackReply();
  // The reply with its timings; counts the frame.
  grpc::ByteBuffer FinishReply(Metrics* metrics);

  void Reset();

 private:
  bool Flatten();
  void ReservePieces();
};

// The pieces of a message that stays in gRPC's buffer. False if gRPC lost them.
bool PiecesOf(grpc::ByteBuffer* bytes, std::vector<absl::Span<const uint8_t>>* pieces);

// Thread-safe.
class FramePool {
 public:
  // Keeps at most `keep` frames that are not in use, and has as many from the start, up to kReady: how many frames of
  // how many streams overlap is a matter of chance, and no frame shall wait for the heap. `methods`: as of Frame().
  FramePool(size_t keep, absl::Span<const ServedMethod> methods);

  std::unique_ptr<Frame> Take();
  void Return(std::unique_ptr<Frame> frame);

 private:
  static constexpr size_t kReady = 64;

  const size_t keep_;
  const absl::Span<const ServedMethod> methods_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> free_;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_FRAME_H_
