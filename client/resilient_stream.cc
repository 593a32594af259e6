#include "client/resilient_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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
    case absl::StatusCode::kDeadlineExceeded:
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
    : client_(client), options_(options), retry_(retry), on_result_(std::move(on_result)) {
  if (retry_.patience > absl::ZeroDuration() && retry_.patience < absl::InfiniteDuration()) {
    watcher_ = std::thread([this] { Watch(); });
  }
}

ResilientStream::~ResilientStream() {
  {
    absl::MutexLock lock(&mu_);
    destroyed_ = true;
    open_ = nullptr;
  }
  if (watcher_.joinable()) watcher_.join();
}

absl::Duration ResilientStream::Waited() const {
  const absl::Time since = std::max(answered_, tried_);
  return SteadyNow() - (kept_.empty() ? since : std::max(since, kept_.front().written));
}

void ResilientStream::Watch() {
  absl::MutexLock lock(&mu_);
  while (!destroyed_) {
    // What is not waited for yet cannot be late before a whole patience has passed.
    const bool waits = open_ != nullptr && !late_ && !kept_.empty() && !delivering_;
    const absl::Duration left = retry_.patience - (waits ? Waited() : absl::ZeroDuration());
    if (left <= absl::ZeroDuration()) {
      late_ = true;
      open_->Cancel();
    } else {
      mu_.AwaitWithTimeout(absl::Condition(&destroyed_), left);
    }
  }
}

absl::Status ResilientStream::Write(uint64_t frame_id, const ImageInput& image) {
  GLINT_RETURN_IF_ERROR(Renew());
  const Kept* kept;
  {
    absl::MutexLock lock(&mu_);
    kept_.emplace_back();
    Kept& back = kept_.back();
    back.frame_id = frame_id;
    back.written = SteadyNow();
    back.image = retry_.patience > absl::ZeroDuration() ? Copy(image, &back.bytes) : image;
    kept = &back;
  }
  const absl::Status status = stream_->Write(frame_id, kept->image);
  if (absl::IsInvalidArgument(status)) {
    // Not sent and not kept; if the stream has ended, the next call returns the same error.
    absl::MutexLock lock(&mu_);
    kept_.pop_back();
    return cancelled_ ? absl::CancelledError() : status;
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
    delivering_ = true;
  }
  if (on_result_) on_result_(result);
  absl::MutexLock lock(&mu_);
  kept_.pop_front();
  answered_ = SteadyNow();
  trying_ = delivering_ = false;
  reason_ = absl::OkStatus();
}

absl::Status ResilientStream::Reopen(absl::Status why) {
  for (;;) {
    {
      absl::MutexLock lock(&mu_);
      if (late_ && absl::IsCancelled(why) && !cancelled_) {
        if (!reason_.ok()) return reason_;
        return absl::DeadlineExceededError(
            absl::StrCat("no frame was answered for ", absl::FormatDuration(retry_.patience)));
      }
      if (!why.ok()) reason_ = why;
      if (!std::exchange(trying_, true)) {
        pause_ = absl::ZeroDuration();
        // That a stream broke while nobody wrote is noticed now.
        if (kept_.empty() || Waited() >= retry_.patience) tried_ = SteadyNow();
      }
      const bool again =
          why.ok() || (retry_.patience > absl::ZeroDuration() && WorthAnotherTry(why) && Waited() <= retry_.patience);
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
  if (kept_.empty()) {
    trying_ = false;
    reason_ = absl::OkStatus();
  }
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
    refused_ = late_ = false;
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
