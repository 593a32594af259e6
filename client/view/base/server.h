// Takes connections and reads what each asks for, in bounded numbers and memory, so that no address keeps others out.
#ifndef GLINT_CLIENT_VIEW_BASE_SERVER_H_
#define GLINT_CLIENT_VIEW_BASE_SERVER_H_

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/view/base/address.h"
#include "client/view/base/connection.h"

namespace glint::view {

// Who is connected.
struct Guest {
  Guest(int socket, std::string from) : connection(socket), peer(std::move(from)) {}

  Connection connection;
  const std::string peer;          // the part of its address that a host cannot choose, in binary
  std::atomic<bool> stays{false};  // set by the handler: it does not make way for a further connection
};

// An answer that ends the connection: "404 Not Found". `type`: "text/plain; charset=utf-8".
void Answer(Connection* connection, absl::string_view status, absl::string_view type, absl::string_view body);
inline constexpr char kPlainText[] = "text/plain; charset=utf-8";

// A GET request for a WebSocket.
bool AsksForWebSocket(const HttpRequest& request);

class Server {
 public:
  // Called on a thread of the connection, which ends when it returns. The request's host is an allowed one.
  using Handler = std::function<void(const HttpRequest& request, Guest* guest)>;

  // At most `places` connections. For one more, that which came first is ended, of the address that has most, of those
  // that do not stay. Errors of Listen().
  static absl::StatusOr<std::unique_ptr<Server>> Start(Address address, size_t places, Handler handler);
  // Ends all connections, and waits for their handlers.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // With the port that it got.
  const Address& address() const { return address_; }

 private:
  struct Served : Guest {
    using Guest::Guest;
    bool ended = false;  // for another one; used by the acceptor
    std::atomic<bool> done{false};
    std::thread thread;
  };

  Server(Address address, int socket, size_t places, Handler handler);
  void Accept();
  // Ends the connection whose place a further one may have. False: there is none.
  bool MakeRoom();
  void Serve(Served* one);

  const Address address_;
  const int socket_;
  const size_t places_;
  const Handler handler_;
  std::atomic<bool> ending_{false};
  std::list<Served> served_;  // of the acceptor, and after its end of the destructor
  std::thread acceptor_;
};

}  // namespace glint::view

#endif  // GLINT_CLIENT_VIEW_BASE_SERVER_H_
