// The rules as they are in a file that may change while the server runs.
#ifndef GLINT_SERVER_ACCESS_ACCESS_FILE_H_
#define GLINT_SERVER_ACCESS_ACCESS_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/access/access_rules.h"

namespace glint {

// Thread-safe.
class AccessFile {
 public:
  // Rules may need `certificates`: that clients show some (--tls-client-ca).
  AccessFile(std::string path, std::vector<std::string> methods, bool certificates);

  // Reads the file. On an error, which names it (INVALID_ARGUMENT), the rules stay as they were.
  absl::Status Load();
  // Whether the file differs from the one that was read last, and is the same as at the last call: nobody writes it at
  // this moment. To be called now and then, by one thread.
  bool HasChanged();

  // Those of the last Load() that succeeded; null before.
  std::shared_ptr<const AccessRules> rules() const;

 private:
  // What tells one version of a file from another.
  struct Version {
    bool there = false;
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    int64_t changed_ns = 0;
    bool operator==(const Version& other) const;
  };
  Version Look() const;
  absl::Status Read(std::string* text) const;

  const std::string path_;
  const std::vector<std::string> methods_;
  const bool certificates_;
  Version seen_;        // of HasChanged()
  std::mutex loading_;  // one Load() at a time

  mutable std::mutex mutex_;  // guards the rest; not held while the file is read
  Version loaded_;            // by the last Load(), whether that succeeded or not
  std::shared_ptr<const AccessRules> rules_;
};

}  // namespace glint

#endif  // GLINT_SERVER_ACCESS_ACCESS_FILE_H_
