#include "server/shm/shared_region.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

absl::Status CheckFile(int fd, uint64_t bytes, int64_t max_bytes) {
  struct stat file = {};
  struct statfs filesystem = {};
  if (fstat(fd, &file) != 0 || fstatfs(fd, &filesystem) != 0 || !S_ISREG(file.st_mode)) {
    return ContradictionError("memory", "the descriptor is not a memfd's");
  }
  // Refuses huge pages: an unavailable one would raise SIGBUS, sealed or not.
  if (filesystem.f_type != TMPFS_MAGIC) return ContradictionError("memory", "is not a memfd of ordinary pages");
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) {
    return ContradictionError("memory", "is not sealed with F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_SEAL");
  }
  // The size cannot change from here on.
  if (file.st_size < 1 || static_cast<uint64_t>(file.st_size) != bytes) {
    return ContradictionError("memory", absl::StrCat("has ", file.st_size, " bytes, but ", bytes, " were announced"));
  }
  if (file.st_size > max_bytes) {
    return LimitError("memory.bytes", file.st_size, max_bytes, "--shared-memory-max-bytes");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SharedRegion>> SharedRegion::Map(int fd, uint64_t bytes, int64_t max_bytes) {
  GLINT_RETURN_IF_ERROR(CheckFile(fd, bytes, max_bytes));
  void* const data = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) {
    return ContradictionError("memory", absl::StrCat("cannot be mapped for reading: ", std::strerror(errno)));
  }
  return std::unique_ptr<SharedRegion>(new SharedRegion(static_cast<const uint8_t*>(data), bytes));
}

absl::Status SharedRegion::Pin(const MemoryPinning* pinning) {
  absl::Status status = pinning->pin(bytes());
  if (status.ok()) pinned_ = pinning;
  return status;
}

SharedRegion::~SharedRegion() {
  // A region that is still pinned stays mapped: otherwise the device would read this client's pages at addresses that
  // another mapping reuses.
  if (pinned_ != nullptr && !pinned_->unpin(bytes()).ok()) return;
  munmap(const_cast<uint8_t*>(data_), size_);
}

}  // namespace glint
