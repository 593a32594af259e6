// Bags of ROS 1, version 2.0: closed, or as a recorder that died left them.
#ifndef GLINT_BAG_ROS1_READER_H_
#define GLINT_BAG_ROS1_READER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "bag/bag.h"
#include "bag/file.h"
#include "bag/reader.h"
#include "bag/ros1_ahead.h"
#include "bag/ros1_chunk.h"
#include "bag/ros1_records.h"

namespace glint::bag {

// Whether a file that begins so is a bag of ROS 1, of any version.
bool IsRos1(absl::string_view beginning);

// NOT_FOUND; INVALID_ARGUMENT: no bag of ROS 1, of another version, encrypted, or nothing of it can be read; INTERNAL:
// any other error of the system.
absl::StatusOr<std::unique_ptr<Bag>> OpenRos1(const std::string& path);

class Ros1Reader : public Reader {
 public:
  explicit Ros1Reader(File file);

  // Finds connections and chunks: from the index and, for the times of each topic, the index records behind the chunks;
  // or else from the file as a whole, behind damage from the next chunk on. Chunks are decompressed where their index
  // records are missing or do not agree.
  absl::Status Survey();
  std::string format() const override { return "ROS 1 bag"; }
  absl::Status Select(absl::Span<const int> topics) override;
  absl::Status Next(Message* message) override;

 private:
  struct Place {
    int64_t offset = 0;
    int64_t messages = -1;  // negative: not known
  };
  // A chunk in memory, and those of its messages that are wanted.
  struct Loaded {
    struct Entry {
      int64_t time_ns;
      absl::Span<const uint8_t> data;
      int topic;
    };
    int64_t offset = 0, bytes = 0;
    std::vector<uint8_t> data;
    std::vector<Entry> entries;
    size_t next = 0;
  };
  static bool IsLater(const std::unique_ptr<Loaded>& a, const std::unique_ptr<Loaded>& b);

  absl::Status ReadHeader(Ros1FileRecord* header);
  bool ReadIndex(int64_t offset, uint32_t connections, uint32_t chunks, std::vector<Place>* places);
  void AddPlaces(int64_t begin, const std::vector<Place>& places);
  void ReadWholeFile(int64_t offset);
  void AddConnection(const Ros1FileRecord& record);
  void AddConnection(const Ros1Fields& header, absl::Span<const uint8_t> data);
  int TopicOf(uint32_t connection);
  int64_t AddChunk(const Ros1FileRecord& record, const Place& place);
  std::vector<Ros1Count> CountMessages(const Ros1Chunk& chunk);

  void Load(const Ros1Chunk& chunk, std::vector<uint8_t>* data, absl::FunctionRef<void(const Ros1Record&)> each);
  bool HasSelected(const Ros1Chunk& chunk) const;
  void LoadSelected(const Ros1Chunk& chunk);
  void BeginAhead();
  void LeaveFront();

  File file_;
  std::map<uint32_t, int> connections_;  // topics; -1: of none
  std::vector<Ros1Chunk> chunks_;        // by their first times
  std::vector<uint8_t> scratch_;
  int64_t vain_bytes_ = 0;  // decompressed without a message that is wanted

  size_t next_chunk_ = 0;
  size_t loads_ = 0;       // since Select()
  size_t next_ahead_ = 0;  // of chunks_
  Ros1Ahead ahead_;
  std::vector<std::unique_ptr<Loaded>> loaded_;  // a heap, whose front has the next message
  std::unique_ptr<Loaded> spare_;
  int64_t loaded_bytes_ = 0;
  bool front_is_given_ = false;
};

}  // namespace glint::bag

#endif  // GLINT_BAG_ROS1_READER_H_
