// Recordings of robots: what topics a file has, and its messages. MCAP, rosbag2's folders and SQLite files, and ROS 1's
// bags.
#ifndef GLINT_BAG_BAG_H_
#define GLINT_BAG_BAG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace glint::bag {

struct Topic {
  std::string name;      // as recorded
  std::string type;      // as recorded; ROS 1's and older ROS 2's "sensor_msgs/Image" is "sensor_msgs/msg/Image" here
  std::string encoding;  // of the messages: "cdr", "ros1", or what else the recording says ("protobuf", "json")
  std::string definition_encoding;  // of the type: "ros2msg", "ros2idl", "ros1msg", ...; empty: the recording has none
  std::string definition;
  // Of those in the recording that can be read; times are of recording (not of capture), nanoseconds since the epoch.
  int64_t messages = 0;
  int64_t first_ns = 0, last_ns = 0;
};

struct Message {
  int topic = 0;  // index of topics()
  int64_t time_ns = 0;
  absl::Span<const uint8_t> data;  // valid until the next call
};

// Files are not trusted: no size in them is believed beyond the file's own, and memory stays within a few times
// kLargestChunk for each file that is open, whatever they say. What is damaged or cut off is passed over and said in
// notes(). Thread-compatible.
class Bag {
 public:
  static constexpr int64_t kLargestMessage = int64_t{1} << 26;
  static constexpr int64_t kLargestChunk = int64_t{1} << 27;  // decompressed
  static constexpr int kMostTopics = 4096;

  // A file of any of the formats, known by its content, or a folder of rosbag2 (metadata.yaml, several files in a row).
  // NOT_FOUND; PERMISSION_DENIED; INVALID_ARGUMENT: not a recording, or nothing of it can be read; UNAVAILABLE: locked
  // by the program that writes it; INTERNAL: an error of the system. Topics and counts are known then, for which a file
  // without an index is read once.
  static absl::StatusOr<std::unique_ptr<Bag>> Open(const std::string& path);
  virtual ~Bag() = default;

  const std::vector<Topic>& topics() const { return topics_; }
  // "MCAP", "rosbag2 SQLite", "ROS 1 bag".
  virtual std::string format() const = 0;
  // What Next() gives: messages of these topics (indices) alone; before the first call none. Begins again. Parts of a
  // file that have none are not decompressed.
  virtual absl::Status Select(absl::Span<const int> topics) = 0;
  // In the order of their times as recorded; equal times, in that of the file. ROS 1's bags without an index are read
  // chunk by chunk, SQLite files that are damaged from damage to damage, messages sorted within each. OUT_OF_RANGE at
  // the end. Any other error ends it.
  virtual absl::Status Next(Message* message) = 0;
  // What was left out of the recording and why, for people: "cut off after 312 of 400 chunks: ...". Complete at the
  // end.
  const std::vector<std::string>& notes() const { return notes_; }

 protected:
  std::vector<Topic> topics_;
  std::vector<std::string> notes_;
};

}  // namespace glint::bag

#endif  // GLINT_BAG_BAG_H_
