// MCAP files of every kind, whole ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bag/mcap_reader.h"
#include "tests/bag/raw_mcap.h"
#include "tests/bag/read_all.h"

namespace glint::bag {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// In chunks of four, which overlap, and are out of order within.
std::vector<raw::Message> TenMessages() {
  return {{1, 50, "a50"}, {2, 10, "b10"}, {1, 30, ""},  {1, 35, "a35"}, {2, 20, "b20"},
          {1, 70, "a70"}, {1, 60, "a60"}, {2, 5, "b5"}, {1, 90, "a90"}, {1, 40, "a40"}};
}

struct Variant {
  raw::Options options;
  std::vector<raw::Message> messages;
};

// All combinations of what a file can do without.
std::vector<Variant> Variants() {
  std::vector<Variant> variants;
  const std::vector<raw::Message> ten = TenMessages();
  for (const size_t count : {0, 1, 10}) {
    for (const char* compression : {"no chunks", "", "lz4", "zstd"}) {
      for (int bits = 0; bits < 1 << 8; ++bits) {
        const auto bit = [&](int i) { return (bits >> i & 1) != 0; };
        raw::Options options;
        options.messages_in_chunk = compression == std::string("no chunks") ? 0 : 4;
        options.compression = compression;
        std::tie(options.message_indexes, options.chunk_indexes, options.statistics) =
            std::tuple(bit(0), bit(1), bit(2));
        std::tie(options.repeated_schemas, options.repeated_channels) = std::tuple(bit(3), bit(4));
        std::tie(options.summary_offsets, options.attachments) = std::tuple(bit(5), bit(6));
        std::tie(options.padding, options.checksums) = std::tuple(bit(7), bit(0) != bit(7));
        variants.push_back({options, {ten.begin(), ten.begin() + static_cast<int64_t>(count)}});
      }
    }
  }
  return variants;
}

std::string Describe(const Variant& variant) {
  const raw::Options& o = variant.options;
  std::string text = std::to_string(variant.messages.size()) + " messages, " + o.compression;
  for (const auto& [name, on] : std::vector<std::pair<const char*, bool>>{{"message indexes", o.message_indexes},
                                                                          {"chunk indexes", o.chunk_indexes},
                                                                          {"statistics", o.statistics},
                                                                          {"repeated schemas", o.repeated_schemas},
                                                                          {"repeated channels", o.repeated_channels},
                                                                          {"offsets", o.summary_offsets},
                                                                          {"attachments", o.attachments},
                                                                          {"padding", o.padding},
                                                                          {"checksums", o.checksums}}) {
    if (on) text += std::string(", ") + name;
  }
  return text;
}

TEST(McapTest, ReadsAllCombinationsOfWhatAFileMayHave) {
  for (const Variant& variant : Variants()) {
    SCOPED_TRACE(Describe(variant));
    const auto bag = SelectAll(OpenMcap(raw::Save(raw::Write(variant.options, variant.messages).Close())));
    ASSERT_NE(bag, nullptr);
    EXPECT_EQ(bag->format(), "MCAP");
    const std::vector<Topic>& topics = bag->topics();
    std::vector<Seen> expected;
    for (const raw::Message& message : variant.messages) {
      expected.push_back({message.channel - 1, static_cast<int64_t>(message.time), message.data});
    }
    std::stable_sort(expected.begin(), expected.end(),
                     [](const Seen& a, const Seen& b) { return a.time_ns < b.time_ns; });
    if (variant.messages.empty()) {
      EXPECT_THAT(topics, IsEmpty());
    } else {
      ASSERT_EQ(topics.size(), 2u);
      EXPECT_THAT(Text(topics[0]), variant.messages.size() == 1 ? "/a pkg/msg/Type cdr ros2msg int32 x\n 1 50 50"
                                                                : "/a pkg/msg/Type cdr ros2msg int32 x\n 7 30 90");
      EXPECT_THAT(Text(topics[1]), variant.messages.size() == 1 ? "/b  json   0 0 0" : "/b  json   3 5 20");
    }
    EXPECT_THAT(ReadAll(bag.get()), ElementsAreArray(expected));
    EXPECT_THAT(bag->notes(), IsEmpty());
  }
}

TEST(McapTest, GivesMessagesOfOneTimeInTheOrderOfTheFile) {
  for (const int in_chunk : {0, 2, 3, 100}) {
    raw::Options options;
    options.messages_in_chunk = in_chunk;
    const raw::File file = raw::Write(
        options, {{1, 8, "first"}, {1, 5, "1"}, {2, 5, "2"}, {1, 5, "3"}, {2, 5, "4"}, {1, 5, "5"}, {2, 9, "last"}});
    const auto bag = SelectAll(OpenMcap(raw::Save(raw::File(file).Close())));
    ASSERT_NE(bag, nullptr);
    EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("1", "2", "3", "4", "5", "first", "last"));
  }
}

