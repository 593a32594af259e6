// Who looks: WebSockets of the page and of Foxglove, in bounded numbers. Each gets the newest frame alone, once it has
// dealt with the one before.
#ifndef GLINT_CLIENT_VIEW_AUDIENCE_H_
#define GLINT_CLIENT_VIEW_AUDIENCE_H_

#include <algorithm>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "client/view/base/scene.h"
#include "client/view/base/server.h"
#include "client/view/foxglove/session.h"
#include "client/view/message.h"
#include "features/steady_time.h"

namespace glint::view {

// Thread-safe, apart from destruction, before which every Serve() has returned.
class Audience {
 public:
  // Limits are those of View.
  Audience(const State& state, absl::Duration patience);
  ~Audience();
  Audience(const Audience&) = delete;
  Audience& operator=(const Audience&) = delete;

  // Speaks with one whose WebSocket is open, until it closes. `is_page`: else Foxglove.
  void Serve(Guest* guest, bool is_page);
  // Tells all that it ends; waits a second for who is slow.
  void SayGoodbye();

  bool wanted() const;
  bool wants_map() const;
  void Show(Scene scene);
  State state() const;
  void SetNotice(const std::string& notice);
  void SetSliders(std::optional<int> threshold, std::optional<int> max_features);

  // One scene as bytes, made once for all.
  struct Shown {
    std::string page;
    FoxgloveMessages foxglove;                    // but for the map
    std::shared_ptr<const FoxgloveMessages> map;  // null: as it was
  };

 private:
  // Its thread writes; everything but the connection is guarded by the mutex.
  struct Browser {
    Browser(Guest* guest, bool has_page) : connection(&guest->connection), peer(guest->peer), is_page(has_page) {}

    Connection* const connection;
    const std::string peer;
    const bool is_page;
    FoxgloveSession foxglove;                     // unless it is a page
    absl::Time heard = SteadyNow();               // when it last said something, or began or ended to take a frame
    std::shared_ptr<const Shown> frame;           // the newest that it has not got
    std::shared_ptr<const FoxgloveMessages> map;  // likewise: it goes with any frame
    bool ready = true;                            // page: has drawn what it got; Foxglove: all is sent
    bool state_due = true;
    std::string notice;  // that Foxglove got last
    bool ending = false;
    bool displaced = false;     // it is ending because another one has its place
    bool said_goodbye = false;  // nothing more is sent
    std::condition_variable wake;
    std::thread sender;

    bool WantsFrame() const { return ready && !ending && (is_page || foxglove.channels() != 0); }
  };
  using Lock = std::unique_lock<std::mutex>;

  // Makes bytes of the newest frame, once for all browsers.
  void Publish();
  void Send(Browser* browser);
  void Take(const Request& request, Browser* browser);
  // What the client is told, or nothing.
  std::string Take(const FoxgloveOperation& operation, Browser* browser);
  // Until the browser closes. False: it sends what no page does.
  bool TakeRequests(Browser* browser);
  // Until the client closes. It is told what is wrong with what it says.
  bool TakeOperations(Browser* browser);

  // All below are called with the mutex held.
  bool AnyWantsFrame() const {
    return std::any_of(browsers_.begin(), browsers_.end(), [](const Browser& browser) { return browser.WantsFrame(); });
  }
  void StateChanged();
  void BecomeReady(Browser* browser);
  // These two give the mutex up while they send. False: the browser has gone.
  bool SendState(Browser* browser, Lock* lock);
  bool SendFrame(Browser* browser, Lock* lock);
  // Ends the browser whose place a further one of `peer` may have: pages and clients of Foxglove have places of their
  // own. False: there is none.
  bool MakeRoomForBrowser(const std::string& peer, bool is_page);

  const absl::Duration patience_;
  std::thread publisher_;

  mutable std::mutex mutex_;  // guards all below; not held while bytes are made or sent
  std::condition_variable wake_publisher_, goodbyes_;
  State state_;
  bool ending_ = false;
  std::optional<Scene> newest_;        // not yet bytes
  std::shared_ptr<const Shown> last_;  // for pages that come later
  std::list<Browser> browsers_;
};

}  // namespace glint::view

#endif  // GLINT_CLIENT_VIEW_AUDIENCE_H_
