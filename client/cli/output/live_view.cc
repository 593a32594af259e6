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

void AddViewFlags(Flags* flags, bool reopens, view::ViewAddresses* addresses) {
  flags->String("view", "HOST:PORT",
                absl::StrCat("Show what comes on a web page there, for example 127.0.0.1:8017. Without HOST only this "
                             "machine can see it; there is no password. The page can pause",
                             reopens ? ", and change threshold and features, which opens the stream again." : "."),
                &addresses->page);
  AddFoxgloveFlags(flags, addresses);
}

void AddFoxgloveFlags(Flags* flags, view::ViewAddresses* addresses) {
  flags->String("foxglove", "HOST:PORT",
                "Show what comes in Foxglove, which opens a connection (Foxglove WebSocket) to ws://HOST:PORT; its "
                "default is ws://localhost:8765. Without HOST only this machine can see it; there is no password.",
                &addresses->foxglove);
  flags->Parsed("foxglove-origin", "ORIGIN",
                "With --foxglove: also pages of this site may connect, for example https://app.foxglove.dev; may be "
                "repeated. Without it only programs may.",
                [addresses](absl::string_view origin) {
                  addresses->foxglove_origins.emplace_back(origin);
                  return absl::OkStatus();
                });
}

absl::StatusOr<LiveView> LiveView::Open(const std::string& command, const view::ViewAddresses& addresses,
                                        const std::string& title, const DetectorOptions* sliders) {
  LiveView live;
  if (addresses.empty()) return live;
  view::State state;
  state.title = title;
  if (sliders != nullptr) {
    state.threshold = ThresholdOf(*sliders);
    state.max_features = sliders->max_features;
  }
  GLINT_ASSIGN_OR_RETURN(live.view_, view::View::Start(addresses, state));
  if (const std::string url = live.view_->url(); !url.empty()) Complain(command, absl::StrCat("live view at ", url));
  if (const std::string url = live.view_->foxglove_url(); !url.empty()) {
    Complain(command, absl::StrCat("Foxglove at ", url));
  }
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
