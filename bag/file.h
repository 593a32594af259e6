// Files of recordings, read at any place. POSIX.
#ifndef GLINT_BAG_FILE_H_
#define GLINT_BAG_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace glint::bag {

// A regular file, open for reading. Thread-safe.
class File {
 public:
  // NOT_FOUND; INVALID_ARGUMENT: no regular file; PERMISSION_DENIED; INTERNAL: any other error of the system. The text
  // begins with Echo(path).
  static absl::StatusOr<File> Open(const std::string& path);
  File(File&& other) noexcept;
  File& operator=(File&&) = delete;
  ~File();

  int64_t size() const { return size_; }  // when it was opened
  // Fills `bytes` from `offset` on. OUT_OF_RANGE: the file ends before; INTERNAL: an error of the system.
  absl::Status Read(int64_t offset, absl::Span<uint8_t> bytes) const;
  // At most `most` bytes from `offset` on: fewer at the end of the file, or where it cannot be read.
  std::string ReadText(int64_t offset, size_t most) const;

 private:
  File(int fd, int64_t size) : fd_(fd), size_(size) {}

  int fd_;
  int64_t size_;
};

}  // namespace glint::bag

#endif  // GLINT_BAG_FILE_H_
