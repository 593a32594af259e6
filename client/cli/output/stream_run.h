// One stream after another whose answers go to outputs: what glint match, stereo, track and localize do alike.
#ifndef GLINT_CLIENT_CLI_OUTPUT_STREAM_RUN_H_
#define GLINT_CLIENT_CLI_OUTPUT_STREAM_RUN_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "features/status_macros.h"

namespace glint::cli {

// `Stream` is one of the client's. Take() is for its callback, the rest for the thread that writes.
template <typename Stream>
class StreamRun {
 public:
  using Opener = std::function<absl::StatusOr<std::unique_ptr<Stream>>()>;

  explicit StreamRun(Opener opener) : opener_(std::move(opener)) {}

  // Opens a stream when the one before, if there is one, has ended without an error.
  absl::Status Reopen() {
    if (stream_ != nullptr) GLINT_RETURN_IF_ERROR(stream_->Finish());
    GLINT_ASSIGN_OR_RETURN(stream_, opener_());
    return absl::OkStatus();
  }
  bool open() const { return stream_ != nullptr; }
  Stream* operator->() const { return stream_.get(); }

  // Hands an answer to the outputs by `add`, until that fails: then the stream is cancelled.
  template <typename Add>
  void Take(Add add) {
    if (output_.ok()) output_ = add();
    if (!output_.ok()) stream_->Cancel();
  }

  // Why the stream ended early, unless an output is why; `sent`: the error of the writes.
  absl::Status Finish(const absl::Status& sent) {
    const absl::Status end = stream_ != nullptr ? stream_->Finish() : absl::OkStatus();
    if (!output_.ok()) return absl::OkStatus();
    return sent.ok() ? end : sent;
  }
  // After Finish().
  const absl::Status& output() const { return output_; }

 private:
  const Opener opener_;
  absl::Status output_;
  std::unique_ptr<Stream> stream_;  // last: its reading thread uses the others
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_STREAM_RUN_H_
