#include "slam/watch/frame_clock.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "features/error.h"

namespace glint::slam {
namespace {

constexpr int64_t kMillisecond = 1'000'000, kSecond = 1'000'000'000;
constexpr int64_t kUnknownStep = kSecond / 10;  // stands for the usual step while none is known
constexpr int64_t kLongestUnknown = 10 * kSecond;
constexpr int64_t kShortest = kMillisecond;          // no camera is faster
constexpr int64_t kMostSteps = 8;                    // usual ones, that a stamp may be ahead
constexpr int64_t kBurst = 16;                       // a step below this part of the usual one is said
constexpr int kEnough = 3;                           // stamps that go on from each other; steps to judge others by
constexpr int64_t kLongestRegular = kSecond / 2;     // a usual step above it is of a camera that is triggered
constexpr int64_t kFarthestTime = int64_t{1} << 62;  // of the first time, so that there is room beyond it

int64_t Difference(int64_t to, int64_t from) {
  int64_t result = 0;
  if (!__builtin_sub_overflow(to, from, &result)) return result;
  return to > from ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

void Warn(int64_t step, const std::string& text, std::vector<Warning>* warnings) {
  warnings->push_back({WarningKind::kTimestamp, static_cast<double>(step) * 1e-6, "ms", text});
}

}  // namespace

template <size_t kCount>
int64_t LastNumbers<kCount>::Median() const {
  std::array<int64_t, kCount> sorted = numbers_;
  const auto middle = sorted.begin() + static_cast<ptrdiff_t>(size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<ptrdiff_t>(size()));
  return *middle;
}

absl::Status FrameClock::Validate(int64_t stamp_ns) const {
  if (!has_time_ || (stamp_ns != last_stamp_ && stamp_ns != anchor_)) return absl::OkStatus();
  return ContradictionError("time_ns", absl::StrCat(stamp_ns, " is an earlier pair's, too"));
}

// The mean is that of bursts, the median that of a stream with missing frames.
int64_t FrameClock::UsualStep() const {
  const int64_t median = steps_.size() > 0 ? steps_.Median() : 0;
  if (!stamps_.full()) return median;
  const int64_t mean = Difference(anchor_, stamps_.oldest()) / static_cast<int64_t>(stamps_.size() - 1);
  return std::max(kShortest, median > 0 ? std::min(median, mean) : mean);
}

int64_t FrameClock::Next(int64_t stamp_ns, std::vector<Warning>* warnings, bool is_known) {
  if (!has_time_) {
    has_time_ = true;
    anchor_ = stamp_ns;
    time_ = anchor_time_ = std::clamp(stamp_ns, -kFarthestTime, kFarthestTime);
    stamps_.Add(stamp_ns);
  } else {
    const int64_t step = Difference(stamp_ns, anchor_);
    const int64_t usual = UsualStep();
    const int64_t longest = usual > 0 ? kMostSteps * usual : kLongestUnknown;
    const int64_t due = step - Difference(time_, anchor_time_);  // from the last frame's time
    const bool is_in_line = step > 0 && (due <= longest || is_known);
    time_ += is_in_line ? TakeInLine(stamp_ns, step, due, warnings) : TakeOutOfLine(stamp_ns, step, warnings);
  }
  last_stamp_ = stamp_ns;
  return time_;
}

int64_t FrameClock::TakeInLine(int64_t stamp_ns, int64_t step, int64_t due, std::vector<Warning>* warnings) {
  const int64_t known = UsualStep();
  const int64_t usual = known > 0 ? known : kUnknownStep;
  const int64_t regular = !are_of_capture_ && steps_.size() >= kEnough && known <= kLongestRegular ? known : 0;
  if (step < std::max(kShortest, regular / kBurst)) {
    Warn(step,
         absl::StrFormat("time_ns: %.3f ms after the pair before: such times are not of capture; pairs count as %.3f s "
                         "apart",
                         static_cast<double>(step) * 1e-6, Seconds(usual)),
         warnings);
  }
  const bool is_first = known == 0 && due < kShortest && step >= kShortest;  // after stamps that told no step
  const bool is_short = due < std::max(kShortest, regular / 2);
  const int64_t used = is_first ? step / (1 + others_) : is_short ? usual : due;
  if (is_first || !is_short) steps_.Add(used);
  anchor_ = stamp_ns;
  anchor_time_ = is_first ? time_ + used : std::max(anchor_time_ + step, time_ + used - kMostSteps * usual);
  stamps_.Add(stamp_ns);
  others_ = 0;
  return used;
}

int64_t FrameClock::TakeOutOfLine(int64_t stamp_ns, int64_t step, std::vector<Warning>* warnings) {
  const int64_t known = UsualStep();
  const int64_t used = known > 0 ? known : kUnknownStep;
  const int64_t on = Difference(stamp_ns, last_stamp_);
  others_ = others_ > 0 && on > 0 && on <= kLongestUnknown ? others_ + 1 : 1;
  const bool is_clock = others_ == kEnough;
  Warn(step,
       absl::StrFormat("time_ns: %.3f s %s the last time in line, where pairs come every %.3f s: %s",
                       std::abs(Seconds(step)), step > 0 ? "after" : "before", Seconds(used),
                       is_clock ? "the clock was set, and is used again" : "it is not used"),
       warnings);
  if (!is_clock) return used;
  others_ = 0;
  steps_.Clear();
  stamps_.Clear();
  steps_.Add(on);
  stamps_.Add(stamp_ns);
  anchor_ = stamp_ns;
  anchor_time_ = time_ + used;
  return used;
}

}  // namespace glint::slam
