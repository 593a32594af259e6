// One connection of the HTTP endpoint: one request, one response, then close.
#ifndef GLINT_SERVER_METRICS_HTTP_CONNECTION_H_
#define GLINT_SERVER_METRICS_HTTP_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"

namespace glint {

// Thread-compatible. Never blocks.
class HttpConnection {
 public:
  // The response to a request for `path`, which has no query.
  using Respond = std::function<std::string(absl::string_view method, absl::string_view path)>;

  // All bytes of a request line and headers, at most.
  static constexpr size_t kMaxRequestBytes = 8192;

  // Owns `fd`, which must not block. `expires_at`, of MonotonicNs(), is when whoever drives it should give up.
  HttpConnection(int fd, int64_t expires_at) : fd_(fd), expires_at_(expires_at) {}
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  int fd() const { return fd_; }
  int64_t expires_at() const { return expires_at_; }
  // What poll() should wait for before the next Continue().
  short events() const;

  // Reads or writes as much as the socket allows. False: the connection is finished.
  bool Continue(const Respond& respond);

 private:
  enum class State { kRequest, kResponse, kClosing };

  bool Receive();
  std::string ResponseTo(const Respond& respond) const;

  const int fd_;
  int64_t expires_at_;
  State state_ = State::kRequest;
  std::string request_;
  std::string response_;
  size_t sent_ = 0;
};

// "HTTP/1.1 200 OK\r\n..." with the headers that every response has. `more_headers` ends with CRLF or is empty.
std::string HttpResponse(absl::string_view status, absl::string_view type, absl::string_view body,
                         bool with_body = true, absl::string_view more_headers = "");

}  // namespace glint

#endif  // GLINT_SERVER_METRICS_HTTP_CONNECTION_H_
