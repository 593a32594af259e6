#include "client/cli/output/live_view.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/base/command.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(20);

// FAST's threshold alone; the selection by quadtree has two others.
std::optional<int> ThresholdOf(const DetectorOptions& options) {
  const bool one = options.corner_test == CornerTest::kFast && options.selection != Selection::kQuadtree;
  return one ? std::optional<int>(options.fast_threshold) : std::nullopt;
}

}  // namespace

void AddViewFlag(Flags* flags, bool reopens, std::string* listen) {
  flags->String("view", "HOST:PORT",
                absl::StrCat("Show what comes on a web page there, for example 127.0.0.1:8017. Without HOST only this "
                             "machine can see it; there is no password. The page can pause",
                             reopens ? ", and change threshold and features, which opens the stream again." : "."),
                listen);
}

absl::StatusOr<LiveView> LiveView::Open(const std::string& command, const std::string& listen, const std::string& title,
                                        const DetectorOptions* sliders) {
  LiveView live;
  if (listen.empty()) return live;
  view::State state;
  state.title = title;
  if (sliders != nullptr) {
    state.threshold = ThresholdOf(*sliders);
    state.max_features = sliders->max_features;
  }
  GLINT_ASSIGN_OR_RETURN(auto view, view::View::Start(listen, state));
  live.view_ = std::move(view);
  Complain(command, absl::StrCat("live view at ", live.view_->url()));
  return live;
}

void LiveView::WaitWhilePaused() const {
  while (paused() && !Interrupted()) absl::SleepFor(kPoll);
}

bool LiveView::TakeSliders(DetectorOptions* options) {
  if (view_ == nullptr) return false;
  DetectorOptions wanted = *options;
  wanted.fast_threshold = view_->threshold().value_or(wanted.fast_threshold);
  wanted.max_features = view_->max_features().value_or(wanted.max_features);
  if (wanted == *options) return false;
  if (const absl::Status status = ValidateOptions(wanted); !status.ok()) {
    SetNotice(std::string(status.message()));
    PutSliders(*options);
    return false;
  }
  *options = wanted;
  return true;
}

void LiveView::PutSliders(const DetectorOptions& options) {
  view_->SetSliders(ThresholdOf(options), options.max_features);
}

bool LiveView::Next(DetectorOptions* options) {
  while (true) {
    if (TakeSliders(options)) return true;
    if (!paused() || Interrupted()) return false;
    absl::SleepFor(kPoll);
  }
}

}  // namespace glint::cli
