#include "client/cli/source/dataset_parts.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/cli/source/picture_files.h"
#include "client/cli/source/text_file.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNamesSaid = 3;

void NoteAlone(const std::vector<std::string>& left, const std::vector<std::string>& right, DataSet* set) {
  for (const auto& [name, files] : {std::pair(set->left, &left), std::pair(set->right, &right)}) {
    const std::vector<std::string>& alone = *files;
    if (alone.empty()) continue;
    set->notes.push_back(
        absl::StrCat(alone.size(), " of ", name,
                     alone.size() == 1 ? " has no partner and is left out: " : " have no partner and are left out: ",
                     SomeOf(alone, kNamesSaid)));
  }
}

absl::Status NoPartners(const DataSet& set, const std::string& left, const std::string& right) {
  return absl::InvalidArgumentError(
      absl::StrCat(left, ": no picture of ", set.left, " has a partner in ", set.right, ", whose first is ", right));
}

}  // namespace

bool IsFolder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool IsFile(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

std::string Inside(const std::string& folder, const std::string& name) { return (fs::path(folder) / name).string(); }

std::string ParentOf(const std::string& folder) {
  std::error_code error;
  return fs::canonical(folder, error).parent_path().string();
}

std::string NameOf(const std::string& folder) {
  std::error_code error;
  return fs::canonical(folder, error).filename().string();
}

absl::StatusOr<std::vector<TimedFile>> ReadFileList(const std::string& list, const std::string& folder,
                                                    const std::string& pictures, ListTime unit,
                                                    std::vector<std::string>* notes) {
  if (!IsFile(list)) {
    if (!IsFolder(pictures)) return absl::NotFoundError(absl::StrCat(list, ": is not there, nor is ", pictures));
    GLINT_ASSIGN_OR_RETURN(const std::vector<std::string> paths, PictureFiles(pictures));
    const std::vector<absl::Duration> times = TimesOf(paths);
    if (times.empty()) {
      return absl::NotFoundError(
          absl::StrCat(list, ": is not there, and the names of the pictures in ", pictures, " are no times"));
    }
    std::vector<TimedFile> files;
    files.reserve(paths.size());
    for (size_t i = 0; i < paths.size(); ++i) files.push_back({paths[i], absl::ToInt64Nanoseconds(times[i])});
    return files;
  }
  GLINT_ASSIGN_OR_RETURN(const std::string text, ReadText(list));
  GLINT_ASSIGN_OR_RETURN(std::vector<TimedFile> files, ParseFileList(list, text, folder, unit));
  const size_t listed = files.size();
  std::vector<std::string> missing;
  std::vector<TimedFile> there;
  for (TimedFile& file : files) {
    if (IsFile(file.path)) {
      there.push_back(std::move(file));
    } else {
      missing.push_back(file.path);
    }
  }
  if (there.empty()) {
    return absl::NotFoundError(absl::StrCat(list, ": lists ", listed, " pictures, and none of them is there",
                                            missing.empty() ? "" : ": ", SomeOf(missing, kNamesSaid)));
  }
  if (!missing.empty()) {
    notes->push_back(absl::StrCat(missing.size(), " of the ", listed, " pictures that ", list, " lists ",
                                  missing.size() == 1 ? "is" : "are", " not there: ", SomeOf(missing, kNamesSaid)));
  }
  return there;
}

absl::Status SetPairs(const std::vector<TimedFile>& left, const std::vector<TimedFile>& right, int64_t tolerance_ns,
                      DataSet* set) {
  const auto pairs = Associate(left, right, tolerance_ns);
  std::vector<bool> has_left(left.size(), false), has_right(right.size(), false);
  for (const auto& [l, r] : pairs) {
    has_left[l] = has_right[r] = true;
    set->pairs.push_back(
        {left[l].path, right[r].path, absl::Nanoseconds(left[l].time_ns), static_cast<int64_t>(set->pairs.size())});
  }
  if (pairs.empty()) return NoPartners(*set, left.front().path, right.front().path);
  const auto alone = [](const std::vector<TimedFile>& files, const std::vector<bool>& has) {
    std::vector<std::string> names;
    for (size_t i = 0; i < files.size(); ++i) {
      if (!has[i]) names.push_back(files[i].path);
    }
    return names;
  };
  NoteAlone(alone(left, has_left), alone(right, has_right), set);
  return absl::OkStatus();
}

absl::StatusOr<std::map<int64_t, std::string>> ReadFrames(const std::string& folder) {
  GLINT_ASSIGN_OR_RETURN(const std::vector<std::string> files, PictureFiles(folder));
  std::map<int64_t, std::string> frames;
  for (const std::string& file : files) {
    const std::string stem = fs::path(file).stem().string();
    int64_t number = 0;
    const bool is_number =
        std::all_of(stem.begin(), stem.end(), absl::ascii_isdigit) && absl::SimpleAtoi(stem, &number);
    if (!is_number) return absl::InvalidArgumentError(absl::StrCat(file, ": the name is not the number of a frame"));
    if (const auto [at, is_new] = frames.emplace(number, file); !is_new) {
      return absl::InvalidArgumentError(absl::StrCat(file, ": ", at->second, " is of the same frame"));
    }
  }
  return frames;
}

absl::Status SetFramePairs(const std::map<int64_t, std::string>& left, const std::map<int64_t, std::string>& right,
                           const std::vector<int64_t>& times, const std::string& times_path, DataSet* set) {
  std::vector<std::string> alone_left, alone_right;
  for (const auto& [number, path] : left) {
    const auto partner = right.find(number);
    if (partner == right.end()) {
      alone_left.push_back(path);
      continue;
    }
    const auto line = static_cast<size_t>(number);
    if (!times.empty() && line >= times.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(times_path, ": has ", times.size(), " times, and ", path, " is frame ", number, ", from 0 on"));
    }
    set->pairs.push_back({path, partner->second,
                          times.empty() ? std::nullopt : std::make_optional(absl::Nanoseconds(times[line])), number});
  }
  for (const auto& [number, path] : right) {
    if (left.count(number) == 0) alone_right.push_back(path);
  }
  if (set->pairs.empty()) return NoPartners(*set, left.begin()->second, right.begin()->second);
  NoteAlone(alone_left, alone_right, set);
  return absl::OkStatus();
}

absl::Status MissingPart(const std::string& folder, const std::string& layout, const std::string& part) {
  return absl::NotFoundError(absl::StrCat(folder, ": looks like ", layout, ", but has no ", part,
                                          "; --calibration PATH LEFT RIGHT, or --depth LEFT DEPTH, names the parts"));
}

}  // namespace glint::cli
