// A web page that shows frames as they come, over HTTP and WebSocket, and the same for Foxglove, by its WebSocket
// protocol. Only the newest frame is sent, and only to pages that have drawn the one before, and to clients of Foxglove
// that have taken it, so neither a slow one nor none at all slows whoever shows frames. All are browsers here.
#ifndef GLINT_CLIENT_VIEW_VIEW_H_
#define GLINT_CLIENT_VIEW_VIEW_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/view/base/scene.h"
#include "client/view/message.h"

namespace glint::view {

// Pages, and as many clients of Foxglove. Where so many look, a further one takes the place of the browser that was
// silent longest, if one was for kPatience; or of one at an address that has more of them, so that no address keeps
// others out. Else it is told so and closed.
inline constexpr int kMaxBrowsers = 4;
// A page that has a frame and does not say that it has drawn it is silent; one that is hidden draws nothing. So is a
// client of Foxglove that has not taken all of a frame, or subscribes to nothing.
inline constexpr absl::Duration kPatience = absl::Seconds(30);

// Each as ParseAddress(); empty: nothing listens.
struct ViewAddresses {
  std::string page, foxglove;
  std::vector<std::string> foxglove_origins;  // of pages that may connect as Foxglove: "https://app.foxglove.dev"

  bool empty() const { return page.empty() && foxglove.empty(); }
};

// Thread-safe, apart from destruction.
class View {
 public:
  // `state` is where it begins. Errors of ParseAddress() and Listen().
  static absl::StatusOr<std::unique_ptr<View>> Start(const ViewAddresses& addresses, const State& state,
                                                     absl::Duration patience = kPatience);
  // Tells the browsers that it ends.
  ~View();
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  // "http://127.0.0.1:8017/"; empty: there is no page.
  std::string url() const;
  // "ws://127.0.0.1:8765"; likewise.
  std::string foxglove_url() const;

  // A browser waits for a frame; else Show() has no effect.
  bool wanted() const;
  // Some client of Foxglove shows Scene::map.
  bool wants_map() const;
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
