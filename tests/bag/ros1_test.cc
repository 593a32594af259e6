// Bags of ROS 1: closed, left open, cut, damaged, and made to do harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bag/ros1_reader.h"
#include "tests/bag/raw_ros1.h"
#include "tests/bag/read_all.h"

namespace glint::bag {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kStart = 1700000000999999990;  // the seconds change within the bag

std::unique_ptr<Bag> Open(const std::string& bytes) { return SelectAll(OpenRos1(raw::Save(bytes, ".bag"))); }
std::string ErrorOf(const std::string& bytes) {
  const auto bag = OpenRos1(raw::Save(bytes, ".bag"));
  EXPECT_TRUE(absl::IsInvalidArgument(bag.status())) << bag.status();
  return std::string(bag.status().message());
}

// Two chunks whose times overlap.
raw::Ros1Bag TwoChunks(const std::string& compression, size_t begin = 13 + 4096, bool index = true) {
  raw::Ros1Bag bag(begin);
  bag.Connect(0, "/imu", "sensor_msgs/Imu");
  bag.Connect(7, "/left image", "sensor_msgs/Image");
  bag.AddChunk({{0, kStart, "i0"}, {7, kStart + 20, "p20"}, {0, kStart + 10, "i10"}}, compression, index);
  bag.AddChunk({{0, kStart + 15, "i15"}, {7, kStart + 20, "q20"}, {0, kStart + 30, "i30"}}, compression, index);
  return bag;
}

void ExpectTwoChunks(Bag* bag) {
  ASSERT_EQ(bag->topics().size(), 2u);
  EXPECT_EQ(Text(bag->topics()[0]),
            "/imu sensor_msgs/msg/Imu ros1 ros1msg text of sensor_msgs/Imu 4 "
            "1700000000999999990 1700000001000000020");
  EXPECT_EQ(Text(bag->topics()[1]),
            "/left image sensor_msgs/msg/Image ros1 ros1msg text of sensor_msgs/Image 2 "
            "1700000001000000010 1700000001000000010");
  const std::vector<Seen> all = ReadAll(bag);
  EXPECT_THAT(Datas(all), ElementsAre("i0", "i10", "i15", "p20", "q20", "i30"));
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(all[3].topic, 1);
  EXPECT_EQ(all[3].time_ns, static_cast<int64_t>(kStart) + 20);
}

TEST(Ros1, ClosedBagsOfEveryCompressionAreInOrder) {
  for (const char* compression : {"none", "lz4", "bz2"}) {
    SCOPED_TRACE(compression);
    const auto bag = Open(TwoChunks(compression).Closed());
    ASSERT_NE(bag, nullptr);
    EXPECT_EQ(bag->format(), "ROS 1 bag");
    ExpectTwoChunks(bag.get());
    EXPECT_THAT(bag->notes(), IsEmpty());
  }
}

TEST(Ros1, BagsThatAreNotClosedAreToo) {
  for (const char* compression : {"none", "lz4", "bz2"}) {
    SCOPED_TRACE(compression);
    const auto bag = Open(TwoChunks(compression).Left());
    ASSERT_NE(bag, nullptr);
    ExpectTwoChunks(bag.get());
    EXPECT_THAT(bag->notes(), ElementsAre(HasSubstr("not closed")));
  }
}

// The header is padded to 4096 bytes without its two lengths (ROS), with them (rosbags), or with the first line too.
TEST(Ros1, RecordsBeginWhereTheHeaderEnds) {
  for (const size_t begin : {13 + 4 + 4096 + 4, 13 + 4096, 4096}) {
    SCOPED_TRACE(begin);
    std::string bytes = TwoChunks("none", begin).Closed();
    const auto bag = Open(bytes);
    ASSERT_NE(bag, nullptr);
    ExpectTwoChunks(bag.get());
    EXPECT_THAT(bag->notes(), IsEmpty());
    bytes[bytes.find("op=\x03") + 3] = '\x7f';
    const auto damaged = Open(bytes);
    ASSERT_NE(damaged, nullptr);
    ExpectTwoChunks(damaged.get());
    EXPECT_THAT(damaged->notes(), Contains("the bag's header is damaged"));
  }
}

TEST(Ros1, SelectionBeginsAgainAndOtherChunksAreNotDecompressed) {
  raw::Ros1Bag raw;
  raw.Connect(0, "/a", "pkg/A");
  raw.Connect(1, "/b", "pkg/B");
  raw.AddChunk({{0, 1, "a1"}}, "lz4");
  raw.AddChunk({{1, 2, "b2"}}, "lz4");
  raw.AddChunk({{0, 3, "a3"}, {1, 3, "b3"}}, "lz4");
  std::string bytes = raw.Closed();
  const size_t magic = bytes.find("\x04\x22\x4d\x18", raw.places()[1]);
  bytes[magic] = 0;
  const auto bag = Open(bytes);
  ASSERT_NE(bag, nullptr);
  ASSERT_TRUE(bag->Select({0}).ok());
  Message message;
  ASSERT_TRUE(bag->Next(&message).ok());
  ASSERT_TRUE(bag->Select({0}).ok());
  EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("a1", "a3"));
  EXPECT_THAT(bag->notes(), IsEmpty());
  ASSERT_TRUE(bag->Select({1}).ok());
  EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("b3"));
  EXPECT_THAT(bag->notes(),
              Contains(HasSubstr(absl::StrCat("the chunk at byte ", raw.places()[1], " is damaged: lz4"))));
  EXPECT_THAT(bag->notes(), Contains(HasSubstr("1 messages of the index are not in their chunks")));
  EXPECT_THAT(std::string(bag->Select({2}).message()), HasSubstr("topic: 2 is not in 0..1"));
}

