#include "client/cli/source/picture_files.h"

#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <opencv2/imgcodecs.hpp>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;

// As the tool of the TUM RGB-D benchmark has it that pairs colour and depth.
constexpr absl::Duration kGreatestDifference = absl::Milliseconds(20);

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

bool IsPicture(const fs::path& path) {
  static constexpr absl::string_view kExtensions[] = {".jpg", ".jpeg", ".png",  ".pgm",  ".ppm", ".pnm",
                                                      ".bmp", ".tif",  ".tiff", ".webp", ".jp2"};
  const std::string extension = absl::AsciiStrToLower(path.extension().string());
  return !absl::StartsWith(path.filename().string(), ".") &&
         std::find(std::begin(kExtensions), std::end(kExtensions), extension) != std::end(kExtensions);
}

// Whether all frames are wanted of what some OpenCV reads as a picture: motion JPEG begins as a JPEG file does.
bool IsVideo(const fs::path& path) {
  const std::string extension = absl::AsciiStrToLower(path.extension().string());
  return extension == ".mjpeg" || extension == ".mjpg" || extension == ".gif";
}

struct FolderEntries {
  std::vector<std::string> pictures;
  std::vector<std::string> others;  // names, without those of hidden files
};

// A link that leads nowhere counts as what its name says: reading it is an error that names it.
absl::StatusOr<FolderEntries> EntriesOf(const fs::path& folder) {
  FolderEntries entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator(); at.increment(error)) {
    std::error_code nowhere;
    const fs::file_status status = at->status(nowhere);
    const fs::path& path = at->path();
    if (IsPicture(path) && (fs::is_regular_file(status) || !fs::exists(status))) {
      entries.pictures.push_back(path.string());
    } else if (!absl::StartsWith(path.filename().string(), ".")) {
      entries.others.push_back(path.filename().string() + (fs::is_directory(status) ? "/" : ""));
    }
  }
  if (error) return absl::NotFoundError(absl::StrCat(folder.string(), ": ", error.message()));
  return entries;
}

absl::StatusOr<std::vector<std::string>> Matches(const std::string& pattern) {
  glob_t found = {};
  std::vector<std::string> files;
  const auto ends_search = [](const char*, int error) { return error == ENOENT || error == ENOTDIR ? 0 : 1; };
  const int result = glob(pattern.c_str(), 0, ends_search, &found);
  if (result == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (result != 0 && result != GLOB_NOMATCH) {
    return absl::NotFoundError(absl::StrCat(pattern, ": not all folders that it means can be read"));
  }
  return files;
}

std::string Stem(const std::string& file) { return fs::path(file).stem().string(); }

// By time, if names are times, whose decimals are no whole numbers.
void Sort(std::vector<std::string>* files) {
  std::sort(files->begin(), files->end(), NaturallyBefore);
  const std::vector<absl::Duration> times = TimesOf(*files);
  if (std::is_sorted(times.begin(), times.end())) return;
  std::vector<std::pair<absl::Duration, std::string>> timed;
  for (size_t i = 0; i < times.size(); ++i) timed.emplace_back(times[i], std::move((*files)[i]));
  std::sort(timed.begin(), timed.end());
  for (size_t i = 0; i < times.size(); ++i) (*files)[i] = std::move(timed[i].second);
}

std::vector<std::string> Stems(const std::vector<std::string>& files) {
  std::vector<std::string> stems;
  stems.reserve(files.size());
  for (const std::string& file : files) stems.push_back(Stem(file));
  return stems;
}

// The digits at the beginning of `text`, which it loses, without zeros in front; one is left.
absl::string_view TakeNumber(absl::string_view* text) {
  size_t size = 0;
  while (size < text->size() && IsDigit((*text)[size])) ++size;
  absl::string_view digits = text->substr(0, size);
  text->remove_prefix(size);
  while (digits.size() > 1 && digits[0] == '0') digits.remove_prefix(1);
  return digits;
}

// Equal for names that differ in zeros in front of numbers alone.
std::string WithoutZeros(absl::string_view name) {
  std::string key;
  while (!name.empty()) {
    if (IsDigit(name[0])) {
      absl::StrAppend(&key, TakeNumber(&name));
    } else {
      key += name[0];
      name.remove_prefix(1);
    }
  }
  return key;
}

// Without what all names begin and end with, but for digits.
std::vector<std::string> Middles(std::vector<std::string> names) {
  for (int end = 0; end < 2; ++end) {
    const std::string& first = names.front();
    size_t shared = first.size();
    for (const std::string& name : names) {
      const auto differs =
          std::mismatch(first.begin(), first.begin() + static_cast<ptrdiff_t>(shared), name.begin(), name.end());
      shared = static_cast<size_t>(differs.first - first.begin());
    }
    while (shared > 0 && IsDigit(first[shared - 1])) --shared;
    for (std::string& name : names) {
      name.erase(0, shared);
      std::reverse(name.begin(), name.end());
    }
  }
  return names;
}

using Places = std::map<std::string, size_t>;  // of each key its file

// Empty: two files have one key, and `*twice` is one of the two.
Places PlacesOf(const std::vector<std::string>& keys, size_t* twice) {
  Places places;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (places.emplace(keys[i], i).second) continue;
    *twice = i;
    return {};
  }
  return places;
}

