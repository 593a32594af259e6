// Conversion between wire types and C++ types. Input is untrusted.
#ifndef GLINT_SERVER_WIRE_CONVERT_H_
#define GLINT_SERVER_WIRE_CONVERT_H_

#include <grpcpp/support/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "features/options.h"
#include "glint/v1/feature_detection.pb.h"
#include "server/config/options.h"
#include "server/metrics/metrics.h"
#include "server/schedule/frame_job.h"
#include "server/session/session.h"
#include "server/shm/shared_memory.h"
#include "server/wire/frame_parser.h"

namespace glint {

// Valid options. INVALID_ARGUMENT names the field; RESOURCE_EXHAUSTED: max_features over `max_features`. A preset's
// own max_features is lowered to that limit without complaint.
absl::StatusOr<DetectorOptions> FromProto(const v1::DetectorOptions& proto, int max_features);

// A stream's first message but for its mask. The same errors; RESOURCE_EXHAUSTED: max_in_flight over the server's.
absl::StatusOr<SessionOptions> FromProto(const v1::StreamOptions& proto, const ServerOptions& server);

// Sets when a frame, received and not older than `max_age_ns` or, if that is 0, the stream's, expires.
// INVALID_ARGUMENT: max_age_ns.
absl::Status SetExpiry(int64_t max_age_ns, int64_t stream_max_age_ns, FrameJob* job);

// The same for the options of a DetectRequest, serialized; INVALID_ARGUMENT beyond kMaxOptionsBytes.
absl::StatusOr<DetectorOptions> OptionsFromWire(decode::Pieces serialized, int max_features);

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

FrameEncoding EncodingOf(const WireImage& image, decode::Pieces message);

void ToProto(const FrameJob& job, int64_t total_ns, v1::Timings* proto);
// The job's status, which is not OK, and why it was dropped if it was.
void ToProto(const FrameJob& job, v1::FrameStatus* proto);

grpc::Status ToGrpc(const absl::Status& status);

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_CONVERT_H_
