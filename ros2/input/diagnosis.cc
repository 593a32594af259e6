#include "ros2/input/diagnosis.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

namespace glint::ros2 {

Diagnosis::Diagnosis(std::string name) { status_.name = std::move(name); }

void Diagnosis::Say(std::byte level, absl::string_view what) {
  if (level <= status_.level) return;
  status_.level = level;
  status_.message = std::string(what);
}

void Diagnosis::Add(absl::string_view key, const absl::AlphaNum& value) {
  status_.values.push_back({std::string(key), std::string(value.Piece())});
}

void Diagnosis::AddTopic(const std::string& topic, bool needed, const TopicFigures& figures,
                         const SubscriptionCounts& counts, int64_t now_ns) {
  Add(absl::StrCat(topic, " messages"), figures.messages);
  Add(absl::StrCat(topic, " rate"), absl::StrFormat("%.1f", figures.rate));
  Add(absl::StrCat(topic, " lost"), counts.lost);
  Add(absl::StrCat(topic, " publishers"), counts.matched);
  if (figures.unreadable > 0) {
    Add(absl::StrCat(topic, " unreadable"), figures.unreadable);
    Add(absl::StrCat(topic, " last unreadable"), figures.reason);
    Warn(absl::StrCat(topic, ": ", figures.unreadable, " messages cannot be used, the last one because of ",
                      figures.reason));
  }
  if (counts.incompatible > 0) {
    Add(absl::StrCat(topic, " incompatible publishers"), counts.incompatible);
    Warn(absl::StrCat(topic, ": ", counts.incompatible, " publishers offer less than the subscription asks for (qos)"));
  }
  if (!needed) return;
  if (counts.matched == 0) {
    Warn(absl::StrCat(topic, ": no publisher"));
    return;
  }
  if (counts.matched > 1) {
    Warn(absl::StrCat(topic, ": ", counts.matched,
                      " publishers, whose messages mix; one that was killed is one of them for some seconds"));
  }
  // Three intervals of a slow camera, or two seconds.
  const double longest = std::max(2.0, figures.rate > 0 ? 3 / figures.rate : 0.0);
  const double age = static_cast<double>(now_ns - figures.newest_ns) * 1e-9;
  if (figures.newest_ns == 0) {
    Warn(absl::StrCat(topic, ": no message yet"));
  } else if (age > longest) {
    Warn(absl::StrFormat("%s: no message for %.1f s", topic, age));
  }
}

void Diagnosis::AddPairs(const PairCounts& counts, const PairCounts& before, absl::string_view first,
                         absl::string_view second) {
  if (!second.empty()) {
    Add("pairs", counts.pairs);
    Add(absl::StrCat(first, " images without a partner"), counts.alone[0]);
    Add(absl::StrCat(second, " images without a partner"), counts.alone[1]);
  }
  Add("late images", counts.late);
  Add("repeated images", counts.repeated);
  Add("clocks set back", counts.restarts);
  if (counts.pairs == before.pairs && counts.apart_ns > 0) {
    Warn(absl::StrFormat("%s and %s images make no pairs: their stamps are %.1f ms apart (camera.max_time_difference)",
                         first, second, static_cast<double>(counts.apart_ns) * 1e-6));
  }
  if (counts.restarts > before.restarts) Warn("the clock of the images was set back by over 1 s: they begin anew");
}

ros::DiagnosticStatus Diagnosis::Take() {
  if (status_.level == ros::DiagnosticStatus::kOk) status_.message = "images come";
  return std::move(status_);
}

}  // namespace glint::ros2
