// Conversion between wire types and C++ types. Input is untrusted.
#ifndef GLINT_SERVER_WIRE_CONVERT_H_
#define GLINT_SERVER_WIRE_CONVERT_H_

#include <grpcpp/support/status.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "features/gray_range.h"
#include "features/operation_defaults.h"
#include "features/options.h"
#include "glint/v1/envelope.pb.h"
#include "glint/v1/image.pb.h"
#include "glint/v1/options.pb.h"
#include "server/config/options.h"
#include "server/metrics/metrics.h"
#include "server/pixels/image_source.h"
#include "server/schedule/frame_job.h"
#include "server/session/session.h"
#include "server/shm/shared_memory.h"
#include "server/wire/frame_parser.h"
#include "server/wire/options_images.h"

namespace glint {

// Valid options; what is absent is the operation's default. INVALID_ARGUMENT names the field; RESOURCE_EXHAUSTED:
// max_features over `max_features`. A default max_features is lowered to that limit without complaint. ErrorInfo has
// the field as "detector.levels".
absl::StatusOr<DetectorOptions> FromProto(const v1::DetectorOptions& proto, int max_features,
                                          const DetectorDefaults& defaults = kDetectDefaults);

// max_features of each image of a pair.
inline int MaxFeaturesPerImage(const ServerOptions& server) { return std::max(1, server.max_features / 2); }

// A side of an image: numbers of the wire that no int holds are out of every range.
inline int SideOf(uint32_t value) { return value > INT32_MAX ? -1 : static_cast<int>(value); }

// A valid range; full if it is not wanted. INVALID_ARGUMENT names the field.
absl::StatusOr<GrayRange> FromWire(const WireGrayRange& wire);
absl::StatusOr<GrayRange> FromProto(const v1::GrayRange& proto);

// The region in the options of a stream, if there is one.
template <typename StreamOptions>
Region RegionFromProto(const StreamOptions& proto) {
  if (!proto.has_region()) return Region();
  const v1::ImageRegion& region = proto.region();
  return {true, region.x(), region.y(), region.width(), region.height()};
}

// Common options of a stream. INVALID_ARGUMENT names the field; RESOURCE_EXHAUSTED: max_in_flight over the server's.
absl::StatusOr<SessionOptions> SessionFromFields(int overload_policy, int32_t max_in_flight, int64_t max_age_ns,
                                                 const ServerOptions& server);
template <typename StreamOptions>
absl::StatusOr<SessionOptions> SessionFromProto(const StreamOptions& proto, const ServerOptions& server) {
  auto session = SessionFromFields(proto.overload_policy(), proto.max_in_flight(), proto.max_age_ns(), server);
  if (!session.ok() || !proto.has_gray_range()) return session;
  auto range = FromProto(proto.gray_range());
  if (!range.ok()) return range.status();
  session->gray_range = *range;
  return session;
}

// Sets when a frame, received and not older than `max_age_ns` or, if that is 0, the stream's, expires.
// INVALID_ARGUMENT: max_age_ns.
absl::Status SetExpiry(int64_t max_age_ns, int64_t stream_max_age_ns, FrameJob* job);

// Detector options of a unary call from their serialized form; as FromProto(), and INVALID_ARGUMENT beyond
// kMaxOptionsBytes.
absl::StatusOr<DetectorOptions> OptionsFromWire(decode::Pieces serialized, int max_features,
                                                const DetectorDefaults& defaults = kDetectDefaults);

// A message arrives in slices of 2 to 64 KB, more of them on a busy machine. Up to this number of slices a frame does
// not allocate.
inline constexpr size_t kUsualPieces = 1024;

// Holder of the bytes that an ImageSource borrows.
struct ImageBytes {
  std::vector<absl::Span<const uint8_t>> pieces;
  std::shared_ptr<const SharedRegion> region;  // shared region that holds the bytes, or null

  // Keeps the memory of the usual number of pieces.
  void Release() {
    if (pieces.capacity() > kUsualPieces) decltype(pieces)().swap(pieces);
    pieces.clear();
    region = nullptr;
  }
};

// Limits of images, and the memory that they may refer to.
struct ImageRules {
  int64_t max_pixels = 0;
  const SharedMemory* shared_memory = nullptr;
  absl::string_view reader;      // the client as SharedMemory knows it; empty: not connected through a unix socket
  StreamRange* range = nullptr;  // of samples of 16 bits, if the stream or call wants one
};

// Borrows the bytes of `image`, which are pieces of `message` or shared, through `*bytes`. INVALID_ARGUMENT or
// RESOURCE_EXHAUSTED as in decode.h, errors of SharedMemory::Find(); an encoded picture's bytes are not looked at yet.
absl::StatusOr<ImageSource> FromWire(const WireImage& image, decode::Pieces message, const ImageRules& rules,
                                     ImageBytes* bytes);

// As FromWire(), for a mask, which has no range: its format must be GRAY8, and errors name fields of `field`.
absl::StatusOr<ImageSource> MaskFromWire(const WireImage& mask, decode::Pieces message, const ImageRules& rules,
                                         ImageBytes* bytes, absl::string_view field = "mask");

// A client's message as operations receive it. Borrowed.
struct Message {
  decode::Pieces pieces;
  ImageRules rules;
  absl::Span<ImageBytes> images;  // holders for the bytes of kMaxMessageImages images
};
// Sets the range of the images of a call, which `*range` holds. INVALID_ARGUMENT names its field.
absl::Status UseRange(const WireGrayRange& wire, StreamRange* range, Message* message);
// Images of one message: one per camera, and a mask of each.
inline constexpr size_t kMaxMessageImages = 2 * std::max(2, kMaxTrackCameras);

// The image, its bytes held by `message.images[holder]`; adds what it is expected to cost to `*pixels`. Errors of
// FromWire(), with `field` in place of "image".
absl::StatusOr<ImageSource> LocateImage(absl::string_view field, const WireImage& image, const Message& message,
                                        size_t holder, int64_t* pixels);

// Both images of a pair, as LocateImage() finds "left" and "right"; `right` is of kind kNone if it is absent. Their
// masks, as MaskFromWire() finds "mask" and "right_mask"; of kind kNone if they are absent.
struct ImagePairSources {
  ImageSource left, right;
  PairMaskSources masks;
};
absl::StatusOr<ImagePairSources> LocateImagePair(const WireImagePair& pair, const Message& message, int64_t* pixels);
// The masks alone, for a pair with another image in place of the right one.
absl::StatusOr<PairMaskSources> LocatePairMasks(const WireImagePair& pair, const Message& message);
// Those of a stream's options, by its fields mask and right_mask.
absl::StatusOr<PairMaskSources> LocateStreamMasks(const OptionImages (&images)[2], const Message& first);

// Counts the bytes of an image or pair, in whatever encoding. Call after LocateImage() or LocateImagePair().
void CountImage(const WireImage& image, const Message& message, size_t holder, Metrics* metrics);
void CountImagePair(const WireImagePair& pair, const Message& message, Metrics* metrics);

void ToProto(const FrameJob& job, int64_t total_ns, v1::Timings* proto);
// Status of a failed job, with its ErrorInfo and the reason if it was dropped.
void ToProto(const FrameJob& job, v1::FrameStatus* proto);

// The gRPC status, with the details of status_details.h.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_CONVERT_H_
