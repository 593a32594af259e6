// Access rules, read from a file that may change while the server runs.
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
  // `certificates`: clients present certificates (--tls-client-ca), so rules may refer to them.
  AccessFile(std::string path, std::vector<std::string> methods, bool certificates);

  // Reads the file. On an error, which names it (INVALID_ARGUMENT), the rules stay as they were.
  absl::Status Load();
  // True if the file differs from the one read last and has not changed since the previous call, so that no write is
  // in progress. Call it periodically, from one thread.
  bool HasChanged();

  // The rules of the last Load() that succeeded; null before.
  std::shared_ptr<const AccessRules> rules() const;

 private:
  // Identifies one version of the file.
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
