#include "client/view/view.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/view/address.h"
#include "client/view/connection.h"
#include "client/view/page.h"
#include "features/status_macros.h"
#include "features/steady_time.h"

namespace glint::view {
namespace {

constexpr char kSocketPath[] = "/frames";
// Browsers' sockets, and some for the page's files. For one more, the connection that was silent longest is ended, of
// the address that has most.
constexpr size_t kMaxConnections = kMaxBrowsers + 12;
constexpr std::chrono::seconds kGoodbye(1);
constexpr std::chrono::milliseconds kAcceptAgain(50);
// WebSocket's codes of closing (RFC 6455, 7.4).
constexpr uint16_t kGoingAway = 1001, kPolicy = 1008, kTryAgainLater = 1013;
// Nothing from elsewhere, nothing inline, and no frame around it.
constexpr char kSecurityHeaders[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\n";
constexpr char kPlainText[] = "text/plain; charset=utf-8";

void SendClose(Connection* connection, uint16_t code, const std::string& reason) {
  const std::string data = {static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
  connection->WriteFrame(kCloseFrame, data + reason);
}

void Answer(Connection* connection, const char* status, absl::string_view type, absl::string_view body) {
  connection->Write(absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Type: ", type, "\r\nContent-Length: ", body.size(),
                                 "\r\nConnection: close\r\n", kSecurityHeaders, "\r\n", body));
}

// The other end of a connection: the part of its address that a host cannot choose, in binary.
std::string PeerOf(const sockaddr_storage& from) {
  constexpr char kLoopbackNetwork = 127;
  constexpr size_t kIpv4 = 4, kNetwork = 8;  // bytes; the latter of IPv6
  std::string bytes(reinterpret_cast<const char*>(&reinterpret_cast<const sockaddr_in&>(from).sin_addr), kIpv4);
  if (from.ss_family == AF_INET6) {
    const in6_addr& address = reinterpret_cast<const sockaddr_in6&>(from).sin6_addr;
    bytes.assign(reinterpret_cast<const char*>(address.s6_addr), sizeof(address));
    if (IN6_IS_ADDR_LOOPBACK(&address)) return std::string(1, kLoopbackNetwork);
    bytes = IN6_IS_ADDR_V4MAPPED(&address) ? bytes.substr(bytes.size() - kIpv4) : bytes.substr(0, kNetwork);
  }
  return bytes.size() == kIpv4 && bytes[0] == kLoopbackNetwork ? std::string(1, kLoopbackNetwork) : bytes;
}

// One WebSocket. Its thread writes; everything but the connection is guarded by the view's mutex.
struct Browser {
  Browser(Connection* c, std::string from) : connection(c), peer(std::move(from)) {}

  Connection* const connection;
  const std::string peer;
  absl::Time heard = SteadyNow();            // when it last had nothing to say
  std::shared_ptr<const std::string> frame;  // the newest that it has not got
  bool ready = true;                         // has drawn what it got
  bool state_due = true;
  bool ending = false;
  bool displaced = false;     // it is ending because another one has its place
  bool said_goodbye = false;  // nothing more is sent
  std::condition_variable wake;
  std::thread sender;
};

// A connection and its thread.
struct Served {
  Served(int socket, std::string from) : connection(socket), peer(std::move(from)) {}

  Connection connection;
  const std::string peer;  // PeerOf()
  std::atomic<bool> is_browser{false};
  bool ended = false;  // for another one; used by the acceptor
  std::atomic<bool> done{false};
  std::thread thread;
};

}  // namespace

struct View::Impl {
  Address address;
  std::string url;
  int socket = -1;
  std::thread publisher, acceptor;
  absl::Duration patience = kPatience;
  std::list<Served> served;  // of the acceptor, and after its end of the destructor

  mutable std::mutex mutex;  // guards all below; not held while bytes are made or sent
  std::condition_variable wake_publisher, goodbyes;
  State state;
  bool ending = false;
  std::optional<Scene> newest;              // not yet bytes
  std::shared_ptr<const std::string> last;  // for browsers that come later
  std::list<Browser> browsers;

  bool AnyReady() const {
    return std::any_of(browsers.begin(), browsers.end(),
                       [](const Browser& browser) { return browser.ready && !browser.ending; });
  }

  // Called with the mutex held.
  void StateChanged() {
    for (Browser& browser : browsers) {
      browser.state_due = true;
      browser.wake.notify_one();
    }
  }

  // Makes bytes of the newest frame, once for all browsers.
  void Publish() {
    std::unique_lock<std::mutex> lock(mutex);
    while (true) {
      wake_publisher.wait(lock, [this] { return ending || (newest.has_value() && AnyReady()); });
      if (ending) return;
      const Scene scene = std::move(*newest);
      newest.reset();
      lock.unlock();
      auto bytes = std::make_shared<const std::string>(EncodeScene(scene));
      lock.lock();
      last = bytes;
      for (Browser& browser : browsers) {
        browser.frame = bytes;
        browser.wake.notify_one();
      }
    }
  }

