// Records of ROS 1's bags, version 2.0 (http://wiki.ros.org/Bags/Format/2.0): a header of named fields, and data. All
// numbers are little-endian.
#ifndef GLINT_BAG_ROS1_RECORDS_H_
#define GLINT_BAG_ROS1_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "bag/file.h"

namespace glint::bag {

inline constexpr absl::string_view kRos1Magic = "#ROSBAG V2.0\n";

enum Ros1Op : uint8_t {
  kRos1Message = 2,
  kRos1BagHeader = 3,
  kRos1Index = 4,
  kRos1Chunk = 5,
  kRos1ChunkInfo = 6,
  kRos1Connection = 7
};

inline uint32_t LittleEndian32(const uint8_t* bytes) {
  return static_cast<uint32_t>(bytes[0]) | static_cast<uint32_t>(bytes[1]) << 8 |
         static_cast<uint32_t>(bytes[2]) << 16 | static_cast<uint32_t>(bytes[3]) << 24;
}

inline int64_t Ros1Time(uint32_t seconds, uint32_t nanoseconds) { return int64_t{seconds} * 1000000000 + nanoseconds; }

// Fields of a record's header, or of what a connection's data are. Views of the bytes.
class Ros1Fields {
 public:
  // False: damaged.
  bool Parse(absl::Span<const uint8_t> bytes);

  // Empty: there is none.
  absl::string_view Text(absl::string_view name) const;
  // Nothing: there is none of this size.
  template <typename T>
  std::optional<T> Number(absl::string_view name) const {
    const absl::string_view text = Text(name);
    if (text.size() != sizeof(T)) return std::nullopt;
    uint64_t value = 0;
    for (size_t i = sizeof(T); i-- > 0;) value = value << 8 | static_cast<uint8_t>(text[i]);
    return static_cast<T>(value);
  }
  int op() const { return Number<uint8_t>("op").value_or(0); }

 private:
  absl::InlinedVector<std::pair<absl::string_view, absl::string_view>, 8> fields_;
};

// A record in memory.
struct Ros1Record {
  Ros1Fields header;
  absl::Span<const uint8_t> data;
};

// Takes the first record of `bytes`. False: damaged or cut off.
bool TakeRos1Record(absl::Span<const uint8_t>* bytes, Ros1Record* record);

// A record in a file, its data not read.
struct Ros1FileRecord {
  Ros1FileRecord() = default;
  Ros1FileRecord(const Ros1FileRecord&) = delete;
  Ros1FileRecord& operator=(const Ros1FileRecord&) = delete;

  Ros1Fields header;  // of `bytes`
  std::string bytes;
  int64_t data_offset = 0, data_size = 0;

  int64_t end() const { return data_offset + data_size; }
};

// The record at `offset`. Its data may go beyond the end of the file. OUT_OF_RANGE: the file ends before the data;
// INVALID_ARGUMENT: damaged; INTERNAL: an error of the system.
absl::Status ReadRos1Record(const File& file, int64_t offset, Ros1FileRecord* record);

}  // namespace glint::bag

#endif  // GLINT_BAG_ROS1_RECORDS_H_
