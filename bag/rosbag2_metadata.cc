#include "bag/rosbag2_metadata.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "features/error.h"

namespace glint::bag {
namespace {

constexpr size_t kMostBytes = 1 << 20;
constexpr size_t kMostFiles = 10000;

std::string TextOf(const YAML::Node& node) { return node.IsDefined() && node.IsScalar() ? node.Scalar() : ""; }

// Those without messages may be here alone.
std::vector<Topic> TopicsOf(const YAML::Node& list) {
  std::vector<Topic> topics;
  if (!list.IsDefined() || !list.IsSequence()) return topics;
  for (const YAML::Node& entry : list) {
    if (topics.size() == Bag::kMostTopics) break;
    if (!entry.IsMap() || !entry["topic_metadata"].IsMap()) continue;
    const YAML::Node said = entry["topic_metadata"];
    Topic topic;
    topic.name = TextOf(said["name"]);
    topic.type = TextOf(said["type"]);
    topic.encoding = TextOf(said["serialization_format"]);
    if (!topic.name.empty() && !topic.type.empty()) topics.push_back(std::move(topic));
  }
  return topics;
}

absl::StatusOr<Rosbag2Metadata> Parse(const YAML::Node& root) {
  if (!root.IsMap() || !root["rosbag2_bagfile_information"].IsMap()) {
    return absl::InvalidArgumentError("rosbag2_bagfile_information is missing");
  }
  const YAML::Node information = root["rosbag2_bagfile_information"];
  Rosbag2Metadata metadata;
  const YAML::Node paths = information["relative_file_paths"];
  if (!paths.IsDefined() || !paths.IsSequence()) return absl::InvalidArgumentError("relative_file_paths are missing");
  for (const YAML::Node& path : paths) {
    if (metadata.files.size() == kMostFiles)
      return OutOfRangeError("relative_file_paths", paths.size(), size_t{0}, kMostFiles);
    // Up to version 3 they begin with the folder's name, which may have changed.
    std::string name = TextOf(path);
    name.erase(0, name.rfind('/') + 1);
    if (name.empty() || name == "." || name == "..") return absl::InvalidArgumentError("relative_file_paths: no name");
    metadata.files.push_back(std::move(name));
  }
  metadata.topics = TopicsOf(information["topics_with_message_count"]);
  const std::string mode = absl::AsciiStrToLower(TextOf(information["compression_mode"]));
  if (!mode.empty() && mode != "none") metadata.compression = TextOf(information["compression_format"]);
  if (!absl::SimpleAtoi(TextOf(information["message_count"]), &metadata.messages)) metadata.messages = -1;
  return metadata;
}

// What comes before the number at a name's end, the number, and the whole.
std::tuple<std::string, int64_t, std::string> Order(const std::string& name) {
  absl::string_view stem = name;
  for (const char* ending : {".zstd", ".db3", ".mcap"}) stem = absl::StripSuffix(stem, ending);
  size_t digits = 0;
  while (digits < stem.size() && absl::ascii_isdigit(stem[stem.size() - 1 - digits])) ++digits;
  int64_t number = -1;
  if (!absl::SimpleAtoi(stem.substr(stem.size() - digits), &number)) digits = 0;
  return {std::string(stem.substr(0, stem.size() - digits)), number, name};
}

}  // namespace

absl::StatusOr<Rosbag2Metadata> ParseRosbag2Metadata(absl::string_view text) {
  if (text.size() > kMostBytes) return TooLargeError("metadata.yaml", text.size(), kMostBytes);
  try {
    return Parse(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& e) {
    return absl::InvalidArgumentError(absl::StrCat("line ", e.mark.line + 1, ": ", e.msg));
  } catch (const std::exception& e) {
    return absl::InvalidArgumentError(e.what());
  }
}

std::vector<std::string> RecordingFiles(std::vector<std::string> names) {
  const auto is_none = [](absl::string_view name) {
    name = absl::StripSuffix(name, ".zstd");
    return !absl::EndsWith(name, ".db3") && !absl::EndsWith(name, ".mcap");
  };
  names.erase(std::remove_if(names.begin(), names.end(), is_none), names.end());
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) { return Order(a) < Order(b); });
  // A player of rosbag2 leaves what it has decompressed beside the file.
  const auto is_twice = [&](const std::string& name) {
    const absl::string_view plain = absl::StripSuffix(name, ".zstd");
    return plain.size() < name.size() && std::find(names.begin(), names.end(), plain) != names.end();
  };
  std::vector<std::string> once;
  std::copy_if(names.begin(), names.end(), std::back_inserter(once), [&](const auto& name) { return !is_twice(name); });
  if (once.size() > kMostFiles) once.resize(kMostFiles);
  return once;
}

std::vector<std::string> FilesNotSaid(const std::vector<std::string>& said, const std::vector<std::string>& there) {
  std::set<absl::string_view> names;
  std::set<std::pair<std::string, std::string>> rows;  // what comes before the number, and the ending
  const auto row_of = [](absl::string_view plain) {
    return std::pair(std::get<0>(Order(std::string(plain))), std::string(plain.substr(plain.rfind('.') + 1)));
  };
  for (const std::string& name : said) {
    const absl::string_view plain = absl::StripSuffix(name, ".zstd");
    names.insert(plain);
    if (std::get<1>(Order(name)) >= 0) rows.insert(row_of(plain));
  }
  std::vector<std::string> found;
  for (const std::string& name : there) {
    const absl::string_view plain = absl::StripSuffix(name, ".zstd");
    if (names.count(plain) == 0 && std::get<1>(Order(name)) >= 0 && rows.count(row_of(plain)) != 0) {
      found.push_back(name);
    }
  }
  return found;
}

}  // namespace glint::bag