TEST(Ros1, WhatIsWholeOfACutBagIsRead) {
  const raw::Ros1Bag raw = TwoChunks("none");
  const std::string closed = raw.Closed();
  // Within the last message of the second chunk: "i30" is the last text in it.
  const auto bag = Open(closed.substr(0, closed.find("i30") + 1));
  ASSERT_NE(bag, nullptr);
  EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("i0", "i10", "i15", "p20", "q20"));
  EXPECT_EQ(bag->topics()[0].messages, 3);
  EXPECT_THAT(bag->notes(), Contains(HasSubstr("cut off at byte")));
  // Before the first whole chunk nothing is there.
  EXPECT_THAT(ErrorOf(closed.substr(0, raw.places()[0] + 20)), HasSubstr("nothing of this ROS 1 bag can be read"));
}

// A recorder writes the sizes of a chunk once it is full: they are 0 before.
TEST(Ros1, AChunkThatIsNotFinishedIsRead) {
  for (const char* compression : {"none", "lz4", "bz2"}) {
    SCOPED_TRACE(compression);
    const raw::Ros1Bag raw = TwoChunks(compression, 4096, false);
    std::string bytes = raw.Left();
    const size_t at = raw.places()[1], size = bytes.find("size=", at) + 5;
    bytes.replace(size, 8, 8, '\0');  // the last field, and the length of the data behind it
    const auto bag = Open(bytes);
    ASSERT_NE(bag, nullptr);
    ExpectTwoChunks(bag.get());
    EXPECT_THAT(bag->notes(), ElementsAre(HasSubstr("not closed"), HasSubstr(absl::StrCat("the last chunk, at byte ",
                                                                                          at, ", is not finished"))));
    const auto empty = Open(bytes.substr(0, size + 8));
    ASSERT_NE(empty, nullptr);
    EXPECT_THAT(Datas(ReadAll(empty.get())), ElementsAre("i0", "i10", "p20"));
  }
  const raw::Ros1Bag raw = TwoChunks("none", 4096, false);
  std::string bytes = raw.Left();
  bytes.replace(bytes.find("size=", raw.places()[1]) + 5, 8, 8, '\0');
  bytes.resize(bytes.find("i30") + 1);
  const auto cut = Open(bytes);
  ASSERT_NE(cut, nullptr);
  EXPECT_EQ(cut->topics().at(0).messages, 3);
  EXPECT_THAT(Datas(ReadAll(cut.get())), ElementsAre("i0", "i10", "i15", "p20", "q20"));
}

