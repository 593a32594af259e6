#include "tests/soak/page.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace glint::soak {
namespace {

std::string Get(const std::string& address) {
  const size_t colon = address.rfind(':');
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::atoi(address.c_str() + colon + 1)));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const timeval patience = {10, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string reply;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
    const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
    if (write(fd, request.data(), request.size()) == static_cast<ssize_t>(request.size())) {
      char buffer[1 << 14];
      for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) reply.append(buffer, static_cast<size_t>(n));
    }
  }
  close(fd);
  return reply;
}

bool IsOf(const std::string& series, const std::string& name) {
  return series.compare(0, name.size(), name) == 0 && (series.size() == name.size() || series[name.size()] == '{');
}

}  // namespace

std::optional<Page> Page::Fetch(const std::string& address) {
  std::istringstream lines(Get(address));
  std::string line;
  Page page;
  while (std::getline(lines, line)) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.rfind(' ');
    if (space == std::string::npos || line.compare(0, 4, "HTTP") == 0) continue;
    page.series_[line.substr(0, space)] = std::atof(line.c_str() + space + 1);
  }
  if (!page.Has("glint_sessions")) return std::nullopt;
  return page;
}

double Page::Sum(const std::string& name, const std::string& labels) const {
  double sum = 0;
  for (const auto& [series, value] : series_) {
    if (IsOf(series, name) && series.find(labels) != std::string::npos) sum += value;
  }
  return sum;
}

void Page::Print(const std::string& prefix) const {
  for (const auto& [series, value] : series_) {
    if (series.compare(0, prefix.size(), prefix) == 0) std::printf("%s %g\n", series.c_str(), value);
  }
}

bool Page::Has(const std::string& name) const {
  for (const auto& [series, value] : series_) {
    if (IsOf(series, name)) return true;
  }
  return false;
}

}  // namespace glint::soak
