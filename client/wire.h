// Converts the client's types to protobuf messages and back; the only file that uses both. Internal to the library.
#ifndef GLINT_CLIENT_WIRE_H_
#define GLINT_CLIENT_WIRE_H_

#include <grpcpp/support/status.h>

#include <array>
#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "client/image.h"
#include "client/result.h"
#include "client/stream.h"
#include "features/gray_range.h"
#include "features/operation_defaults.h"
#include "features/options.h"
#include "features/status_macros.h"
#include "features/warning.h"
#include "glint/v1/envelope.pb.h"
#include "glint/v1/feature_detection.pb.h"
#include "glint/v1/server.pb.h"

namespace glint::client {

// With the server's ErrorInfo (features/error.h) and RetryAfterOf(), if it sent them.
absl::Status FromGrpc(const grpc::Status& status);
absl::Status FromWire(const v1::FrameStatus& wire);

// The preset that is nearest to `options` in an operation with these defaults (none if that is the default one) and the
// fields that differ from it: nothing for the default detector.
void ToWire(const DetectorOptions& options, const DetectorDefaults& defaults, v1::DetectorOptions* wire);

// The stream's first message, mask included; `in_flight` and `timeout` are not the server's business.
absl::Status ToWire(const StreamOptions& options, v1::DetectStreamOptions* wire);

// A side below 0 becomes one that every server refuses, by its name.
void ToWire(const Region& region, v1::ImageRegion* wire);

// Copies rows without the padding between them; keeps the memory that `wire` has. `field` names the image in errors.
absl::Status ToWire(absl::string_view field, const ImageInput& image, v1::Image* wire);

// A range that is wanted.
void ToWire(const GrayRange& range, v1::GrayRange* wire);

// What the options of all streams have for the server.
template <typename Options, typename Wire>
void SetPolicy(const Options& options, Wire* wire) {
  if (options.gray_range.wanted()) ToWire(options.gray_range, wire->mutable_gray_range());
  wire->set_overload_policy(static_cast<v1::OverloadPolicy>(options.overload_policy));
  wire->set_max_age_ns(absl::ToInt64Nanoseconds(options.max_age));
}

// Copies a repeated field; keeps the memory that `to` has.
template <typename Repeated, typename Vector>
void Assign(const Repeated& from, Vector* to) {
  to->assign(from.begin(), from.end());
}

absl::Status CheckRays(size_t count, const std::array<int, 3>& sizes);
// INTERNAL when the arrays' lengths contradict each other. Keep the memory that the result has.
absl::Status FromWire(const v1::ImageFeatures& wire, Features* features);
// `wanted`: a camera was sent.
absl::Status FromWire(const v1::ImageFeatures& wire, bool wanted, Features* features, Rays* rays);
// Rays of a message that has `count` of them. INTERNAL: another number, or none, which older servers send.
template <typename Message>
absl::Status FromWire(const Message& wire, size_t count, Rays* rays) {
  rays->Clear();
  GLINT_RETURN_IF_ERROR(CheckRays(count, {wire.ray_x_size(), wire.ray_y_size(), wire.ray_z_size()}));
  Assign(wire.ray_x(), &rays->x);
  Assign(wire.ray_y(), &rays->y);
  Assign(wire.ray_z(), &rays->z);
  return absl::OkStatus();
}
void FromWire(const v1::Timings& wire, Timings* timings);
std::vector<Warning> FromWire(const google::protobuf::RepeatedPtrField<v1::Warning>& wire);

// Which frame a response of a stream answers, and how it went.
template <typename Response, typename Result>
void FromWire(const Response& response, Result* result) {
  result->frame_id = response.frame_id();
  result->status = FromWire(response.status());
  result->drop_reason = static_cast<DropReason>(response.status().drop_reason());
  result->retry_after = absl::Nanoseconds(response.status().retry_after_ns());
}

ServerInfo FromWire(const v1::GetServerInfoResponse& wire);

}  // namespace glint::client

#endif  // GLINT_CLIENT_WIRE_H_
