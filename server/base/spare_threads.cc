#include "server/base/spare_threads.h"

#include <atomic>
#include <utility>

#include "features/thread.h"

namespace glint {
namespace {

std::atomic<SpareThreads*> spare_threads{nullptr};

}  // namespace

SpareThreads::SpareThreads(std::function<void()> exhausted) : exhausted_(std::move(exhausted)) {}

absl::StatusOr<std::unique_ptr<SpareThreads>> SpareThreads::Create(int count, std::function<void()> exhausted) {
  std::unique_ptr<SpareThreads> made(new SpareThreads(std::move(exhausted)));
  for (int i = 0; i <= count; ++i) {
    auto spare = std::make_unique<Spare>();
    spare->owner = made.get();
    if (pthread_create(&spare->thread, nullptr, &Wait, spare.get()) != 0) return ThreadError("spare threads");
    const std::lock_guard<std::mutex> lock(made->mutex_);
    made->spares_.push_back(std::move(spare));
  }
  return made;
}

SpareThreads::~SpareThreads() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  for (size_t i = taken_; i < spares_.size(); ++i) pthread_join(spares_[i]->thread, nullptr);
}

bool SpareThreads::Take(const pthread_attr_t* attributes, Body body, void* argument, pthread_t* thread) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Spare* const spare = spares_[taken_].get();
    if (taken_ + 1 == spares_.size()) {
      spare->body = &TellExhausted;
      spare->argument = this;
    } else {
      ++taken_;
      spare->body = body;
      spare->argument = argument;
      *thread = spare->thread;
      int state = PTHREAD_CREATE_JOINABLE;
      if (attributes != nullptr) pthread_attr_getdetachstate(attributes, &state);
      if (state == PTHREAD_CREATE_DETACHED) pthread_detach(spare->thread);
    }
    body = spare->body;
  }
  changed_.notify_all();
  return body != &TellExhausted;
}

bool SpareThreads::exhausted() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return spares_.back()->body != nullptr;
}

void* SpareThreads::Wait(void* spare) {
  Spare* const self = static_cast<Spare*>(spare);
  Body body = nullptr;
  void* argument = nullptr;
  {
    SpareThreads* const owner = self->owner;
    std::unique_lock<std::mutex> lock(owner->mutex_);
    owner->changed_.wait(lock, [&] { return self->body != nullptr || owner->over_; });
    body = self->body;
    argument = self->argument;
  }
  return body == nullptr ? nullptr : body(argument);
}

void* SpareThreads::TellExhausted(void* threads) {
  static_cast<SpareThreads*>(threads)->exhausted_();
  return nullptr;
}

void SetSpareThreads(SpareThreads* threads) { spare_threads = threads; }

bool TakeSpareThread(const pthread_attr_t* attributes, SpareThreads::Body body, void* argument, pthread_t* thread) {
  SpareThreads* const threads = spare_threads;
  return threads != nullptr && threads->Take(attributes, body, argument, thread);
}

}  // namespace glint
