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
#include "server/operations/localize/map_directory.h"
#include "server/operations/match/match_parser.h"
#include "server/operations/track/track_session.h"
#include "server/schedule/frame_job.h"
#include "server/wire/convert.h"

namespace glint {

// A message arrives in slices of 2 to 64 KB, more of them on a busy machine. Up to this number of slices a frame does
// not allocate.
inline constexpr size_t kUsualPieces = 1024;
// A message of more slices is copied into one. Only hostile clients send such messages: DATA frames of 24 bytes turn 34
// MiB into 1.4 million slices, whose list is as large as the message.
inline constexpr size_t kMaxPieces = 8192;

struct Frame : FrameJob, PackedMatch, PackedPredictions {
  // What came in, where gRPC left it: the job's pixels are in there until a lane has them.
  grpc::ByteBuffer message;
  std::vector<absl::Span<const uint8_t>> message_pieces;
  ImageBytes image_bytes, mask_bytes;  // the second of a pair, which has no mask, is for its second image
  std::array<ImageBytes, kMaxTrackCameras - 2> more_bytes;  // of the third camera and those after it
  // One of these was read from it.
  WireDetectRequest detect_request;
  WireMatchRequest match_request;
  WireStreamRequest stream_request;
  // What goes out, without the features; of the response, only when the frame failed. (A response that is cleared
  // deletes its timings.)
  v1::DetectStreamResponse stream_response;
  v1::Timings timings;
  // The reply but for its timings, which are serialized last and follow it: protobuf reads concatenated messages as
  // one. So `total` includes the serialization of the features.
  grpc::Slice reply;
  size_t keypoints = 0;
  std::shared_ptr<ClientAccount> client;  // that it counts in; null: none

  Frame() { ReservePieces(); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  // Takes the bytes, `*bytes` is empty afterwards; no more than kMaxPieces pieces. False if gRPC lost them.
  bool Receive(grpc::ByteBuffer* bytes);
  // Gives them back, and with them the job's pixels. What lists of pieces have grown stays.
  void ReleaseMessage();
  // As above, but the caller takes the bytes: freeing thousands of slices takes longer than sending the reply.
  grpc::ByteBuffer TakeMessage();
  // As above, and frees the lists: for a frame that only waits for its turn in the order of replies.
  void ReleaseAll();

  // Counts in the account of its client until the message is released. Not OK: that has its share already, and the
  // frame is REJECTED, with retry_after_ns.
  absl::Status Join(const std::shared_ptr<ClientAccount>& account, Metrics* metrics);

  // Locates the job's pixels in the message or in shared memory. Errors of convert.h.
  absl::Status SetPixels(const WireImage& image, const WireImage* mask, const ImageRules& rules);
  // The same for pairs: `match_request` or the pair of `stream_request`, with options that are set already. Errors of
  // ValidateMatch() and DescriptorSets::Find(), too; `sets` may be null.
  absl::Status SetMatch(const WireMatch& wire, const WireImage& query, const WireImage& train,
                        const DescriptorSets* sets, int max_descriptors, const ImageRules& rules);
  absl::Status SetStereo(const ImageRules& rules);
  // The same for a frame of the cameras of `stream`, and counts its bytes.
  absl::Status SetTrack(TrackedStream* stream, const ImageRules& rules, Metrics* metrics);
  // The same for a pair that `stream` locates, with these options. INVALID_ARGUMENT: it has depths, and the stream's
  // camera two eyes, or the other way round.
  absl::Status SetLocalize(Localization* stream, const LocalizationOptions& stream_options, const ImageRules& rules);
  // A request about the map of `stream`: errors of ParseMapRequest().
  absl::Status SetMap(Localization* stream, const MapDirectory& maps);
  // After these: counts the bytes of the image, and of a pair's second one, in whatever encoding; null: none.
  void CountBytes(const WireImage* image, const WireImage* second, Metrics* metrics) const;
  void CountBytes(const WireImage& image, const ImageBytes& bytes, Metrics* metrics) const;

  // PackedMatch
  absl::Status Unpack(DescriptorSet* query, DescriptorSet* train, ConditionArrays* conditions) const override;
  // PackedPredictions
  void Unpack(TrackPredictions* predictions) const override;
  // The edit of `stream_request`, which is answered with the set's size. Sets `status`.
  void ApplyEdit(DescriptorSets* sets);
  // The same for an edit of tracks.
  void ApplyTrackEdit(TrackSession* session, Metrics* metrics);

  // Make what a lane found into the reply to a Detect or a Match, or to a frame of a stream.
  void PackReply(const Features& features);
  void PackStreamReply(const Features& features);
  // `Response` is a v1::DetectResponse or v1::DetectStreamResponse.
  template <typename Response>
  grpc::ByteBuffer FinishReply(Metrics* metrics);

  void Reset();

 private:
  absl::Status SetEyes(const ImageRules& rules);
  absl::Status SetSecond(const char* field, const WireImage& wire_image, const ImageRules& rules);
  bool Flatten();
  void ReservePieces();
};

// Serializes `message` into memory of its own.
grpc::Slice ToSlice(const google::protobuf::MessageLite& message);

// Thread-safe.
class FramePool {
 public:
  // Keeps at most `keep` frames that are not in use, and has as many from the start, up to kReady: how many frames of
  // how many streams overlap is a matter of chance, and no frame shall wait for the heap.
  explicit FramePool(size_t keep);

  std::unique_ptr<Frame> Take();
  void Return(std::unique_ptr<Frame> frame);

 private:
  static constexpr size_t kReady = 64;

  const size_t keep_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> free_;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_FRAME_H_