TEST(McapTest, SelectsTopicsAndBeginsAgain) {
  for (const bool indexed : {true, false}) {
    raw::Options options;
    options.statistics = indexed;
    auto opened = OpenMcap(raw::Save(raw::Write(options, TenMessages()).Close()));
    ASSERT_TRUE(opened.ok()) << opened.status();
    Message message;
    EXPECT_TRUE(absl::IsOutOfRange((*opened)->Next(&message)));  // nothing is selected
    const auto bag = SelectAll(std::move(opened));
    ASSERT_TRUE(bag->Next(&message).ok());
    ASSERT_TRUE(bag->Select({1}).ok());
    EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("b5", "b10", "b20"));
    EXPECT_TRUE(absl::IsOutOfRange(bag->Next(&message)));
    ASSERT_TRUE(bag->Select({1}).ok());
    EXPECT_EQ(ReadAll(bag.get()).size(), 3u);
    ASSERT_TRUE(bag->Select({0, 1}).ok());
    EXPECT_EQ(ReadAll(bag.get()).size(), 10u);
    ASSERT_TRUE(bag->Select({}).ok());
    EXPECT_THAT(ReadAll(bag.get()), IsEmpty());
    EXPECT_TRUE(absl::IsInvalidArgument(bag->Select({2})));
    EXPECT_TRUE(absl::IsInvalidArgument(bag->Select({-1})));
  }
}

// The second chunk cannot be read, which shows only where it is.
TEST(McapTest, DoesNotReadChunksWithoutWhatIsSelected) {
  raw::Options options;
  options.messages_in_chunk = 2;
  std::string bytes =
      raw::Write(options, {{1, 1, "a"}, {2, 2, "b"}, {2, 3, "damage"}, {2, 4, "b"}, {1, 5, "a"}}).Close();
  bytes[bytes.find("damage")] = 'D';
  const auto bag = SelectAll(OpenMcap(raw::Save(bytes)));
  ASSERT_NE(bag, nullptr);
  ASSERT_TRUE(bag->Select({0}).ok());
  EXPECT_EQ(ReadAll(bag.get()).size(), 2u);
  EXPECT_THAT(bag->notes(), IsEmpty());
  ASSERT_TRUE(bag->Select({1}).ok());
  EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("b"));
  EXPECT_THAT(bag->notes(), ElementsAre(HasSubstr("is left out: wrong checksum")));
}

TEST(McapTest, JoinsChannelsOfOneTopicAndNamesTypesAlike) {
  raw::File file({});
  std::string begin;
  file.Define(raw::Schema(5, "sensor_msgs/Image", "ros1msg", "x"), &begin);
  file.Define(raw::Schema(6, "sensor_msgs/msg/Image", "ros2msg", "y"), &begin);
  file.Define(raw::Channel(9, 6, "/image", "cdr"), &begin);
  file.Define(raw::Channel(300, 5, "/image", "ros1"), &begin);
  file.Define(raw::Channel(65535, 5, "/image", "ros1"), &begin);
  file.AddChunk(begin, {{65535, 3, "1"}, {300, 4, "2"}, {9, 5, "3"}, {65535, ~uint64_t{0}, "4"}});
  const auto bag = SelectAll(OpenMcap(raw::Save(file.Close())));
  ASSERT_NE(bag, nullptr);
  ASSERT_EQ(bag->topics().size(), 2u);
  EXPECT_EQ(Text(bag->topics()[0]), "/image sensor_msgs/msg/Image cdr ros2msg y 1 5 5");
  EXPECT_EQ(Text(bag->topics()[1]), "/image sensor_msgs/msg/Image ros1 ros1msg x 3 3 9223372036854775807");
  EXPECT_THAT(ReadAll(bag.get()),
              ElementsAre(Seen{1, 3, "1"}, Seen{1, 4, "2"}, Seen{0, 5, "3"}, Seen{1, INT64_MAX, "4"}));
}

