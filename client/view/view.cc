#include "client/view/view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/view/audience.h"
#include "client/view/base/server.h"
#include "client/view/page.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::view {
namespace {

constexpr char kSocketPath[] = "/frames";
// Browsers' sockets, and some for the page's files.
constexpr size_t kMaxConnections = kMaxBrowsers + 12;

}  // namespace

struct View::Impl {
  Impl(const State& state, absl::Duration patience, std::vector<std::string> foxglove_origins)
      : origins(std::move(foxglove_origins)), audience(state, patience) {}

  void ServePage(const HttpRequest& request, Guest* guest) {
    Connection* const connection = &guest->connection;
    const PageFile* file = FindPageFile(request.path);
    const bool is_socket = request.path == kSocketPath;
    if (is_socket && !IsAllowedOrigin(request.header("origin"), request.header("host"))) {
      Answer(connection, "403 Forbidden", kPlainText, "The page alone may open a WebSocket.\n");
    } else if (request.method != "GET") {
      Answer(connection, "405 Method Not Allowed", kPlainText, "GET alone.\n");
    } else if (file != nullptr) {
      Answer(connection, "200 OK", file->type, file->text);
    } else if (!is_socket) {
      Answer(connection, "404 Not Found", kPlainText, "The page is at /.\n");
    } else if (!AsksForWebSocket(request)) {
      Answer(connection, "400 Bad Request", kPlainText, "A WebSocket alone.\n");
    } else if (connection->Upgrade(request, "")) {
      audience.Serve(guest, /*is_page=*/true);
    }
  }

  void ServeFoxglove(const HttpRequest& request, Guest* guest) {
    Connection* const connection = &guest->connection;
    const std::string origin = request.header("origin");
    const std::string protocol = ChooseFoxgloveProtocol(request.header("sec-websocket-protocol"));
    if (!IsAllowedOrigin(origin, request.header("host")) &&
        std::find(origins.begin(), origins.end(), origin) == origins.end()) {
      Answer(connection, "403 Forbidden", kPlainText,
             absl::StrCat("Pages of other sites only with --foxglove-origin ", Echo(origin), "\n"));
    } else if (!AsksForWebSocket(request) || protocol.empty()) {
      Answer(connection, "400 Bad Request", kPlainText,
             "A WebSocket alone, with subprotocol foxglove.sdk.v1 or foxglove.websocket.v1.\n");
    } else if (connection->Upgrade(request, protocol)) {
      audience.Serve(guest, /*is_page=*/false);
    }
  }

  const std::vector<std::string> origins;
  Audience audience;
  std::unique_ptr<Server> page, foxglove;  // last: their threads use the others
};

absl::StatusOr<std::unique_ptr<View>> View::Start(const ViewAddresses& addresses, const State& state,
                                                  absl::Duration patience) {
  std::optional<Address> page, foxglove;
  if (!addresses.page.empty()) {
    GLINT_ASSIGN_OR_RETURN(page, ParseAddress("--view", addresses.page));
  }
  if (!addresses.foxglove.empty()) {
    GLINT_ASSIGN_OR_RETURN(foxglove, ParseAddress("--foxglove", addresses.foxglove));
  }
  auto impl = std::make_unique<Impl>(state, patience, addresses.foxglove_origins);
  Impl* const view = impl.get();
  if (page.has_value()) {
    GLINT_ASSIGN_OR_RETURN(view->page, Server::Start(*page, kMaxConnections, [view](const auto& request, Guest* guest) {
                             view->ServePage(request, guest);
                           }));
  }
  if (foxglove.has_value()) {
    GLINT_ASSIGN_OR_RETURN(view->foxglove,
                           Server::Start(*foxglove, kMaxConnections, [view](const auto& request, Guest* guest) {
                             view->ServeFoxglove(request, guest);
                           }));
  }
  return std::unique_ptr<View>(new View(std::move(impl)));
}

View::View(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

View::~View() { impl_->audience.SayGoodbye(); }

std::string View::url() const {
  return impl_->page == nullptr ? "" : absl::StrCat("http://", impl_->page->address().text(), "/");
}

std::string View::foxglove_url() const {
  return impl_->foxglove == nullptr ? "" : absl::StrCat("ws://", impl_->foxglove->address().text());
}

bool View::wanted() const { return impl_->audience.wanted(); }

bool View::wants_map() const { return impl_->audience.wants_map(); }

void View::Show(Scene scene) { impl_->audience.Show(std::move(scene)); }

void View::SetNotice(const std::string& notice) { impl_->audience.SetNotice(notice); }

void View::SetSliders(std::optional<int> threshold, std::optional<int> max_features) {
  impl_->audience.SetSliders(threshold, max_features);
}

bool View::paused() const { return impl_->audience.state().paused; }

std::optional<int> View::threshold() const { return impl_->audience.state().threshold; }

std::optional<int> View::max_features() const { return impl_->audience.state().max_features; }

}  // namespace glint::view
