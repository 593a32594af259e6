#include "features/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "features/error.h"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr char kUnfinishedPrefix[] = ".glint-", kUnfinishedSuffix[] = ".unfinished";
constexpr size_t kBufferBytes = 1 << 18;
constexpr int kAttempts = 100;

std::string FolderOf(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

absl::Status CannotWrite(const std::string& path, int error) {
  const std::string text = absl::StrCat(Echo(path), ": cannot be written: ", std::strerror(error));
  if (error != ENOSPC && error != EDQUOT && error != EFBIG) return absl::InternalError(text);
  ErrorInfo info;
  info.reason = "OVER_LIMIT";
  info.field = Echo(path);
  return WithErrorInfo(absl::ResourceExhaustedError(text), info);
}

bool IsThere(int fd) {
  struct stat file = {};
  return fstat(fd, &file) == 0 && file.st_nlink > 0;
}

// -1 with errno: none could be made.
int OpenUnfinished(const std::string& folder, std::string* unfinished) {
  for (int i = 0; i < kAttempts; ++i) {
    uint64_t random = 0;
    if (getrandom(&random, sizeof(random), 0) != sizeof(random)) return -1;
    *unfinished = absl::StrCat(folder, "/", kUnfinishedPrefix, absl::Hex(random, absl::kZeroPad16), kUnfinishedSuffix);
    const int fd = open(unfinished->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST) return -1;
    if (fd < 0) continue;
    // Before it had the lock, RemoveUnfinished() could take it for one of a dead writer.
    if ((flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && IsThere(fd)) return fd;
    close(fd);
  }
  errno = EEXIST;
  return -1;
}

}  // namespace

absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& path) {
  std::error_code error;
  fs::path target = path;
  if (fs::is_symlink(target, error)) {
    target = fs::weakly_canonical(target, error);
    if (error) return CannotWrite(path, error.value());
  }
  std::string unfinished;
  const int fd = OpenUnfinished(FolderOf(target.string()), &unfinished);
  if (fd < 0) return CannotWrite(path, errno);
  return AtomicFile(path, target.string(), std::move(unfinished), fd);
}

AtomicFile::AtomicFile(std::string path, std::string target, std::string unfinished, int fd)
    : path_(std::move(path)), target_(std::move(target)), unfinished_(std::move(unfinished)), fd_(fd) {
  buffer_.reserve(kBufferBytes);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      unfinished_(std::exchange(other.unfinished_, "")),
      fd_(std::exchange(other.fd_, -1)),
      buffer_(std::move(other.buffer_)),
      error_(other.error_) {}

AtomicFile::~AtomicFile() {
  if (!unfinished_.empty()) unlink(unfinished_.c_str());
  if (fd_ >= 0) close(fd_);
}

void AtomicFile::Append(const void* data, size_t bytes) {
  if (buffer_.size() + bytes > kBufferBytes) Flush();
  buffer_.append(static_cast<const char*>(data), bytes);
  if (bytes > kBufferBytes) Flush();
}

void AtomicFile::Flush() {
  for (size_t at = 0; error_ == 0 && at < buffer_.size();) {
    const ssize_t written = write(fd_, buffer_.data() + at, buffer_.size() - at);
    if (written >= 0) at += static_cast<size_t>(written);
    if (written < 0 && errno != EINTR) error_ = errno;
  }
  buffer_.clear();
}

bool AtomicFile::Replace(bool sync) {
  if (!sync) {
    if (rename(unfinished_.c_str(), target_.c_str()) != 0) return false;
    unfinished_.clear();
    return true;
  }
  const int folder = open(FolderOf(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool done = folder >= 0 && fsync(fd_) == 0 && rename(unfinished_.c_str(), target_.c_str()) == 0;
  if (done) {
    unfinished_.clear();
    done = fsync(folder) == 0 || errno == EINVAL;  // EINVAL: this file system needs no fsync of folders
  }
  const int error = errno;
  if (folder >= 0) close(folder);
  errno = error;
  return done;
}

absl::Status AtomicFile::Commit(bool sync) {
  Flush();
  if (error_ == 0 && !Replace(sync)) error_ = errno;
  return error_ == 0 ? absl::OkStatus() : CannotWrite(path_, error_);
}

int RemoveUnfinished(const std::string& folder) {
  int removed = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!absl::StartsWith(name, kUnfinishedPrefix) || !absl::EndsWith(name, kUnfinishedSuffix)) continue;
    const int fd = open(entry->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && unlink(entry->path().c_str()) == 0) ++removed;
    close(fd);
  }
  return removed;
}

}  // namespace glint