  void Send(Browser* browser) {
    std::unique_lock<std::mutex> lock(mutex);
    bool open = true;
    while (open) {
      browser->wake.wait(lock, [browser] {
        return browser->ending || browser->state_due || (browser->ready && browser->frame != nullptr);
      });
      if (browser->ending) break;
      std::string text;
      std::shared_ptr<const std::string> bytes;
      if (browser->state_due) {
        text = EncodeState(state);
        browser->state_due = false;
      } else {
        bytes = std::exchange(browser->frame, nullptr);
        browser->ready = false;
        browser->heard = SteadyNow();
      }
      lock.unlock();
      open = bytes == nullptr ? browser->connection->WriteFrame(kTextFrame, text)
                              : browser->connection->WriteFrame(kBinaryFrame, *bytes);
      lock.lock();
    }
    browser->ending = true;
    if (open && (ending || browser->displaced)) {
      const bool at_end = ending;
      lock.unlock();
      SendClose(browser->connection, at_end ? kGoingAway : kTryAgainLater,
                at_end ? "glint has ended" : "another page has the place of this one");
      lock.lock();
    }
    if (!open || browser->displaced) browser->connection->End();
    browser->said_goodbye = true;
    goodbyes.notify_one();
  }

  bool AllSaidGoodbye() const {
    return std::all_of(browsers.begin(), browsers.end(), [](const Browser& browser) { return browser.said_goodbye; });
  }

  void Take(const Request& request, Browser* browser) {
    const std::lock_guard<std::mutex> lock(mutex);
    browser->heard = SteadyNow();
    switch (request.kind) {
      case Request::kReady:
        browser->ready = true;
        browser->wake.notify_one();
        wake_publisher.notify_one();
        return;
      case Request::kPause:
      case Request::kResume:
        state.paused = request.kind == Request::kPause;
        break;
      case Request::kThreshold:
        if (state.threshold.has_value()) state.threshold = request.value;
        break;
      case Request::kFeatures:
        if (state.max_features.has_value()) state.max_features = request.value;
        break;
    }
    StateChanged();
  }

  // Takes connections, each to a thread of its own.
  void Accept() {
    while (true) {
      sockaddr_storage from = {};
      socklen_t length = sizeof(from);
      const int accepted = accept4(socket, reinterpret_cast<sockaddr*>(&from), &length, SOCK_CLOEXEC);
      served.remove_if([](Served& one) {
        if (one.done) one.thread.join();
        return one.done.load();
      });
      {
        const std::lock_guard<std::mutex> lock(mutex);
        if (ending) {
          if (accepted >= 0) close(accepted);
          return;
        }
      }
      if (accepted < 0) {
        std::this_thread::sleep_for(kAcceptAgain);  // no descriptors are left, for example
      } else if (!MakeRoom()) {
        close(accepted);
      } else {
        Served* one = &served.emplace_back(accepted, PeerOf(from));
        one->thread = std::thread([this, one] {
          Serve(one);
          one->connection.End();
          one->done = true;
        });
      }
    }
  }

  // Ends the connection whose place a further one may have. False: there is none.
  bool MakeRoom() {
    std::map<std::string, int> held;
    size_t open = 0;
    for (const Served& one : served) {
      if (one.ended) continue;
      ++open;
      if (!one.is_browser) ++held[one.peer];
    }
    if (open < kMaxConnections) return true;
    Served* last = nullptr;  // the first of these is the oldest
    for (Served& one : served) {
      if (!one.ended && !one.is_browser && (last == nullptr || held[one.peer] > held[last->peer])) last = &one;
    }
    if (last == nullptr) return false;
    last->ended = true;
    last->connection.End();
    if (served.size() < 2 * kMaxConnections) return true;
    // Connections come faster than threads of ended ones get processors: waits for one, which has nothing left to do.
    const auto oldest = std::find_if(served.begin(), served.end(), [](const Served& one) { return one.ended; });
    oldest->thread.join();
    served.erase(oldest);
    return true;
  }

  void Serve(Served* one) {
    Connection* const connection = &one->connection;
    const std::optional<HttpRequest> request = connection->ReadRequest();
    if (!request.has_value()) return;
    const std::string host = request->header("host"), key = request->header("sec-websocket-key");
    const PageFile* file = FindPageFile(request->path);
    const bool is_socket = request->path == kSocketPath;
    if (!IsAllowedHost(address, host) || (is_socket && !IsAllowedOrigin(request->header("origin"), host))) {
      Answer(connection, "403 Forbidden", kPlainText,
             "This view answers to numeric addresses, to localhost and to the name that --view has.\n");
    } else if (request->method != "GET") {
      Answer(connection, "405 Method Not Allowed", kPlainText, "GET alone.\n");
    } else if (file != nullptr) {
      Answer(connection, "200 OK", file->type, file->text);
    } else if (!is_socket) {
      Answer(connection, "404 Not Found", kPlainText, "The page is at /.\n");
    } else if (key.empty()) {
      Answer(connection, "400 Bad Request", kPlainText, "A WebSocket alone.\n");
    } else if (connection->Write(absl::StrCat("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                                              "Connection: Upgrade\r\nSec-WebSocket-Accept: ",
                                              AcceptKey(key), "\r\n\r\n"))) {
      ServeBrowser(one);
    }
  }

