#include "bag/reader.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"

namespace glint::bag {
namespace {

constexpr size_t kMostDefinitionBytes = size_t{1} << 26;  // of all topics together
constexpr size_t kLongestName = 4096;
constexpr size_t kMostNotes = 100;

}  // namespace

std::string TypeName(absl::string_view recorded) {
  const size_t slash = recorded.find('/');
  if (slash == absl::string_view::npos || slash != recorded.rfind('/')) return std::string(recorded);
  return absl::StrCat(recorded.substr(0, slash), "/msg", recorded.substr(slash));
}

absl::Status InFile(absl::string_view path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(Echo(path), ": ", status.message()));
}

int Reader::AddTopic(Topic topic) {
  topic.type = TypeName(topic.type);
  const auto key = std::make_tuple(topic.name, topic.type, topic.encoding);
  if (const auto at = known_.find(key); at != known_.end()) return at->second;
  if (topics_.size() >= kMostTopics) {
    Note(absl::StrCat("topics: more than ", kMostTopics, "; the others are left out"));
    return -1;
  }
  if (std::max({topic.name.size(), topic.type.size(), topic.encoding.size()}) > kLongestName) {
    Note(absl::StrCat("topic ", Echo(topic.name), ": name, type or encoding is longer than ", kLongestName,
                      " bytes; it is left out"));
    return -1;
  }
  if (topic.definition.size() > kMostDefinitionBytes - definition_bytes_) {
    Note(absl::StrCat("topic ", Echo(topic.name), ": the definition of ", Echo(topic.type),
                      " is left out: ", topic.definition.size(), " bytes"));
    topic.definition.clear();
    topic.definition_encoding.clear();
  }
  definition_bytes_ += topic.definition.size();
  known_.emplace(key, static_cast<int>(topics_.size()));
  topics_.push_back(std::move(topic));
  selected_.push_back(false);
  return static_cast<int>(topics_.size()) - 1;
}

void Reader::Count(int topic, int64_t messages, int64_t first_ns, int64_t last_ns) {
  if (topic < 0 || messages <= 0) return;
  Topic& counted = topics_[static_cast<size_t>(topic)];
  counted.first_ns = counted.messages == 0 ? first_ns : std::min(counted.first_ns, first_ns);
  counted.last_ns = counted.messages == 0 ? last_ns : std::max(counted.last_ns, last_ns);
  counted.messages += messages;
}

void Reader::Note(std::string note) {
  if (std::find(notes_.begin(), notes_.end(), note) != notes_.end() || notes_.size() > kMostNotes) return;
  notes_.push_back(notes_.size() == kMostNotes ? "more of this kind" : std::move(note));
}

absl::Status Reader::SetSelected(absl::Span<const int> topics) {
  for (const int topic : topics) {
    if (topic < 0 || static_cast<size_t>(topic) >= topics_.size()) {
      return OutOfRangeError("topic", topic, 0, static_cast<int>(topics_.size()) - 1);
    }
  }
  std::fill(selected_.begin(), selected_.end(), false);
  for (const int topic : topics) selected_[static_cast<size_t>(topic)] = true;
  missing_ = 0;
  for (size_t i = 0; i < topics_.size(); ++i) missing_ += selected_[i] ? topics_[i].messages : 0;
  return absl::OkStatus();
}

}  // namespace glint::bag
