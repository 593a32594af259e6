#include "bag/rosbag2_folder.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "bag/compression.h"
#include "bag/file.h"
#include "bag/recording_file.h"
#include "bag/rosbag2_metadata.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::bag {
namespace {

constexpr size_t kMostOpen = 8;     // files that stay open while they are not read
constexpr size_t kMostAtATime = 4;  // files whose times overlap and that are read together
constexpr size_t kMetadataBytes = 2 << 20;
constexpr int kMostEntries = 100000;  // of a folder
constexpr size_t kMostNames = 10;     // in a note

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator at(folder, error);
  for (int i = 0; !error && at != std::filesystem::directory_iterator() && i < kMostEntries; ++i) {
    names.push_back(at->path().filename().string());
    at.increment(error);
  }
  return names;
}

std::string Names(const std::vector<std::string>& names) {
  std::vector<std::string> some(names.begin(),
                                names.begin() + static_cast<int64_t>(std::min(names.size(), kMostNames)));
  for (std::string& name : some) name = Echo(name);
  return absl::StrCat(absl::StrJoin(some, ", "),
                      names.size() > some.size() ? absl::StrCat(" and ", names.size() - some.size(), " more") : "");
}

// The names of the files, and what there is to say of metadata.yaml: a recorder that died has not written it, or only
// as it was when it began.
absl::StatusOr<Rosbag2Metadata> ReadMetadata(const std::string& folder, std::vector<std::string>* notes) {
  absl::Status status;
  if (const auto file = File::Open(absl::StrCat(folder, "/metadata.yaml")); file.ok()) {
    auto metadata = ParseRosbag2Metadata(file->ReadText(0, kMetadataBytes));
    if (metadata.ok() && !metadata->compression.empty() && metadata->compression != "zstd") {
      return InFile(folder, NotOneOfError("metadata.yaml: compression_format", metadata->compression, "zstd"));
    }
    if (metadata.ok() && !metadata->files.empty()) {
      const std::vector<std::string> others = FilesNotSaid(metadata->files, RecordingFiles(NamesIn(folder)));
      if (others.empty()) return metadata;
      notes->push_back(
          absl::StrCat("metadata.yaml does not name files of the same row, which are read: ", Names(others)));
      metadata->files.insert(metadata->files.end(), others.begin(), others.end());
      return metadata;
    }
    status = metadata.ok() ? absl::NotFoundError("it names no files") : metadata.status();
  } else {
    status = absl::NotFoundError("it is not there");
  }
  Rosbag2Metadata found;
  found.files = RecordingFiles(NamesIn(folder));
  if (found.files.empty()) {
    return InFile(folder, absl::InvalidArgumentError(absl::StrCat(
                              "no folder of rosbag2: metadata.yaml: ", status.message(), "; and no .db3 or .mcap")));
  }
  notes->push_back(absl::StrCat("metadata.yaml is not used: ", status.message()));
  return found;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Bag>> OpenRosbag2Folder(const std::string& path) {
  std::vector<std::string> notes, missing;
  GLINT_ASSIGN_OR_RETURN(const Rosbag2Metadata metadata, ReadMetadata(path, &notes));
  auto reader = std::make_unique<Rosbag2Reader>();
  int files = 0;
  const auto add = [&](const std::string& name) {
    // Compressed, or decompressed, after metadata.yaml was written.
    const std::string plain(absl::StripSuffix(name, ".zstd"));
    absl::Status status = absl::NotFoundError("");
    for (const std::string& there : {name, plain == name ? absl::StrCat(name, ".zstd") : plain}) {
      if (absl::IsNotFound(status)) status = reader->AddFile(absl::StrCat(path, "/", there), name);
    }
    files += status.ok() ? 1 : 0;
    if (absl::IsNotFound(status)) {
      missing.push_back(name);
    } else if (!status.ok()) {
      notes.emplace_back(status.message());
    }
  };
  for (const std::string& name : metadata.files) add(name);
  if (missing.size() == metadata.files.size()) {  // somebody has renamed them
    const std::vector<std::string> others = RecordingFiles(NamesIn(path));
    if (!others.empty())
      notes.push_back(absl::StrCat("files that metadata.yaml does not name are read: ", Names(others)));
    for (const std::string& name : others) add(name);
  }
  if (!missing.empty()) notes.push_back(absl::StrCat("files are missing: ", Names(missing)));
  if (files == 0) {
    return InFile(path, absl::InvalidArgumentError(absl::StrCat("nothing can be read: ", notes.back())));
  }
  reader->AddTopicsWithout(metadata.topics);
  int64_t messages = 0;
  for (const Topic& topic : reader->topics()) messages += topic.messages;
  if (metadata.messages > messages) {
    notes.push_back(absl::StrCat("metadata.yaml says ", metadata.messages, " messages, and ", messages, " are there"));
  }
  reader->Complete(notes);
  return reader;
}

absl::StatusOr<std::unique_ptr<Bag>> OpenOneFile(const std::string& path) {
  auto reader = std::make_unique<Rosbag2Reader>();
  GLINT_RETURN_IF_ERROR(reader->AddFile(path, ""));
  reader->Complete({});
  return reader;
}

void Rosbag2Reader::AddNote(const Part& part, absl::string_view note) {
  Note(part.name.empty() ? std::string(note) : absl::StrCat(Echo(part.name), ": ", note));
}

absl::Status Rosbag2Reader::Open(Part* part) {
  std::vector<std::string> notes;
  GLINT_ASSIGN_OR_RETURN(part->bag, OpenRecordingFile(part->path, &notes));
  for (const std::string& note : notes) AddNote(*part, note);
  part->notes_taken = 0;
  return absl::OkStatus();
}

void Rosbag2Reader::CloseIfMany(Part* part) {
  for (; part->notes_taken < part->bag->notes().size(); ++part->notes_taken) {
    AddNote(*part, part->bag->notes()[part->notes_taken]);
  }
  if (parts_.size() > kMostOpen) part->bag.reset();
}

absl::Status Rosbag2Reader::AddFile(const std::string& path, const std::string& name) {
  auto part = std::make_unique<Part>();
  part->path = path;
  part->name = name;
  GLINT_RETURN_IF_ERROR(Open(part.get()));
  if (format_.empty()) format_ = part->bag->format();
  for (const Topic& topic : part->bag->topics()) {
    Topic added = topic;
    added.messages = 0;
    part->topics.push_back(AddTopic(std::move(added)));
    Count(part->topics.back(), topic.messages, topic.first_ns, topic.last_ns);
    if (topic.messages > 0) part->first_ns = std::min(part->first_ns, topic.first_ns);
  }
  parts_.push_back(std::move(part));
  CloseIfMany(parts_.back().get());
  return absl::OkStatus();
}

void Rosbag2Reader::AddTopicsWithout(std::vector<Topic> topics) {
  std::set<std::string> names;
  for (const Topic& topic : this->topics()) names.insert(topic.name);
  for (Topic& topic : topics) {
    if (names.insert(topic.name).second) AddTopic(std::move(topic));
  }
}

void Rosbag2Reader::Complete(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) Note(note);
  std::stable_sort(parts_.begin(), parts_.end(),
                   [](const auto& a, const auto& b) { return a->first_ns < b->first_ns; });
}

