#include "client/resilient_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "features/status_macros.h"
#include "features/steady_time.h"

namespace glint::client {
namespace {

// Whether a new stream could fare better. Servers and proxies that go away end streams in many ways.
bool WorthAnotherTry(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnknown:
      return true;
    default:
      return false;
  }
}

// The picture with its bytes in `bytes`, rows without gaps.
ImageInput Copy(const ImageInput& image, std::string* bytes) {
  if (image.kind == ImageInput::Kind::kShared) return image;
  if (image.kind != ImageInput::Kind::kRaw) {
    bytes->assign(image.file.data(), image.file.size());
    return image.kind == ImageInput::Kind::kNone ? image : ImageInput::Encoded(*bytes);
  }
  const size_t row = static_cast<size_t>(std::max(0, image.width)) * static_cast<size_t>(BytesPerPixel(image.format));
  const int rows = RowsOf(image.format, image.height);
  bytes->reserve(row * static_cast<size_t>(std::max(0, rows)));
  for (int y = 0; y < rows; ++y) {
    bytes->append(reinterpret_cast<const char*>(image.data + y * image.stride), row);
  }
  return ImageInput::Raw(image.format, bytes->data(), image.width, image.height, static_cast<ptrdiff_t>(row));
}

}  // namespace

ResilientStream::ResilientStream(const Client* client, const StreamOptions& options, const RetryOptions& retry,
                                 ResultCallback on_result)
    : client_(client), options_(options), retry_(retry), on_result_(std::move(on_result)) {}

ResilientStream::~ResilientStream() = default;

absl::Status ResilientStream::Write(uint64_t frame_id, const ImageInput& image) {
  GLINT_RETURN_IF_ERROR(Renew());
  const Kept* kept;
  {
    absl::MutexLock lock(&mu_);
    kept_.emplace_back();
    Kept& back = kept_.back();
    back.frame_id = frame_id;
    back.image = retry_.patience > absl::ZeroDuration() ? Copy(image, &back.bytes) : image;
    kept = &back;
  }
  const absl::Status status = stream_->Write(frame_id, kept->image);
  if (absl::IsInvalidArgument(status)) {
    // Not sent and not kept; if the stream has ended, the next call returns the same error.
    absl::MutexLock lock(&mu_);
    kept_.pop_back();
  }
  return status.ok() ? status : Reopen(status);
}

absl::Status ResilientStream::Finish() {
  if (stream_ == nullptr) return absl::OkStatus();
  for (;;) {
    absl::Status status = stream_->Finish();
    {
      absl::MutexLock lock(&mu_);
      if (cancelled_) return absl::CancelledError();
      // How a stream ended does not matter once all is answered, unless there is to be one stream only.
      if (kept_.empty()) return retry_.patience > absl::ZeroDuration() ? absl::OkStatus() : status;
    }
    if (status.ok()) status = absl::UnavailableError("the server drains");
    if (status = Reopen(status); !status.ok()) return status;
  }
}

void ResilientStream::Cancel() {
  absl::MutexLock lock(&mu_);
  cancelled_ = true;
  if (open_ != nullptr) open_->Cancel();
}

absl::Status ResilientStream::Renew() {
  if (stream_ == nullptr) return Reopen(absl::OkStatus());
  bool refused;
  {
    absl::MutexLock lock(&mu_);
    refused = refused_;
  }
  if (refused) return Reopen(absl::UnavailableError("the server drains"));
  if (SteadyNow() - opened_at_ < retry_.max_age) return absl::OkStatus();
  absl::Status status = Finish();
  return status.ok() ? Reopen(absl::OkStatus()) : status;
}

void ResilientStream::Deliver(const FrameResult& result) {
  {
    absl::MutexLock lock(&mu_);
    if (absl::IsUnavailable(result.status) && retry_.patience > absl::ZeroDuration()) refused_ = true;
    if (refused_) return;
  }
  if (on_result_) on_result_(result);
  absl::MutexLock lock(&mu_);
  kept_.pop_front();
  answered_ = SteadyNow();
}

absl::Status ResilientStream::Reopen(absl::Status why) {
  {
    absl::MutexLock lock(&mu_);
    if (answered_ >= broken_at_) {
      broken_at_ = SteadyNow();
      pause_ = absl::ZeroDuration();
    }
  }
  for (;;) {
    {
      absl::MutexLock lock(&mu_);
      const bool again = why.ok() || (retry_.patience > absl::ZeroDuration() && WorthAnotherTry(why) &&
                                      SteadyNow() - broken_at_ <= retry_.patience);
      if (!again && !cancelled_) return why;
      mu_.AwaitWithTimeout(absl::Condition(&cancelled_), pause_);
      if (cancelled_) return absl::CancelledError();
    }
    if (!why.ok() && retry_.stop && retry_.stop()) return why;
    pause_ = std::min(std::max(retry_.pause, 2 * pause_), retry_.max_pause);
    if (why = OpenOnce(); why.ok()) break;
  }
  // It may yet turn out to be broken, unless nothing waits for an answer.
  absl::MutexLock lock(&mu_);
  if (kept_.empty()) broken_at_ = absl::InfinitePast();
  return why;
}

absl::Status ResilientStream::OpenOnce() {
  std::vector<const Kept*> again;
  {
    absl::MutexLock lock(&mu_);
    open_ = nullptr;
  }
  stream_ = nullptr;  // its callback runs no more
  {
    absl::MutexLock lock(&mu_);
    refused_ = false;
    for (const Kept& kept : kept_) again.push_back(&kept);
  }
  auto opened = client_->OpenStream(options_, [this](const FrameResult& result) { Deliver(result); });
  if (!opened.ok()) return opened.status();
  stream_ = *std::move(opened);
  ++opened_;
  opened_at_ = SteadyNow();
  {
    absl::MutexLock lock(&mu_);
    open_ = stream_.get();
    if (cancelled_) open_->Cancel();
  }
  // Answers take frames from the front meanwhile, but only frames that were written before.
  for (const Kept* kept : again) {
    GLINT_RETURN_IF_ERROR(stream_->Write(kept->frame_id, kept->image));
  }
  return absl::OkStatus();
}

}  // namespace glint::client
