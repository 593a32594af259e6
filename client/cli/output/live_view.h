// --view and --foxglove: answers on a page or in Foxglove, pausing, and sliders.
#ifndef GLINT_CLIENT_CLI_OUTPUT_LIVE_VIEW_H_
#define GLINT_CLIENT_CLI_OUTPUT_LIVE_VIEW_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/base/flags.h"
#include "client/view/view.h"
#include "features/options.h"

namespace glint::cli {

// `reopens`: the sliders change the stream.
void AddViewFlags(Flags* flags, bool reopens, view::ViewAddresses* addresses);
// Those for Foxglove alone.
void AddFoxgloveFlags(Flags* flags, view::ViewAddresses* addresses);

// Of a command that may have no view: then nothing is wanted, and nobody pauses. Show() by one thread and Next() by
// another at the same time.
class LiveView {
 public:
  // Nothing listens if there are no addresses; otherwise they are said on standard error. `sliders`: whose threshold
  // and number of features can be changed; null: there are none. Errors of View::Start().
  static absl::StatusOr<LiveView> Open(const std::string& command, const view::ViewAddresses& addresses,
                                       const std::string& title, const DetectorOptions* sliders);

  // Whether somebody shows Scene::map.
  bool wants_map() const { return view_ != nullptr && view_->wants_map(); }
  // Whether Show() has an effect: a browser has drawn the last frame.
  bool wanted() const { return view_ != nullptr && view_->wanted(); }
  void Show(view::Scene scene) { view_->Show(std::move(scene)); }
  void SetNotice(const std::string& notice) { view_->SetNotice(notice); }

  bool paused() const { return view_ != nullptr && view_->paused(); }
  // Until browsers want frames again or an interrupt.
  void WaitWhilePaused() const;
  // Whether sliders were moved from where `options` are; changes them. Values that contradict other options move back.
  bool TakeSliders(DetectorOptions* options);
  // Moves the sliders to where `options` are.
  void PutSliders(const DetectorOptions& options);
  // Before each frame: waits while paused, but not longer than until a slider is moved. True: `options` are new, and
  // the stream must be opened again.
  bool Next(DetectorOptions* options);

 private:
  std::unique_ptr<view::View> view_;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_LIVE_VIEW_H_
