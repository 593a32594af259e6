#include "server/metrics/http_connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/base/clock.h"

namespace glint {
namespace {

// Time that a client has to read the end of its response: closing earlier could lose it.
constexpr int64_t kGoodbyeNs = 1'000'000'000;

bool WouldBlock(ssize_t result) { return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR); }

}  // namespace

HttpConnection::~HttpConnection() { close(fd_); }

short HttpConnection::events() const { return state_ == State::kResponse ? POLLOUT : POLLIN; }

bool HttpConnection::Continue(const Respond& respond) {
  if (state_ == State::kRequest) {
    if (!Receive()) return false;
    const bool complete = request_.find("\r\n\r\n") != std::string::npos;
    if (!complete && request_.size() <= kMaxRequestBytes) return true;
    response_ = complete ? ResponseTo(respond)
                         : HttpResponse("431 Request Header Fields Too Large", "text/plain", "request too large\n");
    state_ = State::kResponse;
  }
  if (state_ == State::kResponse) {
    while (sent_ < response_.size()) {
      const ssize_t n = send(fd_, response_.data() + sent_, response_.size() - sent_, MSG_NOSIGNAL);
      if (WouldBlock(n)) return true;
      if (n < 0) return false;
      sent_ += static_cast<size_t>(n);
    }
    shutdown(fd_, SHUT_WR);
    expires_at_ = std::min(expires_at_, MonotonicNs() + kGoodbyeNs);
    state_ = State::kClosing;
  }
  request_.clear();
  return Receive();
}

// Reads some of what has arrived. False at the end or after an error.
bool HttpConnection::Receive() {
  char buffer[2048];
  while (request_.size() <= kMaxRequestBytes) {
    const ssize_t n = recv(fd_, buffer, sizeof(buffer), 0);
    if (WouldBlock(n)) return true;
    if (n <= 0) return false;
    request_.append(buffer, static_cast<size_t>(n));
  }
  return true;
}

std::string HttpConnection::ResponseTo(const Respond& respond) const {
  const absl::string_view line = absl::string_view(request_).substr(0, request_.find("\r\n"));
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  if (words.size() != 3 || words[2].substr(0, 5) != "HTTP/") {
    return HttpResponse("400 Bad Request", "text/plain", "not an HTTP request\n");
  }
  return respond(words[0], words[1].substr(0, words[1].find('?')));
}

std::string HttpResponse(absl::string_view status, absl::string_view type, absl::string_view body, bool with_body,
                         absl::string_view more_headers) {
  return absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Type: ", type, "\r\nContent-Length: ", body.size(),
                      "\r\nCache-Control: no-store\r\n", more_headers, "Connection: close\r\n\r\n",
                      with_body ? body : absl::string_view());
}

}  // namespace glint
