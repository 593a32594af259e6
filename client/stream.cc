#include "client/stream.h"

#include <utility>

#include "client/stream_impl.h"
#include "client/wire.h"
#include "features/status_macros.h"

namespace glint::client {

DetectStream::Impl::Impl(const std::shared_ptr<grpc::ChannelInterface>& channel, int window, ResultCallback callback)
    : on_result(std::move(callback)),
      stub(v1::FeatureDetection::NewStub(channel)),
      core(window, [this](const auto& response, absl::Duration round_trip) { return Deliver(response, round_trip); }) {}

absl::Status DetectStream::Impl::Open(const StreamOptions& options) {
  v1::DetectStreamRequest first;
  GLINT_RETURN_IF_ERROR(ToWire(options, first.mutable_options()));
  return core.Open(stub->DetectStream(&core.context), first);
}

absl::Status DetectStream::Impl::Write(uint64_t frame_id, const ImageInput& image, const ImageInput& mask) {
  return core.Write(frame_id, [&](v1::DetectStreamRequest* request, FrameSlots* slots) {
    v1::Frame* frame = request->mutable_frame();
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

absl::Status DetectStream::Impl::Deliver(const v1::DetectStreamResponse& response, absl::Duration round_trip) {
  FromWire(response, &result);
  result.detection.round_trip = round_trip;
  FromWire(response.timings(), &result.detection.timings);
  if (result.status.ok()) {
    GLINT_RETURN_IF_ERROR(FromWire(response.features(), &result.detection.features));
  } else {
    result.detection.features.Clear();
  }
  if (on_result) on_result(result);
  return absl::OkStatus();
}

DetectStream::DetectStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DetectStream::~DetectStream() = default;

absl::Status DetectStream::Write(uint64_t frame_id, const ImageInput& image, const ImageInput& mask) {
  return impl_->Write(frame_id, image, mask);
}

absl::Status DetectStream::Finish() { return impl_->core.Finish(); }

void DetectStream::Cancel() { impl_->core.Cancel(); }

int DetectStream::in_flight() const { return impl_->core.in_flight(); }

}  // namespace glint::client
