// A server that falls silent: it accepts connections and answers nothing, not even pings, as one behind a dead network.
#ifndef GLINT_TESTS_CLIENT_SILENT_SERVER_H_
#define GLINT_TESTS_CLIENT_SILENT_SERVER_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace glint::client {

class SilentServer {
 public:
  enum class Kind {
    kReads,         // sends HTTP/2's first frame, with which a client is connected, and reads all
    kReadsNothing,  // the same, but reads nothing, whatever the client may send: until the sockets take no more
    kNotConnected,  // sends nothing at all, and reads all
  };
  // On a free loopback port.
  explicit SilentServer(Kind kind = Kind::kReads);
  ~SilentServer();
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;

  const std::string& address() const { return address_; }
  // Bytes that came, of all connections.
  int64_t received() const { return received_; }
  int connections() const { return connections_; }

 private:
  void Serve();

  const Kind kind_;
  int listener_;
  std::string address_;
  std::atomic<int64_t> received_{0};
  std::atomic<int> connections_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace glint::client

#endif  // GLINT_TESTS_CLIENT_SILENT_SERVER_H_
