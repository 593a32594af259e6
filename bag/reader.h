// What the readers of all formats have in common.
#ifndef GLINT_BAG_READER_H_
#define GLINT_BAG_READER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "bag/bag.h"

namespace glint::bag {

// "sensor_msgs/Image" as "sensor_msgs/msg/Image"; any other type as it is.
std::string TypeName(absl::string_view recorded);

// `status` with the path before its text.
absl::Status InFile(absl::string_view path, const absl::Status& status);

class Reader : public Bag {
 protected:
  // The index in topics() of this topic, known by name, type (for which see TypeName()) and encoding; added unless it
  // is there. -1: one of too many, which is noted. A definition that is too long is noted and left out.
  int AddTopic(Topic topic);
  // Counts messages of these times.
  void Count(int topic, int64_t messages, int64_t first_ns, int64_t last_ns);
  // Adds to notes(), once each, unless there are too many.
  void Note(std::string note);
  // For Select(). INVALID_ARGUMENT: an index that is none.
  absl::Status SetSelected(absl::Span<const int> topics);
  // Messages of the selected topics as they were counted; a reader takes off what it gives.
  int64_t missing_ = 0;
  // False for -1.
  bool IsSelected(int topic) const { return topic >= 0 && selected_[static_cast<size_t>(topic)]; }

 private:
  std::map<std::tuple<std::string, std::string, std::string>, int> known_;  // name, type, encoding: index
  std::vector<bool> selected_;                                              // of each topic
  size_t definition_bytes_ = 0;                                             // of all topics
};

}  // namespace glint::bag

#endif  // GLINT_BAG_READER_H_
