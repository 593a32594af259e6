#include "server/rpc/frame.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <utility>

#include "server/rpc/convert.h"

namespace glint {

absl::Status Frame::SetPixels(const v1::Image& image_proto, const v1::Image* mask_proto, int64_t max_pixels) {
  auto source = FromProto(image_proto, max_pixels, &image_bytes);
  if (!source.ok()) return source.status();
  image = *source;
  if (mask_proto == nullptr) return absl::OkStatus();
  source = MaskFromProto(*mask_proto, max_pixels, &mask_bytes);
  if (!source.ok()) return source.status();
  mask = *source;
  return absl::OkStatus();
}

template <typename Response>
void Frame::PackFeatures(const Features& features, Response* response) {
  const int64_t begin = MonotonicNs();
  keypoints = features.count();
  ToProto(features, response->mutable_features());
  reply = ToSlice(*response);
  times.stages.download_ns += MonotonicNs() - begin;
}

template <typename Response>
grpc::ByteBuffer Frame::FinishReply(Response* response, Metrics* metrics) {
  const int64_t total_ns = MonotonicNs() - times.received_at;
  response->Clear();
  ToProto(*this, total_ns, response->mutable_timings());
  const grpc::Slice slices[] = {std::move(reply), ToSlice(*response)};
  if (status.ok()) {
    metrics->FrameSucceeded(times, total_ns, keypoints);
  } else {
    metrics->FrameFailed(status.code(), total_ns);
  }
  return grpc::ByteBuffer(slices, 2);
}

template void Frame::PackFeatures(const Features&, v1::DetectResponse*);
template void Frame::PackFeatures(const Features&, v1::DetectStreamResponse*);
template grpc::ByteBuffer Frame::FinishReply(v1::DetectResponse*, Metrics*);
template grpc::ByteBuffer Frame::FinishReply(v1::DetectStreamResponse*, Metrics*);

void Frame::Reset() {
  sink = nullptr;
  image = ImageSource();
  mask = ImageSource();
  stream_mask = nullptr;
  cancelled = false;
  status = absl::OkStatus();
  times = FrameTimes();
  queue_depth = 0;
  lane = 0;
  device = nullptr;
  keypoints = 0;
  reply = grpc::Slice();
  detect_request.Clear();
  stream_request.Clear();
  detect_response.Clear();
  stream_response.Clear();
}

grpc::Slice ToSlice(const google::protobuf::MessageLite& message) {
  grpc::Slice slice(message.ByteSizeLong());
  // The slice is new and not shared; its bytes are const only to readers.
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return slice;
}

bool Parse(grpc::ByteBuffer* bytes, google::protobuf::MessageLite* message) {
  grpc::ProtoBufferReader reader(bytes);
  const bool parsed = reader.status().ok() && message->ParseFromZeroCopyStream(&reader) && reader.status().ok();
  bytes->Clear();
  return parsed;
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