TEST(Ros1, IndexRecordsThatAreCutAreNotCounted) {
  for (const char* compression : {"none", "lz4"}) {
    const size_t without = TwoChunks(compression, 4096, false).size();
    const raw::Ros1Bag raw = TwoChunks(compression);
    const std::string bytes = raw.Left();
    // The first chunk has as many index records as the second.
    const size_t records = (raw.size() - without - 13) / 2;
    ASSERT_GT(records, 100u);
    for (size_t left_out = 0; left_out <= records; ++left_out) {
      SCOPED_TRACE(left_out);
      const auto bag = Open(bytes.substr(0, bytes.size() - left_out));
      ASSERT_NE(bag, nullptr);
      ExpectTwoChunks(bag.get());
    }
  }
}

TEST(Ros1, DamagedIndexesMakeTheFileBeReadOnce) {
  const raw::Ros1Bag raw = TwoChunks("bz2");
  std::string bytes = raw.Closed();
  bytes[raw.size() + 2] = '\x7f';  // of the size of the first connection's header
  const auto bag = Open(bytes);
  ASSERT_NE(bag, nullptr);
  ExpectTwoChunks(bag.get());
  EXPECT_THAT(bag->notes(), Contains("the index is damaged"));
}

// Bytes that are lost or there twice also move all that the index says; a damaged length leads beyond or before the
// next record.
TEST(Ros1, DamageOfOneChunkLeavesTheOthers) {
  for (const char* compression : {"none", "lz4", "bz2"}) {
    SCOPED_TRACE(compression);
    raw::Ros1Bag raw;
    raw.Connect(0, "/a", "pkg/A");
    for (uint64_t i = 0; i < 5; ++i) raw.AddChunk({{0, i, absl::StrCat("message ", i)}}, compression);
    const std::string closed = raw.Closed();
    const size_t at = raw.places()[2], length = closed.find("size=", at) + 9;
    std::string lost = closed, twice = closed, longer = raw.Left(), shorter = raw.Left(), largest = raw.Left();
    lost.erase(at + 10, 3);
    twice.insert(at + 10, "123");
    longer[length] = static_cast<char>(longer[length] + 100);
    shorter[length] = static_cast<char>(shorter[length] - 1);
    largest.replace(length, 4, "\xff\xff\xff\x07");
    for (const std::string& bytes : {lost, twice, longer, shorter, largest}) {
      const auto bag = Open(bytes);
      ASSERT_NE(bag, nullptr);
      std::vector<std::string> datas = Datas(ReadAll(bag.get()));
      EXPECT_EQ(bag->topics().at(0).messages, static_cast<int64_t>(datas.size()));
      datas.erase(std::remove(datas.begin(), datas.end(), "message 2"), datas.end());
      EXPECT_THAT(datas, ElementsAre("message 0", "message 1", "message 3", "message 4"));
      EXPECT_THAT(bag->notes(), Contains(HasSubstr("read on from the chunk at byte ")));
    }
  }
}

TEST(Ros1, ChunksWithoutIndexRecordsAreCounted) {
  raw::Ros1Bag raw;
  raw.Connect(3, "/a", "pkg/A");
  raw.AddChunk({{3, 5, "a5"}, {3, 4, "a4"}}, "lz4", false);
  raw.AddChunk({{3, 3, "a3"}}, "lz4");
  for (const std::string& bytes : {raw.Closed(), raw.Left()}) {
    const auto bag = Open(bytes);
    ASSERT_NE(bag, nullptr);
    EXPECT_EQ(Text(bag->topics()[0]), "/a pkg/msg/A ros1 ros1msg text of pkg/A 3 3 5");
    EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("a3", "a4", "a5"));
  }
}

TEST(Ros1, ConnectionsOfOneTopicAreOneUnlessTheirTypesDiffer) {
  raw::Ros1Bag raw;
  raw.Connect(0, "/a", "pkg/A");
  raw.Connect(1, "/a", "pkg/A");
  raw.Connect(2, "/a", "pkg/B");
  raw.AddChunk({{0, 1, "0"}, {1, 2, "1"}, {2, 3, "2"}});
  const auto bag = Open(raw.Closed());
  ASSERT_NE(bag, nullptr);
  ASSERT_EQ(bag->topics().size(), 2u);
  EXPECT_EQ(Text(bag->topics()[0]), "/a pkg/msg/A ros1 ros1msg text of pkg/A 2 1 2");
  EXPECT_EQ(Text(bag->topics()[1]), "/a pkg/msg/B ros1 ros1msg text of pkg/B 1 3 3");
}

