// A frame as the RPC layer handles it: the job, the message its pixels are in, and the reply. Frames are pooled, so
// that their messages keep the memory they have grown.
#ifndef GLINT_SERVER_RPC_FRAME_H_
#define GLINT_SERVER_RPC_FRAME_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "glint/v1/feature_detection.pb.h"
#include "server/metrics/metrics.h"
#include "server/schedule/frame_job.h"

namespace glint {

struct Frame : FrameJob {
  // One of these two came in; the job borrows its bytes.
  v1::DetectRequest detect_request;
  v1::DetectStreamRequest stream_request;
  absl::Span<const uint8_t> image_bytes, mask_bytes;
  // One of these two goes out.
  v1::DetectResponse detect_response;
  v1::DetectStreamResponse stream_response;
  // The reply but for its timings, which are serialized last and follow it: protobuf reads concatenated messages as
  // one. So `total` and `download` include the serialization of the features.
  grpc::Slice reply;
  size_t keypoints = 0;

  Frame() = default;
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  // Takes the job's pixels from `image` and `mask`, which must live as long as it. Errors of convert.h.
  absl::Status SetPixels(const v1::Image& image, const v1::Image* mask, int64_t max_pixels);

  // Fills features and reply, and adds the time this takes to the job's download. Response is one of the two above.
  template <typename Response>
  void PackFeatures(const Features& features, Response* response);
  template <typename Response>
  grpc::ByteBuffer FinishReply(Response* response, Metrics* metrics);

  void Reset();
};

// Serializes `message` into memory of its own.
grpc::Slice ToSlice(const google::protobuf::MessageLite& message);

// False if `bytes` are not a serialized message of that type. `bytes` is empty afterwards.
bool Parse(grpc::ByteBuffer* bytes, google::protobuf::MessageLite* message);

// Thread-safe.
class FramePool {
 public:
  // Keeps at most `keep` frames that are not in use.
  explicit FramePool(size_t keep) : keep_(keep) { free_.reserve(keep); }

  std::unique_ptr<Frame> Take();
  void Return(std::unique_ptr<Frame> frame);

 private:
  const size_t keep_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> free_;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_FRAME_H_
