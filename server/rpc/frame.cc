#include "server/rpc/frame.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <utility>

#include "server/metrics/allocations.h"
#include "server/rpc/reply.h"

namespace glint {

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
  image = ImageSource();
  mask = ImageSource();
  message_pieces.clear();
  image_bytes.Release();
  mask_bytes.Release();
  detect_request.options.clear();
  message.Clear();
}

void Frame::ReleaseAll() {
  ReleaseMessage();
  for (auto* pieces : {&message_pieces, &image_bytes.pieces, &mask_bytes.pieces, &detect_request.options}) {
    std::vector<absl::Span<const uint8_t>>().swap(*pieces);
  }
}

void Frame::ReservePieces() {
  message_pieces.reserve(kUsualPieces);
  image_bytes.pieces.reserve(kUsualPieces);
  mask_bytes.pieces.reserve(kUsualPieces);
}

absl::Status Frame::SetPixels(const WireImage& wire_image, const WireImage* wire_mask, const ImageRules& rules) {
  auto source = FromWire(wire_image, message_pieces, rules, &image_bytes);
  if (!source.ok()) return source.status();
  image = *source;
  if (wire_mask == nullptr) return absl::OkStatus();
  source = MaskFromWire(*wire_mask, message_pieces, rules, &mask_bytes);
  if (!source.ok()) return source.status();
  mask = *source;
  return absl::OkStatus();
}

size_t Frame::BytesOf(const WireImage& wire_image) const {
  return wire_image.content == WireImage::Content::kShared ? decode::TotalBytes(image_bytes.pieces)
                                                           : wire_image.data.size;
}

void Frame::PackReply(const Features& features) {
  const FramePathScope frame_path;
  keypoints = features.count();
  reply = SerializeReply(features);
  times.serialize_ns = MonotonicNs() - times.done_at;
}

void Frame::PackStreamReply(const Features& features) {
  const FramePathScope frame_path;
  keypoints = features.count();
  reply = SerializeStreamReply(stream_request.frame.frame_id, features);
  times.serialize_ns = MonotonicNs() - times.done_at;
}

template <typename Response>
grpc::ByteBuffer Frame::FinishReply(Metrics* metrics) {
  const FramePathScope frame_path;
  const int64_t now = MonotonicNs();
  const int64_t total_ns = now - times.received_at;
  if (times.done_at != 0) times.order_ns = now - times.done_at - times.serialize_ns;
  ToProto(*this, total_ns, &timings);
  metrics->PixelsCopied(copied_bytes);
  const grpc::Slice slices[] = {std::move(reply), SerializeTimings(Response::kTimingsFieldNumber, timings)};
  if (status.ok()) {
    metrics->FrameSucceeded(times, total_ns, keypoints);
  } else {
    metrics->FrameFailed(status.code(), total_ns);
    if (drop != DropReason::kNone) metrics->FrameDropped(drop);
  }
  const FramePathPause pause;
  return grpc::ByteBuffer(slices, 2);
}

template grpc::ByteBuffer Frame::FinishReply<v1::DetectResponse>(Metrics*);
template grpc::ByteBuffer Frame::FinishReply<v1::DetectStreamResponse>(Metrics*);

void Frame::Reset() {
  ReleaseMessage();
  ReservePieces();
  // Options are sent in one piece, by clients that mean well.
  if (detect_request.options.capacity() > kUsualPieces) decltype(detect_request.options)().swap(detect_request.options);
  static_cast<FrameRequest&>(*this) = FrameRequest();
  static_cast<FrameResult&>(*this) = FrameResult();
  cancelled = false;
  in_session = {};
  in_queue = {};
  keypoints = 0;
  reply = grpc::Slice();
  stream_response.Clear();
}

grpc::Slice ToSlice(const google::protobuf::MessageLite& message) {
  grpc::Slice slice(message.ByteSizeLong());
  // The slice is new and not shared; its bytes are const only to readers.
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return slice;
}

FramePool::FramePool(size_t keep) : keep_(keep) {
  free_.reserve(keep);
  for (size_t i = 0; i < std::min(keep, kReady); ++i) free_.push_back(std::make_unique<Frame>());
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
  return std::make_unique<Frame>();
}

void FramePool::Return(std::unique_ptr<Frame> frame) {
  frame->Reset();
  std::lock_guard<std::mutex> lock(mutex_);
  if (free_.size() < keep_) free_.push_back(std::move(frame));
}

}  // namespace glint
