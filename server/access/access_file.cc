#include "server/access/access_file.h"

#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/status_macros.h"

namespace glint {

bool AccessFile::Version::operator==(const Version& other) const {
  return std::tie(there, device, inode, size, changed_ns) ==
         std::tie(other.there, other.device, other.inode, other.size, other.changed_ns);
}

AccessFile::AccessFile(std::string path, std::vector<std::string> methods, bool certificates)
    : path_(std::move(path)), methods_(std::move(methods)), certificates_(certificates) {}

AccessFile::Version AccessFile::Look() const {
  struct stat info;
  if (stat(path_.c_str(), &info) != 0) return {};
  constexpr int64_t kNanoseconds = 1'000'000'000;
  return {true, info.st_dev, info.st_ino, info.st_size,
          // Change time of the inode: it cannot be set, and replacing the file changes it, too.
          int64_t{info.st_ctim.tv_sec} * kNanoseconds + info.st_ctim.tv_nsec};
}

absl::Status AccessFile::Read(std::string* text) const {
  std::ifstream file(path_, std::ios::binary);
  if (!file) return absl::InvalidArgumentError(absl::StrCat("access-file: cannot read ", path_));
  text->resize(kMaxAccessFileBytes + 1);
  file.read(text->data(), static_cast<std::streamsize>(text->size()));
  if (file.bad()) return absl::InvalidArgumentError(absl::StrCat("access-file: cannot read ", path_));
  text->resize(static_cast<size_t>(file.gcount()));
  if (text->size() <= kMaxAccessFileBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("access-file: ", path_, ": is larger than ", kMaxAccessFileBytes, " bytes"));
}

absl::Status AccessFile::Load() {
  std::lock_guard<std::mutex> loading(loading_);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    loaded_ = Look();
  }
  std::string text;
  GLINT_RETURN_IF_ERROR(Read(&text));
  GLINT_ASSIGN_OR_RETURN(auto rules, AccessRules::Parse(path_, text, methods_));
  if (rules.first_certificate_line() > 0 && !certificates_) {
    return absl::InvalidArgumentError(absl::StrCat("access-file: ", path_, ":", rules.first_certificate_line(),
                                                   ": certificates need --tls-client-ca"));
  }
  auto shared = std::make_shared<const AccessRules>(std::move(rules));
  std::lock_guard<std::mutex> lock(mutex_);
  rules_ = std::move(shared);
  return absl::OkStatus();
}

bool AccessFile::HasChanged() {
  const Version now = Look();
  const bool settled = now == std::exchange(seen_, now);
  std::lock_guard<std::mutex> lock(mutex_);
  return settled && !(now == loaded_);
}

std::shared_ptr<const AccessRules> AccessFile::rules() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return rules_;
}

}  // namespace glint