// Of each picture of the first source its partners' places in the others; nothing: not all have one.
using Partners = std::vector<std::vector<size_t>>;

absl::StatusOr<Partners> ByKeys(const std::vector<std::vector<std::string>>& sources,
                                const std::vector<std::vector<std::string>>& keys) {
  std::vector<Places> places;
  for (size_t s = 0; s < keys.size(); ++s) {
    size_t twice = 0;
    places.push_back(PlacesOf(keys[s], &twice));
    if (places.back().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(sources[s][twice], ": another picture there has the same name but for its end or zeros"));
    }
  }
  Partners partners(keys[0].size());
  for (size_t i = 0; i < keys[0].size(); ++i) {
    std::vector<size_t> found;
    for (size_t s = 1; s < keys.size(); ++s) {
      const auto at = places[s].find(keys[0][i]);
      if (at != places[s].end()) found.push_back(at->second);
    }
    if (found.size() + 1 == keys.size()) partners[i] = std::move(found);
  }
  return partners;
}

size_t Nearest(const std::vector<absl::Duration>& times, absl::Duration time) {
  const auto after = std::lower_bound(times.begin(), times.end(), time);
  const auto at = static_cast<size_t>(after - times.begin());
  if (at == times.size() || (at > 0 && time - times[at - 1] <= times[at] - time)) return at - 1;
  return at;
}

Partners ByTimes(const std::vector<std::vector<absl::Duration>>& times) {
  absl::Duration tolerance = absl::InfiniteDuration();
  for (const auto& source : times) tolerance = std::min(tolerance, ToleranceOf(source));
  Partners partners(times[0].size());
  for (size_t i = 0; i < times[0].size(); ++i) {
    std::vector<size_t> found;
    for (size_t s = 1; s < times.size(); ++s) {
      const size_t at = Nearest(times[s], times[0][i]);
      const bool mutual = Nearest(times[0], times[s][at]) == i;
      if (mutual && absl::AbsDuration(times[s][at] - times[0][i]) <= tolerance) found.push_back(at);
    }
    if (found.size() + 1 == times.size()) partners[i] = std::move(found);
  }
  return partners;
}

bool AnyOf(const Partners& partners) {
  return std::any_of(partners.begin(), partners.end(), [](const auto& one) { return !one.empty(); });
}

absl::StatusOr<Partners> FindPartners(const std::vector<std::vector<std::string>>& sources) {
  if (std::all_of(sources.begin(), sources.end(), [](const auto& files) { return files.size() == 1; })) {
    return Partners{std::vector<size_t>(sources.size() - 1, 0)};
  }
  std::vector<std::vector<absl::Duration>> times;
  times.reserve(sources.size());
  for (const auto& files : sources) times.push_back(TimesOf(files));
  Partners partners;
  if (std::none_of(times.begin(), times.end(), [](const auto& source) { return source.empty(); })) {
    partners = ByTimes(times);
  } else {
    for (const bool middle : {false, true}) {
      std::vector<std::vector<std::string>> keys;
      for (const auto& files : sources) {
        keys.push_back(middle ? Middles(Stems(files)) : Stems(files));
        for (std::string& key : keys.back()) key = WithoutZeros(key);
      }
      GLINT_ASSIGN_OR_RETURN(partners, ByKeys(sources, keys));
      if (AnyOf(partners)) break;
    }
  }
  if (AnyOf(partners)) return partners;
  return absl::InvalidArgumentError(absl::StrCat("no picture has a partner of its name or time: the first ones are ",
                                                 sources[0].front(), " and ", sources[1].front()));
}

// "1403715273.262"
std::optional<absl::Duration> TimeOfSeconds(const std::string& digits) {
  absl::Duration time;
  if (!absl::ParseDuration(digits + "s", &time)) return std::nullopt;
  return time;
}

// "1403715273262142976": since 1970 in milli-, micro- or nanoseconds, by the number of digits.
std::optional<absl::Duration> TimeOfCount(const std::string& digits) {
  constexpr size_t kMilliseconds = 13, kMicroseconds = 16, kNanoseconds = 19;
  int64_t count = 0;
  if (digits[0] == '0' || !absl::SimpleAtoi(digits, &count)) return std::nullopt;
  if (digits.size() == kMilliseconds) return absl::Milliseconds(count);
  if (digits.size() == kMicroseconds) return absl::Microseconds(count);
  if (digits.size() == kNanoseconds) return absl::Nanoseconds(count);
  return std::nullopt;
}

}  // namespace

