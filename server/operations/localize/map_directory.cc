#include "server/operations/localize/map_directory.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "features/error.h"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr char kExtension[] = ".glintmap";

}  // namespace

absl::StatusOr<std::string> MapDirectory::FileOf(absl::string_view name) const {
  if (path_.empty()) {
    return absl::FailedPreconditionError("name: this server keeps no maps (--map-directory)");
  }
  const bool good = std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
  });
  if (!good || name.empty() || name.size() > kMaxMapName || name.front() == '.') {
    return ContradictionError("name", absl::StrCat("\"", Echo(name), "\" is not 1..", kMaxMapName,
                                                   " letters, digits, '_', '-' and '.', which is not the first"));
  }
  return absl::StrCat(path_, "/", name, kExtension);
}

absl::StatusOr<std::string> MapDirectory::FileToWrite(absl::string_view name) const {
  auto file = FileOf(name);
  std::error_code error;
  if (!file.ok() || fs::exists(*file, error)) return file;
  int maps = 1;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == kExtension) ++maps;
  }
  if (error) return absl::UnavailableError(absl::StrCat("name: the map directory: ", error.message()));
  if (maps > max_maps_) return LimitError("maps", maps, max_maps_, "--max-maps");
  return file;
}

absl::Status CheckMapDirectory(const std::string& path) {
  std::error_code error;
  if (path.empty() || (fs::is_directory(path, error) && access(path.c_str(), R_OK | W_OK | X_OK) == 0)) {
    return absl::OkStatus();
  }
  return ContradictionError("map-directory", absl::StrCat("\"", Echo(path), "\" is no directory that can be written"));
}

}  // namespace glint
