#include "client/cli/base/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_format.h"
#include "features/steady_time.h"

namespace glint::cli {
namespace {

constexpr absl::Duration kInterval = absl::Milliseconds(100);
constexpr int kBarWidth = 24;

std::string Clock(double seconds) {
  const int64_t s = std::llround(seconds);
  if (s >= 3600) return absl::StrFormat("%d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
  return absl::StrFormat("%d:%02d", s / 60, s % 60);
}

}  // namespace

std::string ProgressText(int64_t done, int64_t total, absl::Duration elapsed) {
  const double seconds = absl::ToDoubleSeconds(elapsed);
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  if (total <= 0) return absl::StrFormat("%d frames  %.1f/s  %s", done, rate, Clock(seconds));
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const size_t filled = static_cast<size_t>(share * kBarWidth);
  const std::string left = rate > 0 ? Clock(static_cast<double>(std::max<int64_t>(total - done, 0)) / rate) : "-:--";
  return absl::StrFormat("[%s%s] %3.0f%%  %d/%d  %.1f/s  ETA %s", std::string(filled, '#'),
                         std::string(kBarWidth - filled, '.'), share * 100, done, total, rate, left);
}

LiveLine::LiveLine(bool wanted, absl::Duration delay)
    : shown_(wanted && isatty(STDERR_FILENO) != 0), start_(SteadyNow()), next_(start_ + delay) {}

void LiveLine::Show(const std::function<std::string(absl::Duration elapsed)>& text) {
  if (!shown_) return;
  const absl::Time now = SteadyNow();
  if (now < next_) return;
  next_ = now + kInterval;
  std::fputs(("\r\033[K" + text(now - start_)).c_str(), stderr);
}

void LiveLine::Clear() const {
  if (shown_) std::fputs("\r\033[K", stderr);
}

Progress::Progress(bool wanted, int64_t total) : line_(wanted, kInterval), total_(total) {}

}  // namespace glint::cli
