#include "client/view/audience.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/view/view.h"

namespace glint::view {
namespace {

constexpr size_t kMaxPageText = 125;   // bytes of what a page says
constexpr int kMaxUnsent = 128 << 10;  // bytes that wait for a Foxglove
constexpr std::chrono::seconds kGoodbye(1);
// WebSocket's codes of closing (RFC 6455, 7.4).
constexpr uint16_t kGoingAway = 1001, kPolicy = 1008, kTryAgainLater = 1013;

std::shared_ptr<const Audience::Shown> Encode(Scene scene, bool for_page, Channels channels) {
  std::optional<EncodedPicture> made;
  const auto picture = [&]() -> const EncodedPicture& {
    if (!made.has_value()) made = scene.picture ? scene.picture() : EncodedPicture();
    return *made;
  };
  auto shown = std::make_shared<Audience::Shown>();
  if (for_page) shown->page = EncodeScene(scene, picture());
  const absl::Time now = absl::Now();
  const auto encode = [&](Channels some) { return EncodeForFoxglove(scene, some, now, picture); };
  if (channels != 0) shown->foxglove = encode(channels & ~Of(kMapChannel));
  if (scene.map != nullptr && (channels & Of(kMapChannel)) != 0) {
    shown->map = std::make_shared<const FoxgloveMessages>(encode(Of(kMapChannel)));
  }
  return shown;
}

}  // namespace

Audience::Audience(const State& state, absl::Duration patience) : patience_(patience), state_(state) {
  publisher_ = std::thread([this] { Publish(); });
}

Audience::~Audience() {
  SayGoodbye();
  publisher_.join();
}

void Audience::SayGoodbye() {
  Lock lock(mutex_);
  ending_ = true;
  wake_publisher_.notify_one();
  for (Browser& browser : browsers_) {
    browser.ending = true;
    browser.wake.notify_one();
  }
  goodbyes_.wait_for(lock, kGoodbye, [this] {
    return std::all_of(browsers_.begin(), browsers_.end(), [](const Browser& b) { return b.said_goodbye; });
  });
}

bool Audience::wanted() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return AnyWantsFrame();
}

bool Audience::wants_map() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(browsers_.begin(), browsers_.end(),
                     [](const Browser& browser) { return (browser.foxglove.channels() & Of(kMapChannel)) != 0; });
}

void Audience::Show(Scene scene) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!AnyWantsFrame()) return;
  if (scene.map == nullptr && newest_.has_value()) scene.map = newest_->map;
  newest_ = std::move(scene);
  wake_publisher_.notify_one();
}

State Audience::state() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return state_;
}

void Audience::SetNotice(const std::string& notice) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (state_.notice == notice) return;
  state_.notice = notice;
  StateChanged();
}

void Audience::SetSliders(std::optional<int> threshold, std::optional<int> max_features) {
  const std::lock_guard<std::mutex> lock(mutex_);
  state_.threshold = threshold;
  state_.max_features = max_features;
  StateChanged();
}

void Audience::StateChanged() {
  for (Browser& browser : browsers_) {
    browser.state_due = true;
    browser.wake.notify_one();
  }
}

void Audience::Publish() {
  Lock lock(mutex_);
  while (true) {
    wake_publisher_.wait(lock, [this] { return ending_ || (newest_.has_value() && AnyWantsFrame()); });
    if (ending_) return;
    Scene scene = std::move(*newest_);
    newest_.reset();
    bool for_page = false;
    Channels channels = 0;
    for (const Browser& browser : browsers_) {
      for_page |= browser.is_page;
      channels |= browser.foxglove.channels();
    }
    lock.unlock();
    const auto shown = Encode(std::move(scene), for_page, channels);
    lock.lock();
    if (for_page) last_ = shown;
    for (Browser& browser : browsers_) {
      if (browser.is_page ? !for_page : browser.foxglove.channels() == 0) continue;
      browser.frame = shown;
      if (shown->map != nullptr) browser.map = shown->map;
      browser.wake.notify_one();
    }
  }
}

bool Audience::SendState(Browser* browser, Lock* lock) {
  browser->state_due = false;
  const State now = state_;
  const FoxgloveSubscriptions subscriptions = browser->foxglove.subscriptions();
  const bool news = subscriptions[kLogChannel].has_value() && browser->notice != now.notice;
  if (news) browser->notice = now.notice;
  lock->unlock();
  bool open = true;
  if (browser->is_page) {
    open = browser->connection->WriteFrame(kTextFrame, EncodeState(now));
  } else if (news && !now.notice.empty()) {
    open = view::Send(EncodeNotice(now.notice, absl::Now()), subscriptions, browser->connection);
  }
  lock->lock();
  return open;
}

bool Audience::SendFrame(Browser* browser, Lock* lock) {
  const auto frame = std::exchange(browser->frame, nullptr);
  const auto map = std::exchange(browser->map, nullptr);
  const FoxgloveSubscriptions subscriptions = browser->foxglove.subscriptions();
  browser->ready = false;
  browser->heard = SteadyNow();
  lock->unlock();
  bool open = true;
  if (browser->is_page) {
    open = browser->connection->WriteFrame(kBinaryFrame, frame->page);
  } else {
    open = view::Send(frame->foxglove, subscriptions, browser->connection) &&
           (map == nullptr || view::Send(*map, subscriptions, browser->connection));
  }
  lock->lock();
  if (!browser->is_page) BecomeReady(browser);
  return open;
}