  // Ends the browser whose place a further one of `peer` may have. False: there is none. Called with the mutex held.
  bool MakeRoomForBrowser(const std::string& peer) {
    std::map<std::string, int> held;
    int open = 0;
    for (const Browser& browser : browsers) {
      if (browser.ending) continue;
      ++held[browser.peer];
      ++open;
    }
    if (open < kMaxBrowsers) return true;
    Browser* last = nullptr;
    for (Browser& browser : browsers) {
      const bool silent = !browser.ready && SteadyNow() - browser.heard >= patience;
      if (browser.ending || (!silent && held[browser.peer] <= held[peer] + 1)) continue;
      const auto before = [&](const Browser& b) { return std::pair(-held[b.peer], b.heard); };
      if (last == nullptr || before(browser) < before(*last)) last = &browser;
    }
    if (last == nullptr) return false;
    last->ending = last->displaced = true;
    last->wake.notify_one();
    return true;
  }

  void ServeBrowser(Served* one) {
    Connection* const connection = &one->connection;
    std::unique_lock<std::mutex> lock(mutex);
    if (ending || !MakeRoomForBrowser(one->peer)) {
      lock.unlock();
      SendClose(connection, kTryAgainLater, absl::StrCat("already ", kMaxBrowsers, " pages look; close one of them"));
      return;
    }
    one->is_browser = true;
    Browser* browser = &browsers.emplace_back(connection, one->peer);
    browser->frame = last;
    browser->sender = std::thread([this, browser] { Send(browser); });
    wake_publisher.notify_one();
    lock.unlock();

    if (!TakeRequests(browser)) SendClose(connection, kPolicy, "no such request");

    lock.lock();
    browser->ending = true;
    browser->wake.notify_one();
    lock.unlock();
    browser->sender.join();
    lock.lock();
    browsers.remove_if([browser](const Browser& other) { return &other == browser; });
    goodbyes.notify_one();
  }

  // Until the browser closes. False: it sends what no page does.
  bool TakeRequests(Browser* browser) {
    while (const std::optional<WebSocketFrame> frame = browser->connection->ReadFrame()) {
      if (frame->opcode == kCloseFrame) return true;
      if (frame->opcode == kPongFrame) continue;
      if (frame->opcode == kPingFrame) {
        browser->connection->WriteFrame(kPongFrame, frame->data);
        continue;
      }
      const auto request = frame->opcode == kTextFrame ? ParseRequest(frame->data) : std::nullopt;
      if (!request.has_value()) return false;
      Take(*request, browser);
    }
    return true;
  }
};

absl::StatusOr<std::unique_ptr<View>> View::Start(const std::string& listen, const State& state,
                                                  absl::Duration patience) {
  GLINT_ASSIGN_OR_RETURN(auto address, ParseAddress(listen));
  GLINT_ASSIGN_OR_RETURN(auto socket, Listen(&address));

  auto impl = std::make_unique<Impl>();
  impl->state = state;
  impl->patience = patience;
  impl->address = std::move(address);
  impl->socket = socket;
  impl->url = absl::StrCat("http://", impl->address.text(), "/");
  impl->publisher = std::thread([view = impl.get()] { view->Publish(); });
  impl->acceptor = std::thread([view = impl.get()] { view->Accept(); });
  return std::unique_ptr<View>(new View(std::move(impl)));
}

View::View(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

View::~View() {
  {
    std::unique_lock<std::mutex> lock(impl_->mutex);
    impl_->ending = true;
    impl_->wake_publisher.notify_one();
    for (Browser& browser : impl_->browsers) {
      browser.ending = true;
      browser.wake.notify_one();
    }
    impl_->goodbyes.wait_for(lock, kGoodbye, [this] { return impl_->AllSaidGoodbye(); });
  }
  shutdown(impl_->socket, SHUT_RDWR);  // ends accept4()
  impl_->publisher.join();
  impl_->acceptor.join();
  for (Served& one : impl_->served) {
    one.connection.End();
    one.thread.join();
  }
  close(impl_->socket);
}

const std::string& View::url() const { return impl_->url; }

bool View::wanted() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->AnyReady();
}

void View::Show(Scene scene) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  if (!impl_->AnyReady()) return;
  impl_->newest = std::move(scene);
  impl_->wake_publisher.notify_one();
}

void View::SetNotice(const std::string& notice) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  if (impl_->state.notice == notice) return;
  impl_->state.notice = notice;
  impl_->StateChanged();
}

void View::SetSliders(std::optional<int> threshold, std::optional<int> max_features) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->state.threshold = threshold;
  impl_->state.max_features = max_features;
  impl_->StateChanged();
}

bool View::paused() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->state.paused;
}

std::optional<int> View::threshold() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->state.threshold;
}

std::optional<int> View::max_features() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->state.max_features;
}

}  // namespace glint::view
