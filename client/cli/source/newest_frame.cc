#include "client/cli/source/newest_frame.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "features/status_macros.h"
#include "features/steady_time.h"

namespace glint::cli {
namespace {

class NewestFrame : public Source {
 public:
  explicit NewestFrame(std::unique_ptr<Source> source) : source_(std::move(source)) {}
  ~NewestFrame() override {
    source_->Cancel();
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Begin() override {
    GLINT_RETURN_IF_ERROR(source_->Begin());
    Start();
    return absl::OkStatus();
  }

  absl::Status Next(Picture* picture) override {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return newest_.has_value() || !end_.ok(); });
    if (newest_.has_value()) {
      *picture = *std::move(newest_);
      newest_.reset();
      return absl::OkStatus();
    }
    return std::exchange(end_, absl::OutOfRangeError("no more frames"));
  }
  absl::Status Rewind() override { return Again(&Source::Rewind); }
  absl::Status Reopen() override { return Again(&Source::Reopen); }
  int64_t count() const override { return 0; }
  double rate() const override { return rate_; }
  bool live() const override { return true; }
  TimeZero time_zero() const override {
    return source_->time_zero() == TimeZero::kSystemClock ? TimeZero::kSystemClock : TimeZero::kArrival;
  }

 private:
  // Once more, after the end.
  absl::Status Again(absl::Status (Source::*open)()) {
    thread_.join();  // it has ended, since Next() has said so
    absl::Status status = (source_.get()->*open)();
    end_ = status;
    if (status.ok()) {
      Start();
    } else {
      thread_ = std::thread([] {});
    }
    return status;
  }
  void Start() {
    rate_ = source_->rate();
    thread_ = std::thread([this] {
      for (absl::Status status; status.ok();) {
        Picture picture;
        status = source_->Next(&picture);
        if (time_zero() == TimeZero::kArrival) picture.time = SteadyNow() - begun_;
        const std::lock_guard<std::mutex> lock(mutex_);
        if (status.ok()) newest_ = std::move(picture);
        end_ = status;
        changed_.notify_one();
      }
    });
  }

  const std::unique_ptr<Source> source_;
  const absl::Time begun_ = SteadyNow();
  double rate_ = kDefaultRate;
  std::mutex mutex_;  // guards what follows, while the thread runs
  std::condition_variable changed_;
  std::optional<Picture> newest_;
  absl::Status end_;  // not OK: no frame comes after newest_
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Source> TakeNewest(std::unique_ptr<Source> source) {
  return std::make_unique<NewestFrame>(std::move(source));
}

}  // namespace glint::cli