void Audience::BecomeReady(Browser* browser) {
  browser->heard = SteadyNow();
  browser->ready = true;
  browser->wake.notify_one();
  wake_publisher_.notify_one();
}

void Audience::Send(Browser* browser) {
  bool open = true;
  if (!browser->is_page) {
    browser->connection->LimitUnsent(kMaxUnsent);
    open = browser->connection->WriteFrame(kTextFrame, ServerInfo(state().title)) &&
           browser->connection->WriteFrame(kTextFrame, Advertisement());
  }
  Lock lock(mutex_);
  while (open) {
    browser->wake.wait(lock, [browser] {
      return browser->ending || browser->state_due || (browser->ready && browser->frame != nullptr);
    });
    if (browser->ending) break;
    open = browser->state_due ? SendState(browser, &lock) : SendFrame(browser, &lock);
  }
  browser->ending = true;
  if (open && (ending_ || browser->displaced)) {
    const bool at_end = ending_;
    lock.unlock();
    browser->connection->WriteClose(
        at_end ? kGoingAway : kTryAgainLater,
        at_end ? "glint has ended"
               : absl::StrCat("another ", browser->is_page ? "page" : "client", " has the place of this one"));
    lock.lock();
  }
  if (!open || browser->displaced) browser->connection->End();
  browser->said_goodbye = true;
  goodbyes_.notify_one();
}

void Audience::Take(const Request& request, Browser* browser) {
  const std::lock_guard<std::mutex> lock(mutex_);
  browser->heard = SteadyNow();
  switch (request.kind) {
    case Request::kReady:
      BecomeReady(browser);
      return;
    case Request::kPause:
    case Request::kResume:
      state_.paused = request.kind == Request::kPause;
      break;
    case Request::kThreshold:
      if (state_.threshold.has_value()) state_.threshold = request.value;
      break;
    case Request::kFeatures:
      if (state_.max_features.has_value()) state_.max_features = request.value;
      break;
  }
  StateChanged();
}

std::string Audience::Take(const FoxgloveOperation& operation, Browser* browser) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string told = browser->foxglove.Take(operation);
  browser->heard = SteadyNow();
  browser->state_due = true;  // the log may have been subscribed
  browser->wake.notify_one();
  wake_publisher_.notify_one();
  return told;
}

bool Audience::MakeRoomForBrowser(const std::string& peer, bool is_page) {
  std::map<std::string, int> held;
  int open = 0;
  for (const Browser& browser : browsers_) {
    if (browser.ending || browser.is_page != is_page) continue;
    ++held[browser.peer];
    ++open;
  }
  if (open < kMaxBrowsers) return true;
  Browser* last = nullptr;
  for (Browser& browser : browsers_) {
    const bool silent = !browser.WantsFrame() && SteadyNow() - browser.heard >= patience_;
    if (browser.ending || browser.is_page != is_page || (!silent && held[browser.peer] <= held[peer] + 1)) continue;
    const auto before = [&](const Browser& b) { return std::pair(-held[b.peer], b.heard); };
    if (last == nullptr || before(browser) < before(*last)) last = &browser;
  }
  if (last == nullptr) return false;
  last->ending = last->displaced = true;
  last->wake.notify_one();
  return true;
}

void Audience::Serve(Guest* guest, bool is_page) {
  Connection* const connection = &guest->connection;
  Lock lock(mutex_);
  if (ending_ || !MakeRoomForBrowser(guest->peer, is_page)) {
    lock.unlock();
    connection->WriteClose(kTryAgainLater, absl::StrCat("already ", kMaxBrowsers, is_page ? " pages" : " clients",
                                                        " look; close one of them"));
    return;
  }
  guest->stays = true;
  Browser* browser = &browsers_.emplace_back(guest, is_page);
  if (is_page) browser->frame = last_;
  browser->sender = std::thread([this, browser] { Send(browser); });
  wake_publisher_.notify_one();
  lock.unlock();

  if (!(is_page ? TakeRequests(browser) : TakeOperations(browser))) connection->WriteClose(kPolicy, "no such request");

  lock.lock();
  browser->ending = true;
  browser->wake.notify_one();
  lock.unlock();
  browser->sender.join();
  lock.lock();
  browsers_.remove_if([browser](const Browser& other) { return &other == browser; });
  goodbyes_.notify_one();
}

bool Audience::TakeRequests(Browser* browser) {
  while (const auto frame = browser->connection->ReadMessage(kMaxPageText)) {
    const auto request = frame->opcode == kTextFrame ? ParseRequest(frame->data) : std::nullopt;
    if (!request.has_value()) return false;
    Take(*request, browser);
  }
  return true;
}

bool Audience::TakeOperations(Browser* browser) {
  while (const auto frame = browser->connection->ReadMessage(kMaxOperationBytes)) {
    const auto operation = frame->opcode == kTextFrame ? ParseFoxgloveOperation(frame->data) : std::nullopt;
    const std::string told = operation.has_value()
                                 ? Take(*operation, browser)
                                 : StatusOp("this is no operation in JSON; clients cannot publish here", true);
    if (!told.empty() && !browser->connection->WriteFrame(kTextFrame, told)) break;
  }
  return true;
}

}  // namespace glint::view
