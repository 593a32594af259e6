#include "server/rpc/frame.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <utility>

#include "server/base/allocations.h"
#include "server/wire/envelope_reply.h"

namespace glint {

Frame::Frame(absl::Span<const ServedMethod> methods) {
  for (const ServedMethod& method : methods) payloads.push_back(method.operation->MakePayload());
  ReservePieces();
}

void Frame::Begin(const ServedMethod& method, StreamState* state, FrameSink* its_sink) {
  operation = method.operation.get();
  kind = method.index;
  payload = payloads[method.index].get();
  work = state;
  sink = its_sink;
}

bool Frame::Receive(grpc::ByteBuffer* bytes) {
  message.Swap(bytes);
  grpc::ProtoBufferReader reader(&message);
  const void* data;
  int size;
  while (reader.status().ok() && reader.Next(&data, &size)) {
    if (message_pieces.size() == kMaxPieces) return Flatten();
    message_pieces.emplace_back(static_cast<const uint8_t*>(data), static_cast<size_t>(size));
  }
  return reader.status().ok();
}

bool Frame::Flatten() {
  grpc::Slice whole;
  if (!message.DumpToSingleSlice(&whole).ok()) return false;
  message = grpc::ByteBuffer(&whole, 1);
  message_pieces.assign(1, absl::Span<const uint8_t>(whole.begin(), whole.size()));  // the same bytes as the message's
  return true;
}

absl::Status Frame::Join(const std::shared_ptr<ClientAccount>& account, Metrics* metrics) {
  ClientAccount::Refusal refusal = account->Take(bytes, MonotonicNs());
  if (refusal.status.ok()) {
    client = account;
    return absl::OkStatus();
  }
  metrics->ClientRefused(refusal.limit);
  drop = DropReason::kRejected;
  retry_after_ns = refusal.retry_after_ns;
  return std::move(refusal.status);
}

void Frame::ReleaseMessage() {
  if (client != nullptr) {
    const int64_t begun_at = times.queued_at + times.queue_ns;
    client->GiveBack(bytes, times.done_at == 0 ? 0 : times.done_at - begun_at, MonotonicNs());
    client = nullptr;
  }
  message_pieces.clear();
  for (ImageBytes& image : images) image.Release();
  message.Clear();
}

grpc::ByteBuffer Frame::TakeMessage() {
  grpc::ByteBuffer taken;
  taken.Swap(&message);
  ReleaseMessage();
  return taken;
}

void Frame::ReleaseAll() {
  ReleaseMessage();
  decltype(message_pieces)().swap(message_pieces);
  for (ImageBytes& image : images) decltype(image.pieces)().swap(image.pieces);
}

// Reserves lists for the images and masks of a pair: more images are unusual.
void Frame::ReservePieces() {
  message_pieces.reserve(kUsualPieces);
  for (size_t i : {0, 1, 2, 3}) images[i].pieces.reserve(kUsualPieces);
}

bool Frame::ApplyEdit() {
  const int64_t start = MonotonicNs();
  if (!state()->Edit(this)) return false;
  times.queue_ns = start - times.queued_at;
  times.done_at = MonotonicNs();
  times.decode_ns = times.done_at - start;
  if (status.ok()) reply = state()->Reply(*this);
  return true;
}

void Frame::PackReply() {
  const FramePathScope frame_path;
  reply = state()->Reply(*this);
  times.serialize_ns = MonotonicNs() - times.done_at;
}

grpc::ByteBuffer Frame::FinishReply(Metrics* metrics) {
  const FramePathScope frame_path;
  const int64_t now = MonotonicNs();
  const int64_t total_ns = now - times.received_at;
  if (times.done_at != 0) times.order_ns = now - times.done_at - times.serialize_ns;
  ToProto(*this, total_ns, &timings);
  metrics->PixelsCopied(copied_bytes);
  const grpc::Slice slices[] = {std::move(reply), SerializeTimings(timings)};
  if (status.ok()) {
    metrics->FrameSucceeded(counters(), *this, total_ns);
    if (!is_edit) state()->Answered(*this);
  } else {
    Metrics::FrameFailed(counters(), status.code(), total_ns);
    if (drop != DropReason::kNone) metrics->FrameDropped(drop);
  }
  const FramePathPause pause;
  return grpc::ByteBuffer(slices, 2);
}

void Frame::Reset() {
  ReleaseMessage();
  ReservePieces();
  for (size_t i = 2; i < images.size(); ++i) {
    if (images[i].pieces.capacity() > kUsualPieces) decltype(images[i].pieces)().swap(images[i].pieces);
  }
  if (payload != nullptr) payload->Reset();
  static_cast<FrameRequest&>(*this) = FrameRequest();
  static_cast<FrameResult&>(*this) = FrameResult();
  cancelled = false;
  in_session = {};
  in_queue = {};
  operation = nullptr;
  reply = grpc::Slice();
  failure.Clear();
}

bool PiecesOf(grpc::ByteBuffer* bytes, std::vector<absl::Span<const uint8_t>>* pieces) {
  grpc::ProtoBufferReader reader(bytes);
  const void* data;
  int size;
  while (reader.status().ok() && reader.Next(&data, &size)) {
    pieces->emplace_back(static_cast<const uint8_t*>(data), static_cast<size_t>(size));
  }
  return reader.status().ok();
}

FramePool::FramePool(size_t keep, absl::Span<const ServedMethod> methods) : keep_(keep), methods_(methods) {
  free_.reserve(keep);
  for (size_t i = 0; i < std::min(keep, kReady); ++i) free_.push_back(std::make_unique<Frame>(methods_));
}

std::unique_ptr<Frame> FramePool::Take() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Frame> frame = std::move(free_.back());
      free_.pop_back();
      return frame;
    }
  }
  return std::make_unique<Frame>(methods_);
}

void FramePool::Return(std::unique_ptr<Frame> frame) {
  frame->Reset();
  std::lock_guard<std::mutex> lock(mutex_);
  if (free_.size() < keep_) free_.push_back(std::move(frame));
}

}  // namespace glint
