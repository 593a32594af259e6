#include "features/read_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

namespace glint {
namespace {

absl::Status Unreadable(const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
  if (file == nullptr) return Unreadable(path);
  std::string bytes;
  char part[4096];
  for (size_t got; (got = std::fread(part, 1, sizeof(part), file.get())) > 0;) bytes.append(part, got);
  if (std::ferror(file.get()) != 0) return Unreadable(path);
  return bytes;
}

}  // namespace glint
