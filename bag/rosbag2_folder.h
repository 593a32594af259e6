// Recordings of rosbag2: a folder with metadata.yaml and files in a row, or one file.
#ifndef GLINT_BAG_ROSBAG2_FOLDER_H_
#define GLINT_BAG_ROSBAG2_FOLDER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "bag/bag.h"
#include "bag/reader.h"

namespace glint::bag {

// The files that metadata.yaml names are looked for in the folder alone; those that are missing or of which nothing can
// be read are noted, and so are those of the same row that it does not name, which are read. If none that it names is
// there, or without a metadata.yaml that can be read and names files, which is noted: all .db3, .mcap, .db3.zstd and
// .mcap.zstd. Topics are also those that metadata.yaml alone has. INVALID_ARGUMENT: no folder of rosbag2, or nothing of
// it can be read.
absl::StatusOr<std::unique_ptr<Bag>> OpenRosbag2Folder(const std::string& path);
// A file of any format.
absl::StatusOr<std::unique_ptr<Bag>> OpenOneFile(const std::string& path);

// Files as one recording. Topics of the same name, type and encoding are one. Messages in CDR that Zstandard has
// compressed one by one are decompressed: their first bytes are none that CDR begins with.
class Rosbag2Reader : public Reader {
 public:
  // `name`: of the file, in notes; empty for one that is the whole recording. Errors: those of OpenRecordingFile().
  absl::Status AddFile(const std::string& path, const std::string& name);
  // Those whose names no file has, without messages. After the last file.
  void AddTopicsWithout(std::vector<Topic> topics);
  // At the end, with what else there is to say.
  void Complete(const std::vector<std::string>& notes);

  std::string format() const override { return format_; }
  absl::Status Select(absl::Span<const int> topics) override;
  absl::Status Next(Message* message) override;

 private:
  struct Part {
    std::string path, name;
    std::vector<int> topics;                                 // indices in topics() of those of the file
    int64_t first_ns = std::numeric_limits<int64_t>::max();  // of its messages
    std::unique_ptr<Bag> bag;                                // null: closed
    size_t notes_taken = 0;                                  // of those of `bag`
    Message next;
  };

  void AddNote(const Part& part, absl::string_view note);
  absl::Status Open(Part* part);
  void CloseIfMany(Part* part);
  absl::Status Begin(Part* part);
  absl::Status BeginWhatIsDue();
  absl::Status Advance(Part* part);
  Part* Earliest() const;
  bool Decompress(Message* message);

  std::string format_;
  std::vector<std::unique_ptr<Part>> parts_;  // by their first times
  size_t next_part_ = 0;                      // of those that are not yet begun
  std::vector<Part*> begun_;                  // that have a message
  Part* given_ = nullptr;                     // whose message was given
  std::vector<uint8_t> decompressed_;
};

}  // namespace glint::bag

#endif  // GLINT_BAG_ROSBAG2_FOLDER_H_
