#include "bag/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"

namespace glint::bag {

absl::StatusOr<File> File::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // no wait for the other end of a pipe
  if (fd < 0) {
    const int error = errno;
    const absl::Status status = absl::ErrnoToStatus(error, Echo(path));
    const bool known = absl::IsNotFound(status) || absl::IsPermissionDenied(status);
    return known ? status : absl::InternalError(status.message());
  }
  File file(fd, 0);
  struct stat info;
  if (fstat(fd, &info) != 0) return absl::InternalError(absl::ErrnoToStatus(errno, Echo(path)).message());
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(Echo(path), ": no regular file"));
  file.size_ = info.st_size;
  return file;
}

File::File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

File::~File() {
  if (fd_ >= 0) close(fd_);
}

absl::Status File::Read(int64_t offset, absl::Span<uint8_t> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = offset < 0 ? 0 : pread(fd_, bytes.data(), bytes.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::InternalError(absl::ErrnoToStatus(errno, "reading the recording").message());
    if (got == 0) return absl::OutOfRangeError("the file ends");
    bytes.remove_prefix(static_cast<size_t>(got));
    offset += got;
  }
  return absl::OkStatus();
}

std::string File::ReadText(int64_t offset, size_t most) const {
  const int64_t there = std::clamp<int64_t>(size_ - offset, 0, static_cast<int64_t>(most));
  std::string text(static_cast<size_t>(there), '\0');
  if (!Read(offset, absl::MakeSpan(reinterpret_cast<uint8_t*>(text.data()), text.size())).ok()) text.clear();
  return text;
}

}  // namespace glint::bag
