// A server's metrics page, as a test reads it.
#ifndef GLINT_TESTS_SERVER_HTTP_PAGE_H_
#define GLINT_TESTS_SERVER_HTTP_PAGE_H_

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace glint::testing {

// The whole HTTP response.
inline std::string Http(const std::string& address, const std::string& request_line) {
  const std::vector<std::string> parts = absl::StrSplit(address, ':');
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<uint16_t>(std::stoi(parts.at(1))));
  inet_pton(AF_INET, parts[0].c_str(), &name.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  std::string response;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0) {
    const std::string request = absl::StrCat(request_line, " HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    char buffer[4096];
    for (ssize_t n = 0; (n = recv(fd, buffer, sizeof(buffer), 0)) > 0;) response.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  return response;
}

// The value of a sample, by its name and labels as they stand on the page; NaN if it is not there.
inline double Sample(const std::string& page, const std::string& name) {
  for (const absl::string_view line : absl::StrSplit(page, '\n')) {
    const size_t space = line.rfind(' ');  // labels may hold spaces
    double value = 0;
    if (line.substr(0, space) == name && absl::SimpleAtod(line.substr(space + 1), &value)) return value;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace glint::testing

#endif  // GLINT_TESTS_SERVER_HTTP_PAGE_H_
