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

// Limit of slices; a message of more is copied into one. Only hostile clients send such messages: DATA frames of 24
// bytes turn 34 MiB into 1.4 million slices, whose list is as large as the message.
inline constexpr size_t kMaxPieces = 8192;

struct Frame : FrameJob {
  // The received message, in gRPC's memory: it holds the job's pixels until a lane has them.
  grpc::ByteBuffer message;
  std::vector<absl::Span<const uint8_t>> message_pieces;
  std::array<ImageBytes, kMaxMessageImages> images;  // of the message, in the operation's order
  std::vector<std::unique_ptr<Payload>> payloads;    // by method
  const Operation* operation = nullptr;              // of the current job
  // Reply to a failed frame. (Clearing a response would delete its timings.)
  v1::DetectStreamResponse failure;
  v1::Timings timings;
  // The reply without its timings, which are serialized last and appended: protobuf reads concatenated messages as one.
  // So `total` includes the serialization of the features.
  grpc::Slice reply;
  std::shared_ptr<ClientAccount> client;  // account that counts this frame; null: none

  // Creates payloads for jobs of `methods`.
  explicit Frame(absl::Span<const ServedMethod> methods = {});
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  // Begins a job of `state`, of `method`.
  void Begin(const ServedMethod& method, StreamState* state, FrameSink* its_sink);
  StreamState* state() const { return static_cast<StreamState*>(work); }
  const FrameCounters& counters() const { return operation->counters(is_edit); }

  // Takes over `*bytes`, which is empty afterwards; copies messages of more than kMaxPieces pieces. False if gRPC lost
  // the bytes.
  bool Receive(grpc::ByteBuffer* bytes);
  // The message as operations receive it.
  Message received(const ImageRules& rules) { return {message_pieces, rules, absl::MakeSpan(images)}; }
  // Releases the message, and with it the job's pixels. Lists of pieces keep their memory.
  void ReleaseMessage();
  // Releases the message into the caller's hands: freeing thousands of slices takes longer than sending the reply.
  grpc::ByteBuffer TakeMessage();
  // Releases the message and the lists of pieces, for a frame that only waits for its turn in the order of replies.
  void ReleaseAll();

  // Charges the account of the client until the message is released. Not OK: the client's share is used up, and the
  // frame is REJECTED, with retry_after_ns.
  absl::Status Join(const std::shared_ptr<ClientAccount>& account, Metrics* metrics);

  // Applies the edit; false: a lane must run it.
  bool ApplyEdit();
  // Serializes a lane's results into the reply.
  void PackReply();
  // Completes the reply with its timings, and counts the frame.
  grpc::ByteBuffer FinishReply(Metrics* metrics);

  void Reset();

 private:
  bool Flatten();
  void ReservePieces();
};

// Pieces of a message that stays in gRPC's buffer. False if gRPC lost the bytes.
bool PiecesOf(grpc::ByteBuffer* bytes, std::vector<absl::Span<const uint8_t>>* pieces);

// Thread-safe.
class FramePool {
 public:
  // Keeps at most `keep` unused frames. Creates that many at the start, up to kReady: how many frames of how many
  // streams overlap varies, and no frame should wait for the allocator. `methods` as in Frame().
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
