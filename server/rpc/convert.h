// The one place where wire types become C++ ones and back. Nothing that comes in is trusted.
#ifndef GLINT_SERVER_RPC_CONVERT_H_
#define GLINT_SERVER_RPC_CONVERT_H_

#include <grpcpp/support/status.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "features/options.h"
#include "features/types.h"
#include "glint/v1/feature_detection.pb.h"
#include "server/metrics/metrics.h"
#include "server/schedule/frame_job.h"

namespace glint {

// Valid options. INVALID_ARGUMENT names the field; RESOURCE_EXHAUSTED: max_features over `max_features`. A preset's
// own max_features is lowered to that limit without complaint.
absl::StatusOr<DetectorOptions> FromProto(const v1::DetectorOptions& proto, int max_features);

// Borrows the bytes of `proto`, through `*bytes`. INVALID_ARGUMENT or RESOURCE_EXHAUSTED as in decode.h; an encoded
// picture's bytes are not looked at yet.
absl::StatusOr<ImageSource> FromProto(const v1::Image& proto, int64_t max_pixels, absl::Span<const uint8_t>* bytes);

// The same for a mask, whose format must be GRAY8; fields are called "mask...."
absl::StatusOr<ImageSource> MaskFromProto(const v1::Image& proto, int64_t max_pixels, absl::Span<const uint8_t>* bytes);

FrameEncoding EncodingOf(const v1::Image& proto);
size_t BytesOf(const v1::Image& proto);

// Reuses the memory of `proto`.
void ToProto(const Features& features, v1::Features* proto);
void ToProto(const FrameJob& job, int64_t total_ns, v1::Timings* proto);

grpc::Status ToGrpc(const absl::Status& status);

}  // namespace glint

#endif  // GLINT_SERVER_RPC_CONVERT_H_
