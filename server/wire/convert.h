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
#include "features/operation_defaults.h"
#include "features/options.h"
#include "glint/v1/envelope.pb.h"
#include "glint/v1/options.pb.h"
#include "server/config/options.h"
#include "server/metrics/metrics.h"
#include "server/schedule/frame_job.h"
#include "server/session/session.h"
#include "server/shm/shared_memory.h"
#include "server/wire/frame_parser.h"

namespace glint {

// Valid options; what is absent is the operation's default. INVALID_ARGUMENT names the field; RESOURCE_EXHAUSTED:
// max_features over `max_features`. A default max_features is lowered to that limit without complaint. ErrorInfo has
// the field as "detector.levels".
absl::StatusOr<DetectorOptions> FromProto(const v1::DetectorOptions& proto, int max_features,
                                          const DetectorDefaults& defaults = kDetectDefaults);

// max_features of each image of a pair.
inline int FeaturesOfAnEye(const ServerOptions& server) { return std::max(1, server.max_features / 2); }

// What the options of all streams have. INVALID_ARGUMENT names the field; RESOURCE_EXHAUSTED: max_in_flight over the
// server's.
absl::StatusOr<SessionOptions> SessionFromFields(int overload_policy, int32_t max_in_flight, int64_t max_age_ns,
                                                 const ServerOptions& server);
template <typename StreamOptions>
absl::StatusOr<SessionOptions> SessionFromProto(const StreamOptions& proto, const ServerOptions& server) {
  return SessionFromFields(proto.overload_policy(), proto.max_in_flight(), proto.max_age_ns(), server);
}

// Sets when a frame, received and not older than `max_age_ns` or, if that is 0, the stream's, expires.
// INVALID_ARGUMENT: max_age_ns.
absl::Status SetExpiry(int64_t max_age_ns, int64_t stream_max_age_ns, FrameJob* job);

// The same for the detector of a unary call, serialized; INVALID_ARGUMENT beyond kMaxOptionsBytes.
absl::StatusOr<DetectorOptions> OptionsFromWire(decode::Pieces serialized, int max_features,
                                                const DetectorDefaults& defaults = kDetectDefaults);

// A message arrives in slices of 2 to 64 KB, more of them on a busy machine. Up to this number of slices a frame does
// not allocate.
inline constexpr size_t kUsualPieces = 1024;

// Where the pixels of an image are; what an ImageSource borrows.
struct ImageBytes {
  std::vector<absl::Span<const uint8_t>> pieces;
  std::shared_ptr<const SharedRegion> region;  // that they are in, or null

  void Release() {
    pieces.clear();
    region = nullptr;
  }
};

// What images may refer to and how large they may be.
struct ImageRules {
  int64_t max_pixels = 0;
  const SharedMemory* shared_memory = nullptr;
  bool local = false;  // the client came through a unix socket
};

// Borrows the bytes of `image`, which are pieces of `message` or shared, through `*bytes`. INVALID_ARGUMENT or
// RESOURCE_EXHAUSTED as in decode.h, errors of SharedMemory::Find(); an encoded picture's bytes are not looked at yet.
absl::StatusOr<ImageSource> FromWire(const WireImage& image, decode::Pieces message, const ImageRules& rules,
                                     ImageBytes* bytes);

// The same for a mask, whose format must be GRAY8; fields are called "mask...."
absl::StatusOr<ImageSource> MaskFromWire(const WireImage& mask, decode::Pieces message, const ImageRules& rules,
                                         ImageBytes* bytes);

// A message of a client as an operation takes it. Borrowed.
struct Message {
  decode::Pieces pieces;
  ImageRules rules;
  absl::Span<ImageBytes> images;  // holders for the bytes of kMaxMessageImages images
};
// Two images, or one of each camera.
inline constexpr size_t kMaxMessageImages = std::max(2, kMaxTrackCameras);

// The image, its bytes held by `message.images[holder]`; adds what it is expected to cost to `*pixels`. Errors of
// FromWire(), with `field` in place of "image".
absl::StatusOr<ImageSource> LocateImage(absl::string_view field, const WireImage& image, const Message& message,
                                        size_t holder, int64_t* pixels);

// Both images of a pair, as LocateImage() finds "left" and "right"; the right one is of kind kNone if it is absent.
struct EyeSources {
  ImageSource left, right;
};
absl::StatusOr<EyeSources> LocateEyes(const WireEyes& eyes, const Message& message, int64_t* pixels);

// After these: counts the bytes of an image, in whatever encoding.
void CountImage(const WireImage& image, const Message& message, size_t holder, Metrics* metrics);
void CountEyes(const WireEyes& eyes, const Message& message, Metrics* metrics);

void ToProto(const FrameJob& job, int64_t total_ns, v1::Timings* proto);
// The job's status, which is not OK, what it is about, and why it was dropped if it was.
void ToProto(const FrameJob& job, v1::FrameStatus* proto);

// With the details of status_details.h.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_CONVERT_H_