absl::Status Rosbag2Reader::Select(absl::Span<const int> topics) {
  GLINT_RETURN_IF_ERROR(SetSelected(topics));
  next_part_ = 0;
  begun_.clear();
  given_ = nullptr;
  return absl::OkStatus();
}

// Opens a file, unless it has none of the topics.
absl::Status Rosbag2Reader::Begin(Part* part) {
  std::vector<int> selected;
  for (size_t i = 0; i < part->topics.size(); ++i) {
    if (IsSelected(part->topics[i])) selected.push_back(static_cast<int>(i));
  }
  if (selected.empty()) return absl::OkStatus();
  if (part->bag == nullptr) GLINT_RETURN_IF_ERROR(Open(part));
  GLINT_RETURN_IF_ERROR(part->bag->Select(selected));
  begun_.push_back(part);
  return Advance(part);
}

absl::Status Rosbag2Reader::Advance(Part* part) {
  absl::Status status = part->bag->Next(&part->next);
  if (status.ok()) return status;
  begun_.erase(std::find(begun_.begin(), begun_.end(), part));
  CloseIfMany(part);
  return absl::IsOutOfRange(status) ? absl::OkStatus() : status;
}

Rosbag2Reader::Part* Rosbag2Reader::Earliest() const {
  const auto at = std::min_element(begun_.begin(), begun_.end(), [](const Part* a, const Part* b) {
    return a->next.time_ns < b->next.time_ns;  // the first one of equals
  });
  return at == begun_.end() ? nullptr : *at;
}

absl::Status Rosbag2Reader::BeginWhatIsDue() {
  for (; next_part_ < parts_.size(); ++next_part_) {
    Part* const part = parts_[next_part_].get();
    const Part* const earliest = Earliest();
    if (earliest != nullptr && part->first_ns > earliest->next.time_ns) break;
    if (begun_.size() == kMostAtATime) {
      Note(absl::StrCat("more than ", kMostAtATime, " files are of the same time: their messages are not in order"));
      break;
    }
    if (absl::Status status = Begin(part); !status.ok()) {
      if (parts_.size() == 1) return status;
      AddNote(*part, status.message());
    }
  }
  return absl::OkStatus();
}

// False, and noted: it is damaged.
bool Rosbag2Reader::Decompress(Message* message) {
  const absl::string_view text(reinterpret_cast<const char*>(message->data.data()), message->data.size());
  if (!absl::StartsWith(text, kZstdMagic) || topics_[static_cast<size_t>(message->topic)].encoding != "cdr")
    return true;
  const absl::Status status = DecompressZstd(message->data, static_cast<size_t>(kLargestMessage), &decompressed_);
  if (!status.ok()) AddNote(*given_, absl::StrCat("a compressed message is damaged: ", status.message()));
  message->data = decompressed_;
  return status.ok();
}

absl::Status Rosbag2Reader::Next(Message* message) {
  while (true) {
    if (given_ != nullptr) {
      Part* const part = std::exchange(given_, nullptr);
      if (absl::Status status = Advance(part); !status.ok()) {
        if (parts_.size() == 1) return status;
        AddNote(*part, status.message());
      }
    }
    GLINT_RETURN_IF_ERROR(BeginWhatIsDue());
    given_ = Earliest();
    if (given_ == nullptr) return absl::OutOfRangeError("the end of the recording");
    *message = given_->next;
    message->topic = given_->topics[static_cast<size_t>(message->topic)];
    if (IsSelected(message->topic) && Decompress(message)) return absl::OkStatus();
  }
}

}  // namespace glint::bag
