#include "server/operations/localize/map_directory.h"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "features/atomic_file.h"
#include "features/error.h"
#include "features/server_error.h"
#include "features/status_macros.h"
#include "server/base/file_name.h"

namespace glint {
namespace {

namespace fs = std::filesystem;

constexpr char kExtension[] = ".glintmap";

std::string NameOf(const fs::path& file) { return file.stem().string(); }

}  // namespace

MapDirectory::MapDirectory(std::string path, int max_maps) : path_(std::move(path)), max_maps_(max_maps) {
  if (!path_.empty()) RemoveUnfinished(path_);
}

absl::StatusOr<std::string> MapDirectory::FileOf(absl::string_view name) const {
  if (path_.empty()) {
    return absl::FailedPreconditionError("name: this server keeps no maps (--map-directory)");
  }
  GLINT_RETURN_IF_ERROR(CheckFileName(name));
  if (absl::EndsWith(name, kExtension)) {
    return ContradictionError(
        "name", absl::StrCat("\"", name, "\" is the name of a file; the map's has no \"", kExtension, "\" at its end"));
  }
  return absl::StrCat(path_, "/", name, kExtension);
}

absl::Status MapDirectory::Save(const std::string& file, absl::FunctionRef<absl::Status()> write) {
  std::multiset<std::string>::iterator place;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    GLINT_RETURN_IF_ERROR(Admit(file));
    place = saving_.insert(NameOf(file));
  }
  const absl::Cleanup leave = [this, place] {
    std::lock_guard<std::mutex> lock(mutex_);
    saving_.erase(place);
  };
  return write();
}

absl::Status MapDirectory::NoSuchMap(const std::string& file) const {
  GLINT_ASSIGN_OR_RETURN(const std::set<std::string> names, Names());
  const std::string name = NameOf(file);
  return NotFoundError("name", name, absl::StrCat("there is no map \"", name, "\"; this server has ", SomeOf(names)));
}

absl::StatusOr<std::set<std::string>> MapDirectory::Names() const {
  std::error_code error;
  std::set<std::string> names;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == kExtension) names.insert(NameOf(entry->path()));
  }
  if (error) return absl::UnavailableError(absl::StrCat("name: the map directory: ", error.message()));
  return names;
}

absl::Status MapDirectory::Admit(const std::string& file) const {
  std::error_code error;
  if (fs::exists(file, error)) return absl::OkStatus();
  GLINT_ASSIGN_OR_RETURN(std::set<std::string> names, Names());
  names.insert(saving_.begin(), saving_.end());
  names.insert(NameOf(file));
  const auto maps = static_cast<int64_t>(names.size());
  return maps > max_maps_ ? LimitError("name", maps, "maps", max_maps_, "--max-maps") : absl::OkStatus();
}

absl::Status CheckMapDirectory(const std::string& path) {
  std::error_code error;
  if (path.empty() || (fs::is_directory(path, error) && access(path.c_str(), R_OK | W_OK | X_OK) == 0)) {
    return absl::OkStatus();
  }
  return ContradictionError("map-directory", absl::StrCat("\"", Echo(path), "\" is no directory that can be written"));
}

}  // namespace glint
