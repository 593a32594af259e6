// The calls and streams of a client that have not ended, so that they can be cancelled together. Internal to the
// library.
#ifndef GLINT_CLIENT_OPEN_CALLS_H_
#define GLINT_CLIENT_OPEN_CALLS_H_

#include <grpcpp/client_context.h>

#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace glint::client {

// Thread-safe.
class OpenCalls {
 public:
  // Cancels those that are open, and later ones as they are added.
  void CancelAll() {
    const std::lock_guard<std::mutex> lock(mutex_);
    cancelled_ = true;
    for (grpc::ClientContext* context : contexts_) context->TryCancel();
  }

 private:
  friend class OpenCall;

  std::mutex mutex_;
  std::set<grpc::ClientContext*> contexts_;
  bool cancelled_ = false;
};

// One of them, while this lives; `context` must live as long.
class OpenCall {
 public:
  OpenCall(std::shared_ptr<OpenCalls> calls, grpc::ClientContext* context)
      : calls_(std::move(calls)), context_(context) {
    const std::lock_guard<std::mutex> lock(calls_->mutex_);
    calls_->contexts_.insert(context_);
    if (calls_->cancelled_) context_->TryCancel();
  }
  ~OpenCall() {
    const std::lock_guard<std::mutex> lock(calls_->mutex_);
    calls_->contexts_.erase(context_);
  }
  OpenCall(const OpenCall&) = delete;
  OpenCall& operator=(const OpenCall&) = delete;

 private:
  const std::shared_ptr<OpenCalls> calls_;
  grpc::ClientContext* const context_;
};

}  // namespace glint::client

#endif  // GLINT_CLIENT_OPEN_CALLS_H_
