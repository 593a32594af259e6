// Bags of ROS 1 written record by record.
#ifndef GLINT_TESTS_BAG_RAW_ROS1_H_
#define GLINT_TESTS_BAG_RAW_ROS1_H_

#include <bzlib.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/bag/raw_mcap.h"

namespace glint::bag::raw {

using Fields = std::vector<std::pair<std::string, std::string>>;

inline std::string Join(const Fields& fields) {
  std::string joined;
  for (const auto& [name, value] : fields) joined += Text(name + "=" + value);
  return joined;
}
inline std::string Ros1Record(const Fields& fields, const std::string& data) { return Text(Join(fields)) + Text(data); }
inline std::string Ros1Time(int64_t time_ns) {
  return Le(static_cast<uint64_t>(time_ns / 1000000000), 4) + Le(static_cast<uint64_t>(time_ns % 1000000000), 4);
}
inline std::string Ros1Connection(int id, const std::string& topic, const std::string& type) {
  return Ros1Record(
      {{"op", "\x07"}, {"conn", Le(static_cast<uint64_t>(id), 4)}, {"topic", topic}},
      Join({{"topic", topic}, {"type", type}, {"md5sum", "*"}, {"message_definition", "text of " + type}}));
}
inline std::string Bzip2(const std::string& data) {
  std::string out(data.size() + 1000, '\0');
  auto size = static_cast<unsigned>(out.size());
  EXPECT_EQ(BZ2_bzBuffToBuffCompress(out.data(), &size, const_cast<char*>(data.data()),
                                     static_cast<unsigned>(data.size()), 1, 0, 0),
            BZ_OK);
  return out.substr(0, size);
}

class Ros1Bag {
 public:
  // `begin`: where the first record behind the bag's header is, which is padded up to there.
  explicit Ros1Bag(size_t begin = 13 + 4096) : begin_(begin) {}

  void Connect(int id, const std::string& topic, const std::string& type) {
    connections_[id] = Ros1Connection(id, topic, type);
  }
  // Connections come with the first chunk that has messages of them. Message::time is in ns.
  void AddChunk(const std::vector<Message>& messages, const std::string& compression = "none", bool index = true) {
    std::string records, counts;
    std::map<int, std::string> entries;
    uint64_t first = ~uint64_t{0}, last = 0;
    for (const Message& message : messages) {
      if (!said_[message.channel]) records += connections_[message.channel];
      said_[message.channel] = true;
      const std::string time = Ros1Time(static_cast<int64_t>(message.time));
      entries[message.channel] += time + Le(records.size(), 4);
      records += Ros1Record({{"op", "\x02"}, {"conn", Le(static_cast<uint64_t>(message.channel), 4)}, {"time", time}},
                            message.data);
      first = std::min(first, message.time);
      last = std::max(last, message.time);
    }
    const std::string stored = compression == "lz4" ? Lz4(records) : compression == "bz2" ? Bzip2(records) : records;
    places_.push_back(size());
    body_ += Ros1Record({{"compression", compression}, {"op", "\x05"}, {"size", Le(records.size(), 4)}}, stored);
    const std::string version = Le(1, 4);
    for (const auto& [id, list] : entries) {
      const std::string connection = Le(static_cast<uint64_t>(id), 4), count = Le(list.size() / 12, 4);
      counts += connection + count;
      if (!index) continue;
      body_ += Ros1Record({{"conn", connection}, {"count", count}, {"op", "\x04"}, {"ver", version}}, list);
    }
    infos_.push_back(Ros1Record({{"chunk_pos", Le(places_.back(), 8)},
                                 {"count", Le(entries.size(), 4)},
                                 {"end_time", Ros1Time(static_cast<int64_t>(last))},
                                 {"op", "\x06"},
                                 {"start_time", Ros1Time(static_cast<int64_t>(first))},
                                 {"ver", version}},
                                counts));
  }
  size_t size() const { return begin_ + body_.size(); }
  const std::vector<size_t>& places() const { return places_; }  // of the chunks
  std::vector<std::string>& infos() { return infos_; }           // of the chunks

  // As a recorder that died leaves it.
  std::string Left() const { return Beginning(0, 0, 0, "") + body_; }
  std::string Closed(const std::string& encryptor = "") const {
    std::string index;
    for (const auto& connection : connections_) index += connection.second;
    for (const std::string& info : infos_) index += info;
    return Beginning(size(), connections_.size(), infos_.size(), encryptor) + body_ + index;
  }

 private:
  std::string Beginning(size_t index, size_t connections, size_t chunks, const std::string& encryptor) const {
    const std::string fields = Join({{"chunk_count", Le(chunks, 4)},
                                     {"conn_count", Le(connections, 4)},
                                     {"encryptor", encryptor},
                                     {"index_pos", Le(index, 8)},
                                     {"op", "\x03"}});
    return "#ROSBAG V2.0\n" + Text(fields) + Text(std::string(begin_ - 13 - 8 - fields.size(), ' '));
  }

  const size_t begin_;
  std::map<int, std::string> connections_;
  std::map<int, bool> said_;
  std::string body_;
  std::vector<size_t> places_;
  std::vector<std::string> infos_;
};

}  // namespace glint::bag::raw

#endif  // GLINT_TESTS_BAG_RAW_ROS1_H_
