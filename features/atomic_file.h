// Files that have their name only once they are complete and on the disk. POSIX.
#ifndef GLINT_FEATURES_ATOMIC_FILE_H_
#define GLINT_FEATURES_ATOMIC_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace glint {

// A new version of a file. The bytes go to a file of a random name in the same folder (".glint-*.unfinished"), which
// replaces the file in one step. So any number of threads and processes can write one file at a time, the last Commit()
// wins, and a reader that has opened it has the old version or a new one, whole. Thread-compatible.
class AtomicFile {
 public:
  // A symbolic link at `path` stays, and what it leads to is replaced. Errors: those of Commit().
  static absl::StatusOr<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  // Removes what is not committed.
  ~AtomicFile();

  // Errors are those of Commit().
  void Append(const void* data, size_t bytes);
  // Waits for the disk (fsync), unless `sync` is false, then replaces the file. Called once. RESOURCE_EXHAUSTED: the
  // disk is full, a quota is used up, or the file is longer than the process may write (where SIGXFSZ is ignored).
  // INTERNAL: any other error of the system. The text begins with Echo(path). The old version stays unless the error is
  // of the last step, in which the folder goes to the disk.
  absl::Status Commit(bool sync = true);

 private:
  AtomicFile(std::string path, std::string target, std::string unfinished, int fd);
  void Flush();
  bool Replace(bool sync);

  std::string path_, target_;  // as given, and where that leads to
  std::string unfinished_;     // empty: there is none
  int fd_;
  std::string buffer_;
  int error_ = 0;  // errno of the first failure
};

// Removes unfinished files of this folder whose writers have died, and returns how many. A living writer holds a lock
// (flock) on its own; where the file system has no such locks, nothing is removed.
int RemoveUnfinished(const std::string& folder);

}  // namespace glint

#endif  // GLINT_FEATURES_ATOMIC_FILE_H_