TEST(Ros1, MessagesThatNothingIsSaidOfAreLeftOut) {
  raw::Ros1Bag raw;
  raw.Connect(0, "/a", "pkg/A");
  raw.AddChunk({{0, 1, "known"}, {9, 2, "unknown"}});
  std::string bytes = raw.Left();
  const auto bag = Open(bytes);
  ASSERT_NE(bag, nullptr);
  EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("known"));
  EXPECT_THAT(bag->notes(), Contains(HasSubstr("messages of connection 9 are left out")));
}

TEST(Ros1, AnEmptyBagIsWhole) {
  const auto bag = Open(raw::Ros1Bag().Closed());
  ASSERT_NE(bag, nullptr);
  EXPECT_THAT(bag->topics(), IsEmpty());
  EXPECT_THAT(ReadAll(bag.get()), IsEmpty());
  EXPECT_THAT(bag->notes(), IsEmpty());
}

TEST(Ros1, OtherVersionsAndEncryptedBagsAreRefusedByName) {
  EXPECT_THAT(ErrorOf("#ROSBAG V1.2\nmore"), HasSubstr("begins with \"#ROSBAG V1.2\", not \"#ROSBAG V2.0\""));
  EXPECT_THAT(ErrorOf(TwoChunks("none").Closed("rosbag/AesCbcEncryptor")),
              HasSubstr("encrypted by rosbag/AesCbcEncryptor"));
  EXPECT_NE(Open(TwoChunks("none").Closed("rosbag/NoEncryptor")), nullptr);
}

TEST(Ros1, UnknownCompressionAndLargeSizesAreLeftOut) {
  raw::Ros1Bag raw;
  raw.Connect(0, "/a", "pkg/A");
  raw.AddChunk({{0, 1, "a1"}});
  raw.AddChunk({{0, 2, "a2"}}, "lz4");
  raw.AddChunk({{0, 3, "a3"}}, "lz5");
  std::string bytes = raw.Closed();
  bytes.replace(bytes.find("size=", raw.places()[1]) + 5, 4, "\xff\xff\xff\xff");
  const auto bag = Open(bytes);
  ASSERT_NE(bag, nullptr);
  EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("a1"));
  EXPECT_THAT(bag->notes(), Contains(HasSubstr("size: 4294967295 is not in 0..134217728")));
  EXPECT_THAT(bag->notes(), Contains(HasSubstr("compression: \"lz5\" is not one of none, bz2, lz4")));
}

TEST(Ros1, AChunkIsReadOnceHoweverOftenTheIndexNamesIt) {
  raw::Ros1Bag raw = TwoChunks("none");
  for (int i = 0; i < 100; ++i) raw.infos().push_back(raw.infos()[0]);
  const auto bag = Open(raw.Closed());
  ASSERT_NE(bag, nullptr);
  ExpectTwoChunks(bag.get());
  EXPECT_THAT(bag->notes(), Contains(HasSubstr("is not there")));
}

// Chunks of a few bytes that are said to be, and are, large.
TEST(Ros1, ChunksWithoutAMessageAreDecompressedOnlySoOften) {
  raw::Ros1Bag raw;
  raw.Connect(0, "/a", "pkg/A");
  raw.AddChunk({{0, 1, "a1"}});
  std::string bytes = raw.Left();
  const size_t size = size_t{1} << 27;
  const std::string zeros = raw::Le(0, 4) + raw::Le(size - 8, 4) + std::string(size - 8, '\0');  // no message
  const std::string record =
      raw::Ros1Record({{"compression", "bz2"}, {"op", "\x05"}, {"size", raw::Le(size, 4)}}, raw::Bzip2(zeros));
  for (int i = 0; i < 50; ++i) bytes += record;
  const auto bag = Open(bytes);
  ASSERT_NE(bag, nullptr);
  EXPECT_THAT(bag->notes(), Contains(HasSubstr("hold no message that is wanted")));
  EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("a1"));
}

}  // namespace
}  // namespace glint::bag
