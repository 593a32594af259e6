// What a recording gives, for comparisons.
#ifndef GLINT_TESTS_BAG_READ_ALL_H_
#define GLINT_TESTS_BAG_READ_ALL_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "bag/bag.h"

namespace glint::bag {

struct Seen {
  int topic = 0;
  int64_t time_ns = 0;
  std::string data;

  bool operator==(const Seen& other) const {
    return std::tie(topic, time_ns, data) == std::tie(other.topic, other.time_ns, other.data);
  }
  friend std::ostream& operator<<(std::ostream& out, const Seen& seen) {
    return out << seen.topic << " " << seen.time_ns << " \"" << seen.data << "\"";
  }
};

// What was opened, with all its topics selected; null, and a failure, if it was not.
inline std::unique_ptr<Bag> SelectAll(absl::StatusOr<std::unique_ptr<Bag>> bag) {
  EXPECT_TRUE(bag.ok()) << bag.status();
  if (!bag.ok()) return nullptr;
  std::vector<int> all((*bag)->topics().size());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_TRUE((*bag)->Select(all).ok());
  return *std::move(bag);
}

// From where the bag is to its end.
inline std::vector<Seen> ReadAll(Bag* bag) {
  std::vector<Seen> all;
  Message message;
  absl::Status status;
  while ((status = bag->Next(&message)).ok()) {
    all.push_back({message.topic, message.time_ns, {message.data.begin(), message.data.end()}});
  }
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
  return all;
}

inline std::vector<std::string> Datas(const std::vector<Seen>& all) {
  std::vector<std::string> datas;
  for (const Seen& seen : all) datas.push_back(seen.data);
  return datas;
}

// All fields, a blank between them.
inline std::string Text(const Topic& topic) {
  return absl::StrCat(topic.name, " ", topic.type, " ", topic.encoding, " ", topic.definition_encoding, " ",
                      topic.definition, " ", topic.messages, " ", topic.first_ns, " ", topic.last_ns);
}

}  // namespace glint::bag

#endif  // GLINT_TESTS_BAG_READ_ALL_H_