// In one chunk the channel alone, in the next its messages. Nothing repeats it.
TEST(McapTest, FindsChannelsThatAreDefinedInOtherChunks) {
  for (const bool after : {false, true}) {
    raw::Options options;
    options.repeated_channels = false;
    raw::File file(options);
    std::string first, second;
    file.Define(raw::Channel(1, 0, "/a", "json"), &first);
    file.Define(raw::Channel(2, 0, "/b", "json"), after ? &second : &first);
    file.AddChunk(first, {{1, 1, "a"}});
    file.AddChunk("", {{2, 2, "b"}});
    if (after) file.AddChunk(second, {{1, 3, "a"}});
    const auto bag = SelectAll(OpenMcap(raw::Save(file.Close())));
    ASSERT_NE(bag, nullptr);
    ASSERT_EQ(bag->topics().size(), 2u);
    EXPECT_EQ(Text(bag->topics()[1]), "/b  json   1 2 2");
    EXPECT_EQ(ReadAll(bag.get()).size(), after ? 3u : 2u);
    EXPECT_THAT(bag->notes(), IsEmpty());
  }
}

TEST(McapTest, LeavesOutUnknownRecordsAndChannels) {
  raw::File file({});
  std::string begin = raw::Record(0x80, "mine") + raw::Record(0x7F, "");
  file.Define(raw::Channel(1, 0, "/a", "json"), &begin);
  file.AddRaw(raw::Record(0x42, "theirs"));
  file.AddChunk(begin, {{1, 1, "a"}, {7, 2, "?"}, {8, 3, "?"}, {7, 4, "?"}});
  const auto bag = SelectAll(OpenMcap(raw::Save(file.Close())));
  ASSERT_NE(bag, nullptr);
  ASSERT_EQ(bag->topics().size(), 1u);
  EXPECT_EQ(bag->topics()[0].messages, 1);
  EXPECT_THAT(Datas(ReadAll(bag.get())), ElementsAre("a"));
  EXPECT_THAT(bag->notes(), ElementsAre("3 messages of unknown channels are left out: 7, 8"));
}

TEST(McapTest, TakesTheFirstOfTwoDefinitions) {
  raw::Options options;
  options.repeated_schemas = options.repeated_channels = false;
  raw::File file(options);
  const std::string begin = raw::Schema(1, "pkg/msg/T", "ros2msg", "x") + raw::Schema(1, "pkg/msg/T", "ros2msg", "x") +
                            raw::Schema(1, "pkg/msg/T", "ros2msg", "y") + raw::Channel(1, 1, "/a", "cdr") +
                            raw::Channel(1, 1, "/a", "cdr") + raw::Channel(1, 1, "/other", "cdr") +
                            raw::Channel(2, 3, "/b", "cdr");
  file.AddChunk(begin, {{1, 1, "a"}});
  const auto bag = SelectAll(OpenMcap(raw::Save(file.Close())));
  ASSERT_NE(bag, nullptr);
  ASSERT_EQ(bag->topics().size(), 2u);
  EXPECT_EQ(Text(bag->topics()[0]), "/a pkg/msg/T cdr ros2msg x 1 1 1");
  EXPECT_EQ(Text(bag->topics()[1]), "/b  cdr   0 0 0");
  EXPECT_THAT(bag->notes(), ElementsAre("schema 1 is there twice, with other contents: the first counts",
                                        "channel 1 is there twice, with other contents: the first counts",
                                        "topic /b: its schema, 3, is not there"));
}

// Chunks of 16 MiB that begin in a row and end together, out of order beyond what is kept open.
TEST(McapTest, BoundsTheMemoryOfChunksThatOverlap) {
  for (const int chunks : {4, 10}) {
    raw::Options options;
    options.compression = "zstd";
    options.checksums = false;
    raw::File file(options);
    std::string begin;
    file.Define(raw::Channel(1, 0, "/a", "json"), &begin);
    for (int i = 0; i < chunks; ++i) {
      const auto time = static_cast<uint64_t>(i);
      file.AddChunk(begin, {{1, time, std::string(1 << 24, 'x')}, {1, 1000 - time, std::to_string(i)}});
      begin.clear();
    }
    const auto bag = SelectAll(OpenMcap(raw::Save(file.Close())));
    ASSERT_NE(bag, nullptr);
    Message message;
    int messages = 0, back = 0;
    for (int64_t last = 0; bag->Next(&message).ok(); last = message.time_ns) {
      ++messages;
      back += message.time_ns < last;
    }
    EXPECT_EQ(messages, 2 * chunks);
    EXPECT_EQ(back > 0, chunks == 10);
    EXPECT_EQ(bag->notes().size(), chunks == 10 ? 1u : 0u);
  }
}

}  // namespace
}  // namespace glint::bag
