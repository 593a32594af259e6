// A web page that shows frames as they come, over HTTP and WebSocket. Only the newest frame is sent, and only to
// browsers that have drawn the one before, so neither a slow browser nor none at all slows whoever shows frames.
#ifndef GLINT_CLIENT_VIEW_VIEW_H_
#define GLINT_CLIENT_VIEW_VIEW_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/view/message.h"
#include "client/view/scene.h"

namespace glint::view {

// Where so many look, a further one takes the place of the browser that was silent longest, if one was for kPatience;
// or of one at an address that has more of them, so that no address keeps others out. Else it is told so and closed.
inline constexpr int kMaxBrowsers = 4;
// A browser that has a frame and does not say that it has drawn it is silent. One that is hidden draws nothing.
inline constexpr absl::Duration kPatience = absl::Seconds(30);

// Thread-safe, apart from destruction.
class View {
 public:
  // `listen`: as ParseAddress(). `state` is where it begins. Errors of ParseAddress() and Listen().
  static absl::StatusOr<std::unique_ptr<View>> Start(const std::string& listen, const State& state,
                                                     absl::Duration patience = kPatience);
  // Tells the browsers that it ends.
  ~View();
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  // "http://127.0.0.1:8017/"
  const std::string& url() const;

  // A browser waits for a frame; else Show() has no effect.
  bool wanted() const;
  // Replaces a frame that no browser has got yet. Does not wait.
  void Show(Scene scene);

  // What is wrong; empty: nothing.
  void SetNotice(const std::string& notice);
  // Where the sliders are, when what browsers asked for cannot be had.
  void SetSliders(std::optional<int> threshold, std::optional<int> max_features);

  // As browsers want it.
  bool paused() const;
  std::optional<int> threshold() const;
  std::optional<int> max_features() const;

  struct Impl;

 private:
  explicit View(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace glint::view

#endif  // GLINT_CLIENT_VIEW_VIEW_H_