bool NaturallyBefore(absl::string_view a, absl::string_view b) {
  const absl::string_view whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (IsDigit(a[0]) && IsDigit(b[0])) {
      const absl::string_view number_a = TakeNumber(&a), number_b = TakeNumber(&b);
      if (number_a.size() != number_b.size()) return number_a.size() < number_b.size();
      if (number_a != number_b) return number_a < number_b;
    } else {
      if (a[0] != b[0]) return a[0] < b[0];
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;
}

absl::StatusOr<std::vector<std::string>> PictureFiles(const std::string& name) {
  std::error_code error;
  std::vector<std::string> files;
  if (fs::is_directory(name, error)) {
    GLINT_ASSIGN_OR_RETURN(auto entries, EntriesOf(name));
    files = std::move(entries.pictures);
    if (files.empty()) return absl::NotFoundError(absl::StrCat(name, ": no images in this folder"));
  } else if (fs::is_regular_file(name, error)) {
    if (cv::haveImageReader(name) && !IsVideo(name)) files = {name};
  } else if (name.find_first_of("*?[") != std::string::npos && !absl::StrContains(name, "://") &&
             !absl::StartsWith(name, "gst:")) {
    GLINT_ASSIGN_OR_RETURN(files, Matches(name));
    if (files.empty()) return absl::NotFoundError(absl::StrCat(name, ": no file matches"));
  }
  Sort(&files);
  return files;
}

std::string OtherFiles(const std::string& name) {
  constexpr size_t kNames = 3;
  std::error_code error;
  if (!fs::is_directory(name, error)) return "";
  auto entries = EntriesOf(name);
  if (!entries.ok() || entries->others.empty()) return "";
  std::vector<std::string>& others = entries->others;
  std::sort(others.begin(), others.end(), NaturallyBefore);
  const size_t pictures = entries->pictures.size();
  return absl::StrCat(name, ": ", pictures, pictures == 1 ? " picture" : " pictures",
                      "; what else is there is left out: ", SomeOf(others, kNames));
}

std::string SomeOf(const std::vector<std::string>& names, size_t most) {
  const auto end = names.begin() + static_cast<ptrdiff_t>(std::min(names.size(), most));
  return absl::StrCat(absl::StrJoin(names.begin(), end, ", "),
                      names.size() > most ? absl::StrCat(" and ", names.size() - most, " more") : "");
}

std::vector<absl::Duration> TimesOf(const std::vector<std::string>& files) {
  std::vector<absl::Duration> times;
  size_t digits = 0;  // of names without a point; all have as many
  for (const std::string& file : files) {
    const std::string stem = Stem(file);
    const size_t point = std::min(stem.find('.'), stem.size());
    const bool numbers =
        std::all_of(stem.begin(), stem.begin() + static_cast<ptrdiff_t>(point), IsDigit) &&
        (point == stem.size() || std::all_of(stem.begin() + static_cast<ptrdiff_t>(point) + 1, stem.end(), IsDigit));
    const size_t size = point < stem.size() ? 0 : point;
    if (!numbers || point == 0 || point + 1 == stem.size() || (!times.empty() && size != digits)) return {};
    digits = size;
    const std::optional<absl::Duration> time = size == 0 ? TimeOfSeconds(stem) : TimeOfCount(stem);
    if (!time.has_value()) return {};
    times.push_back(*time);
  }
  return times;
}

absl::Duration ToleranceOf(const std::vector<absl::Duration>& times) {
  std::vector<absl::Duration> steps;
  for (size_t i = 1; i < times.size(); ++i) steps.push_back(times[i] - times[i - 1]);
  if (steps.empty()) return kGreatestDifference;
  const auto middle = steps.begin() + static_cast<ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return std::min(kGreatestDifference, *middle / 2);
}

absl::StatusOr<AlignedFiles> Align(std::vector<std::vector<std::string>> sources) {
  for (auto& files : sources) Sort(&files);
  GLINT_ASSIGN_OR_RETURN(const auto partners, FindPartners(sources));
  AlignedFiles aligned;
  aligned.files.resize(sources.size());
  std::vector<std::vector<bool>> taken;
  taken.reserve(sources.size());
  for (const auto& files : sources) taken.emplace_back(files.size(), false);
  std::vector<size_t> next(sources.size(), 0);
  int64_t left_out = 0;
  for (size_t i = 0; i < partners.size(); ++i) {
    if (partners[i].empty()) continue;
    std::vector<size_t> at = {i};
    at.insert(at.end(), partners[i].begin(), partners[i].end());
    for (size_t s = 0; s < sources.size(); ++s) {
      if (at[s] > next[s]) left_out += static_cast<int64_t>(at[s] - next[s]);
      next[s] = at[s] + 1;
      taken[s][at[s]] = true;
      aligned.files[s].push_back(sources[s][at[s]]);
    }
    aligned.number.push_back(static_cast<int64_t>(aligned.number.size()) + left_out);
  }
  for (size_t s = 0; s < sources.size(); ++s) {
    for (size_t i = 0; i < sources[s].size(); ++i) {
      if (!taken[s][i]) aligned.alone.push_back(sources[s][i]);
    }
  }
  return aligned;
}

}  // namespace glint::cli
