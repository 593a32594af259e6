#include "client/cli/source/live_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cli/base/command.h"
#include "features/steady_time.h"

namespace glint::cli {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(100), kLongestPause = absl::Seconds(1),
                         kStopPoll = absl::Milliseconds(50);

// Returns early after an interrupt.
void Pause(absl::Duration duration) {
  const absl::Time end = SteadyNow() + duration;
  while (SteadyNow() < end && !Interrupted()) absl::SleepFor(std::min(kStopPoll, end - SteadyNow()));
}

class LiveSource : public Source {
 public:
  LiveSource(std::unique_ptr<Source> source, std::string name, absl::Duration retry)
      : source_(std::move(source)), name_(std::move(name)), retry_(retry) {}

  absl::Status Next(Picture* picture) override {
    if (ended_) return absl::OutOfRangeError("no more frames");
    absl::Status status = source_->Next(picture);
    if (!status.ok()) status = OpenAgain(status, picture);
    if (status.ok()) {
      ++frames_;
      return status;
    }
    ended_ = true;
    return Interrupted() ? absl::OutOfRangeError("interrupted") : status;
  }
  absl::Status Begin() override { return source_->Begin(); }
  absl::Status Rewind() override { return absl::UnimplementedError("a live source cannot be read twice"); }
  int64_t count() const override { return source_->count(); }
  double rate() const override { return source_->rate(); }
  bool live() const override { return source_->live(); }
  TimeZero time_zero() const override { return source_->time_zero(); }

 private:
  // The next frame of the source that `why` has ended.
  absl::Status OpenAgain(absl::Status why, Picture* picture) {
    const absl::Time lost = SteadyNow();
    if (absl::IsOutOfRange(why)) {
      why = absl::UnavailableError(absl::StrCat(name_, ": the live source ended after ", frames_, " frames"));
    }
    if (Interrupted() || retry_ <= absl::ZeroDuration()) return why;
    Complain("", absl::StrCat(why.message(), "; opening it again for ", absl::FormatDuration(retry_), " (loss ",
                              ++losses_, ")"));
    for (absl::Duration pause = kFirstPause; SteadyNow() - lost <= retry_ && !Interrupted();
         pause = std::min(2 * pause, kLongestPause)) {
      Pause(pause);
      absl::Status status = source_->Reopen();
      if (status.ok()) status = source_->Next(picture);
      if (status.ok()) {
        Complain("", absl::StrFormat("%s: is back after %.1f s", name_, absl::ToDoubleSeconds(SteadyNow() - lost)));
        return status;
      }
      if (!absl::IsOutOfRange(status)) why = status;
    }
    return absl::Status(why.code(), absl::StrCat(why.message(), "; given up after ", absl::FormatDuration(retry_)));
  }

  const std::unique_ptr<Source> source_;
  const std::string name_;
  const absl::Duration retry_;
  int64_t frames_ = 0, losses_ = 0;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<Source> WatchForLoss(std::unique_ptr<Source> source, std::string name, absl::Duration retry) {
  return std::make_unique<LiveSource>(std::move(source), std::move(name), retry);
}

}  // namespace glint::cli
