#include "client/stream.h"

#include <utility>

#include "client/stream_impl.h"
#include "client/wire.h"
#include "features/status_macros.h"

namespace glint::client {

namespace {

absl::Status ReadResult(const v1::DetectStreamResponse& response, bool wants_rays, absl::Duration round_trip,
                        FrameResult* result) {
  result->detection.round_trip = round_trip;
  client::FromWire(response.timings(), &result->detection.timings);
  result->detection.warnings = client::FromWire(response.warnings());
  Detection& detection = result->detection;
  if (result->status.ok()) {
    return client::FromWire(response.features(), wants_rays, &detection.features, &detection.rays);
  }
  detection.features.Clear();
  detection.rays.Clear();
  return absl::OkStatus();
}

}  // namespace

DetectStream::Impl::Impl(const std::shared_ptr<grpc::ChannelInterface>& channel, const StreamOptions& options,
                         ResultCallback callback)
    : StreamImpl(channel, options.in_flight, std::move(callback),
                 [wants_rays = options.camera.has_value()](const auto& response, absl::Duration round_trip,
                                                           FrameResult* result) {
                   return ReadResult(response, wants_rays, round_trip, result);
                 }) {}

absl::Status DetectStream::Impl::Open(const StreamOptions& options) {
  v1::DetectStreamRequest first;
  GLINT_RETURN_IF_ERROR(ToWire(options, first.mutable_options()));
  return core.Open(stub->DetectStream(&core.context), first);
}

DetectStream::DetectStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DetectStream::~DetectStream() = default;

absl::Status DetectStream::Write(uint64_t frame_id, const ImageInput& image, const ImageInput& mask) {
  return impl_->core.Write(frame_id, [&](v1::DetectStreamRequest* request, FrameSlots* slots) {
    v1::DetectFrame* frame = request->mutable_frame();
    frame->set_frame_id(frame_id);
    GLINT_RETURN_IF_ERROR(ToWire("image", image, frame->mutable_image()));
    if (image.region.wanted()) {
      ToWire(image.region, frame->mutable_region());
    } else {
      frame->clear_region();
    }
    *slots = {image.slot, mask.slot};
    if (mask.kind != ImageInput::Kind::kNone) return ToWire("mask", mask, frame->mutable_mask());
    frame->clear_mask();
    return absl::OkStatus();
  });
}

absl::Status DetectStream::Finish() { return impl_->core.Finish(); }

void DetectStream::Cancel() { impl_->core.Cancel(); }

int DetectStream::in_flight() const { return impl_->core.in_flight(); }

}  // namespace glint::client
