#include "client/stream.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/stream_impl.h"
#include "client/wire.h"

namespace glint::client {

DetectStream::Impl::Impl(const std::shared_ptr<grpc::ChannelInterface>& channel, int window, ResultCallback callback)
    : window(window), on_result(std::move(callback)), stub(v1::FeatureDetection::NewStub(channel)) {}

DetectStream::Impl::~Impl() {
  context.TryCancel();
  if (reader.joinable()) reader.join();
}

absl::Status DetectStream::Impl::Open(const StreamOptions& options) {
  v1::DetectStreamRequest first;
  if (absl::Status status = ToWire(options, first.mutable_options()); !status.ok()) return status;
  stream = stub->DetectStream(&context);
  if (!stream->Write(first)) {
    const absl::Status status = FromGrpc(stream->Finish());
    return status.ok() ? absl::InternalError("the server ended the stream before its first message") : status;
  }
  reader = std::thread([this] { ReadResults(); });
  return absl::OkStatus();
}

absl::Status DetectStream::Impl::Write(uint64_t frame_id, const ImageInput& image, const ImageInput& mask) {
  {
    std::lock_guard<std::mutex> write_lock(write_mu);
    if (writing_over) return absl::FailedPreconditionError("Write() after Finish()");
    v1::Frame* frame = request.mutable_frame();
    frame->set_frame_id(frame_id);
    if (absl::Status status = ToWire("image", image, frame->mutable_image()); !status.ok()) return status;
    if (image.region.wanted()) {
      ToWire(image.region, frame->mutable_region());
    } else {
      frame->clear_region();
    }
    if (mask.kind == ImageInput::Kind::kNone) {
      frame->clear_mask();
    } else if (absl::Status status = ToWire("mask", mask, frame->mutable_mask()); !status.ok()) {
      return status;
    }
    bool open;
    {
      std::unique_lock<std::mutex> lock(mu);
      changed.wait(lock, [this] { return reading_over || static_cast<int>(sent.size()) < window; });
      open = !reading_over;
      if (open) sent.push_back({frame_id, absl::Now(), image.slot, mask.slot});
    }
    if (open && stream->Write(request)) return absl::OkStatus();
  }
  const absl::Status status = WaitForEnd();
  return status.ok() ? absl::UnavailableError("the server ended the stream") : status;
}

absl::Status DetectStream::Impl::Finish() {
  {
    std::lock_guard<std::mutex> write_lock(write_mu);
    bool open;
    {
      std::lock_guard<std::mutex> lock(mu);
      open = !reading_over;
    }
    if (open && !writing_over) stream->WritesDone();  // fails when the call has ended; WaitForEnd() returns the reason
    writing_over = true;
  }
  return WaitForEnd();
}

void DetectStream::Impl::Cancel() { context.TryCancel(); }

absl::Status DetectStream::Impl::WaitForEnd() {
  std::unique_lock<std::mutex> lock(mu);
  changed.wait(lock, [this] { return over; });
  return end;
}

void DetectStream::Impl::ReadResults() {
  v1::DetectStreamResponse response;
  FrameResult result;
  absl::Status broken;
  // Not with the first message: gRPC 1.51 may lose the end of a call that is cancelled between the two
  // (tests/client/cancel_test.cc).
  stream->WaitForInitialMetadata();
  while (broken.ok() && stream->Read(&response)) broken = Deliver(response, &result);
  if (!broken.ok()) {
    context.TryCancel();
    while (stream->Read(&response)) {
    }
  }
  {
    std::lock_guard<std::mutex> lock(mu);
    reading_over = true;
    changed.notify_all();
  }
  // A write that is under way fails now, since the call is over, and no other begins; gRPC's Finish() comes after it.
  absl::Status status;
  {
    std::lock_guard<std::mutex> write_lock(write_mu);
    status = FromGrpc(stream->Finish());
  }
  std::lock_guard<std::mutex> lock(mu);
  if (!broken.ok()) {
    status = broken;
  } else if (status.ok() && !sent.empty()) {
    status =
        absl::InternalError(absl::StrCat("the server ended the stream and left ", sent.size(), " frames unanswered"));
  }
  for (Sent& frame : sent) frame.image_slot = frame.mask_slot = SharedSlot();
  end = status;
  over = true;
  changed.notify_all();
}

absl::Status DetectStream::Impl::Deliver(const v1::DetectStreamResponse& response, FrameResult* result) {
  Sent oldest;
  {
    std::lock_guard<std::mutex> lock(mu);
    if (sent.empty()) return absl::InternalError("the server sent a result without a frame");
    oldest = sent.front();
  }
  if (response.frame_id() != oldest.frame_id) {
    return absl::InternalError(
        absl::StrCat("the server answered frame ", response.frame_id(), " instead of ", oldest.frame_id));
  }
  result->frame_id = response.frame_id();
  result->detection.round_trip = absl::Now() - oldest.at;
  result->status = absl::Status(static_cast<absl::StatusCode>(response.status().code()), response.status().message());
  result->drop_reason = static_cast<DropReason>(response.status().drop_reason());
  result->retry_after = absl::Nanoseconds(response.status().retry_after_ns());
  FromWire(response.timings(), &result->detection.timings);
  if (result->status.ok()) {
    if (absl::Status status = FromWire(response.features(), &result->detection.features); !status.ok()) return status;
  } else {
    result->detection.features.Clear();
  }
  if (on_result) on_result(*result);
  std::lock_guard<std::mutex> lock(mu);
  sent.pop_front();
  changed.notify_all();
  return absl::OkStatus();
}

DetectStream::DetectStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DetectStream::~DetectStream() = default;

absl::Status DetectStream::Write(uint64_t frame_id, const ImageInput& image, const ImageInput& mask) {
  return impl_->Write(frame_id, image, mask);
}

absl::Status DetectStream::Finish() { return impl_->Finish(); }

void DetectStream::Cancel() { impl_->Cancel(); }

int DetectStream::in_flight() const {
  std::lock_guard<std::mutex> lock(impl_->mu);
  return static_cast<int>(impl_->sent.size());
}

}  // namespace glint::client
