// MCAP files that are cut off, damaged, or say what is not so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bag/mcap_reader.h"
#include "tests/bag/raw_mcap.h"
#include "tests/bag/read_all.h"

namespace glint::bag {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// Twelve of both topics, at 0, 1, 2, ...; the data is that number as one letter from 'A' on, 20 times.
std::vector<raw::Message> Twelve() {
  std::vector<raw::Message> messages;
  for (int i = 0; i < 12; ++i) {
    messages.push_back({i % 2 + 1, static_cast<uint64_t>(i), std::string(20, static_cast<char>('A' + i))});
  }
  return messages;
}

std::string Letters(const std::vector<Seen>& all) {
  std::string letters;
  for (const Seen& seen : all) {
    letters += seen.data.substr(0, 1);
    EXPECT_EQ(seen.data, std::string(20, seen.data[0]));
    EXPECT_EQ(seen.time_ns, seen.data[0] - 'A');
    EXPECT_EQ(seen.topic, seen.time_ns % 2);
  }
  return letters;
}

std::unique_ptr<Bag> OpenBytes(const std::string& bytes) { return SelectAll(OpenMcap(raw::Save(bytes))); }

int64_t Counted(const Bag& bag) {
  int64_t messages = 0;
  for (const Topic& topic : bag.topics()) messages += topic.messages;
  return messages;
}

TEST(McapDamagedTest, RefusesWhatIsNotMcap) {
  EXPECT_TRUE(absl::IsNotFound(OpenMcap(testing::TempDir() + "/no such file.mcap").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(OpenMcap(testing::TempDir()).status()));
  const std::string whole = raw::Write({}, Twelve()).Close();
  for (const std::string& bytes : {std::string(), std::string("\x89MCAP"), "x" + whole, std::string(1000, '\0')}) {
    const absl::Status status = OpenMcap(raw::Save(bytes)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr("not an MCAP file"));
  }
  std::string next = whole;
  next[5] = '1';
  EXPECT_THAT(std::string(OpenMcap(raw::Save(next)).status().message()),
              HasSubstr("MCAP of version 1: only version 0 is read"));
  const absl::Status nothing = OpenMcap(raw::Save(whole.substr(0, 30))).status();
  EXPECT_TRUE(absl::IsInvalidArgument(nothing));
  EXPECT_THAT(std::string(nothing.message()), HasSubstr("nothing can be read"));
}

// Chunks end where their records do; those before the cut are read, and of an uncompressed one, its whole messages.
TEST(McapDamagedTest, ReadsWhatIsBeforeTheCut) {
  for (const auto& [in_chunk, compression] :
       std::vector<std::pair<int, std::string>>{{0, ""}, {3, ""}, {3, "zstd"}, {3, "lz4"}}) {
    raw::Options options;
    options.messages_in_chunk = in_chunk;
    options.compression = compression;
    const raw::File file = raw::Write(options, Twelve());
    const size_t data_end = file.size();
    const std::string bytes = raw::File(file).Close();
    size_t last = 0;
    const size_t step = in_chunk > 0 && compression.empty() ? 1 : 7;
    for (size_t cut = raw::kMagic.size(); cut < bytes.size(); cut += step) {
      SCOPED_TRACE(testing::Message() << in_chunk << " " << compression << ", cut to " << cut << " of "
                                      << bytes.size());
      auto opened = OpenMcap(raw::Save(bytes.substr(0, cut)));
      if (!opened.ok()) {
        ASSERT_EQ(last, 0u);
        continue;
      }
      const auto bag = SelectAll(std::move(opened));
      const int64_t counted = Counted(*bag);
      const std::string letters = Letters(ReadAll(bag.get()));
      EXPECT_EQ(letters, std::string("ABCDEFGHIJKL").substr(0, letters.size()));
      EXPECT_EQ(static_cast<size_t>(counted), letters.size());
      EXPECT_GE(letters.size(), last);  // no byte more can take a message away
      EXPECT_THAT(bag->notes(), Contains(HasSubstr("cut off")));
      last = letters.size();
      EXPECT_TRUE(cut < data_end || last == 12);
    }
    EXPECT_EQ(last, 12u);
  }
}

TEST(McapDamagedTest, LeavesOutDamagedChunksAndSaysSo) {
  for (const bool indexed : {true, false}) {
    SCOPED_TRACE(indexed);
    raw::Options options;
    options.chunk_indexes = options.message_indexes = options.statistics = indexed;
    std::string bytes = raw::Write(options, Twelve()).Close();
    bytes[bytes.find("FFF")] = 'G';  // in the second chunk of four
    const auto bag = OpenBytes(bytes);
    ASSERT_NE(bag, nullptr);
    // Without an index, chunks were read to count.
    EXPECT_EQ(Counted(*bag), indexed ? 12 : 8);
    EXPECT_EQ(bag->notes().size(), indexed ? 0u : 1u);
    EXPECT_EQ(Letters(ReadAll(bag.get())), "ABCDIJKL");
    EXPECT_THAT(bag->notes(),
                ElementsAre(AllOf(HasSubstr("chunk at byte "), HasSubstr("is left out: wrong checksum"))));
  }
}

// Records that damage has made others of: counts of the index tell that messages are missing, where nothing else does.
TEST(McapDamagedTest, SaysHowManyMessagesOfTheIndexAreMissing) {
  raw::Options options;
  options.checksums = false;
  std::string bytes = raw::Write(options, Twelve()).Close();
  bytes[bytes.find("GGG") - 31] = '\x70';  // the opcode of the message with this data
  const auto bag = OpenBytes(bytes);
  ASSERT_NE(bag, nullptr);
  EXPECT_EQ(Counted(*bag), 12);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Letters(ReadAll(bag.get())), "ABCDEFHIJKL");
    EXPECT_THAT(bag->notes(), ElementsAre("1 messages of the index are not in their chunks"));
    ASSERT_TRUE(bag->Select({0, 1}).ok());
  }
  ASSERT_TRUE(bag->Select({1}).ok());  // which has all
  EXPECT_THAT(ReadAll(bag.get()), SizeIs(6));
}

TEST(McapDamagedTest, LeavesOutUnknownCompressionsAndSizesBeyondReason) {
  const std::string good = raw::MessageRecord({1, 0, std::string(20, 'A')});
  const auto chunk = [&](const std::string& compression, uint64_t size, uint64_t stored) {
    return raw::Record(
        6, raw::Le(0, 16) + raw::Le(size, 8) + raw::Le(0, 4) + raw::Text(compression) + raw::Le(stored, 8) + good);
  };
  for (const auto& [bytes, note] : std::vector<std::pair<std::string, std::string>>{
           {chunk("snappy", good.size(), good.size()), "compression \"snappy\" is not known"},
           {chunk("a\nb", good.size(), good.size()), "compression \"a\\x0ab\" is not known"},
           {chunk("", uint64_t{1} << 60, good.size()), "1152921504606846976 bytes decompressed are more than"},
           {chunk("", good.size() + 1, good.size()), "it has two sizes"},
           {chunk("zstd", good.size(), good.size()), "zstd: "},
           {chunk("lz4", good.size(), good.size()), "lz4: "},
           {chunk("", good.size(), ~uint64_t{0}), "it is said to be longer than its record"},
           {raw::Record(6, "short"), "cut off"}}) {
    SCOPED_TRACE(note);
    raw::File file({});
    file.AddRaw(bytes);
    std::string begin;
    file.Define(raw::Channel(1, 0, "/a", "json"), &begin);
    file.AddChunk(begin, {{1, 0, std::string(20, 'A')}});
    const auto bag = OpenBytes(file.Close());
    ASSERT_NE(bag, nullptr);
    EXPECT_EQ(Counted(*bag), 1);
    EXPECT_EQ(Letters(ReadAll(bag.get())), "A");
    EXPECT_THAT(bag->notes(), ElementsAre(HasSubstr(note)));
  }
}

// A record whose length leads nowhere. The index knows where the next chunk is; or what looks like one is found.
TEST(McapDamagedTest, GoesOnAtTheNextChunk) {
  for (const std::string compression : {"", "lz4", "zstd"}) {
    for (const bool chunk_indexes : {true, false}) {
      raw::Options options;
      options.compression = compression;
      options.statistics = false;  // so that all is read
      options.chunk_indexes = chunk_indexes;
      raw::File file(options);
      std::string begin;
      file.Define(raw::Channel(1, 0, "/a", "json"), &begin);
      file.Define(raw::Channel(2, 0, "/b", "json"), &begin);
      const std::vector<raw::Message> all = Twelve();
      file.AddChunk(begin, {all[0], all[1]});
      file.AddRaw(std::string(5, '\x30') + std::string(4, '\0') + std::string(20000, '\6'));
      file.AddChunk("", {all[2], all[3]});
      const auto bag = OpenBytes(file.Close());
      ASSERT_NE(bag, nullptr);
      EXPECT_EQ(Letters(ReadAll(bag.get())), "ABCD");
      EXPECT_THAT(bag->notes(),
                  ElementsAre(HasSubstr("cut off in the record at byte"), HasSubstr("read on from the chunk at byte")));
    }
  }
}

// Bytes that are lost or there twice also move all that the index says. Two of four chunks at most are lost.
TEST(McapDamagedTest, GoesOnWhereBytesAreLostOrThereTwice) {
  raw::Options options;
  options.messages_in_chunk = 3;
  options.compression = "zstd";
  const std::string whole = raw::Write(options, Twelve()).Close();
  std::vector<size_t> chunks;  // within their headers
  for (size_t at = whole.find("zstd"); chunks.size() < 4; at = whole.find("zstd", at + 1)) chunks.push_back(at);
  for (size_t at = chunks[1]; at < chunks[3] - 60; at += 3) {
    SCOPED_TRACE(at);
    for (const bool lost : {true, false}) {
      const std::string bytes =
          lost ? whole.substr(0, at) + whole.substr(at + 10) : whole.substr(0, at + 10) + whole.substr(at);
      const auto bag = OpenBytes(bytes);
      ASSERT_NE(bag, nullptr);
      EXPECT_GE(Letters(ReadAll(bag.get())).size(), 6u);
      EXPECT_FALSE(bag->notes().empty());
    }
  }
}

TEST(McapDamagedTest, NotesZerosAtTheEnd) {
  raw::Options options;
  const raw::File file = raw::Write(options, Twelve());
  std::string bytes = raw::File(file).Close().substr(0, file.size());
  const auto bag = OpenBytes(bytes + std::string(5000, '\0'));
  ASSERT_NE(bag, nullptr);
  EXPECT_EQ(Letters(ReadAll(bag.get())), "ABCDEFGHIJKL");
  EXPECT_THAT(bag->notes(), ElementsAre("damaged at byte " + std::to_string(bytes.size()) + ": no record is there"));
}

// Where the index contradicts itself or the file, the file is read.
TEST(McapDamagedTest, DoesNotBelieveAnIndexThatContradictsItself) {
  const std::function<void(raw::File*)> lies[] = {
      [](raw::File* file) { file->counts()[1] += 1; },
      [](raw::File* file) { file->counts()[2] = 0; },
      [](raw::File* file) { file->counts()[9] = 3; },
      [](raw::File* file) { file->counts().clear(); },
      [](raw::File* file) { file->chunks() += 1; },
      [](raw::File* file) { file->chunk_indexes().clear(); },
      [](raw::File* file) { file->chunk_indexes().resize(file->chunk_indexes().size() / 3); },
      [](raw::File* file) { file->chunk_indexes() += file->chunk_indexes(); },
      [](raw::File* file) { file->chunk_indexes()[9 + 24] ^= 2; },  // the first chunk's length
      [](raw::File* file) { file->chunk_indexes()[9 + 16] ^= 2; },  // its place
      [](raw::File* file) { file->chunk_indexes()[9 + 8] = 2; },    // its last time
      [](raw::File* file) {
        file->AddMessage({1, 12, std::string(20, 'M')});
        file->counts()[1] -= 1;
      },
      [](raw::File* file) { file->Define(raw::Channel(3, 4, "/c", "json")); },
  };
  for (size_t i = 0; i < std::size(lies); ++i) {
    SCOPED_TRACE(i);
    raw::File file = raw::Write({}, Twelve());
    lies[i](&file);
    const auto bag = OpenBytes(file.Close());
    ASSERT_NE(bag, nullptr);
    ASSERT_GE(bag->topics().size(), 2u);
    const bool one_more = i == 11;
    EXPECT_EQ(Text(bag->topics()[0]), one_more ? "/a pkg/msg/Type cdr ros2msg int32 x\n 7 0 12"
                                               : "/a pkg/msg/Type cdr ros2msg int32 x\n 6 0 10");
    EXPECT_EQ(Text(bag->topics()[1]), "/b  json   6 1 11");
    EXPECT_EQ(Letters(ReadAll(bag.get())), one_more ? "ABCDEFGHIJKLM" : "ABCDEFGHIJKL");
  }
}

TEST(McapDamagedTest, DoesNotUseASummaryWithAWrongChecksum) {
  std::string bytes = raw::Write({}, Twelve()).Close();
  bytes[bytes.rfind("/b") + 1] = 'c';
  const auto bag = OpenBytes(bytes);
  ASSERT_NE(bag, nullptr);
  ASSERT_EQ(bag->topics().size(), 2u);
  EXPECT_EQ(bag->topics()[1].name, "/b");
  EXPECT_EQ(Letters(ReadAll(bag.get())), "ABCDEFGHIJKL");
  EXPECT_THAT(bag->notes(), Contains("the index has a wrong checksum: it is not used"));
}

// Its first time, of 4: the chunk is opened too late.
TEST(McapDamagedTest, NotesMessagesThatComeLate) {
  raw::Options options;
  options.checksums = false;
  raw::File file = raw::Write(options, Twelve());
  const size_t second = file.chunk_indexes().size() / 3;
  ASSERT_EQ(file.chunk_indexes()[second + 9], 4);
  file.chunk_indexes()[second + 9] = 6;
  const auto bag = OpenBytes(file.Close());
  ASSERT_NE(bag, nullptr);
  std::string letters = Letters(ReadAll(bag.get()));
  EXPECT_THAT(bag->notes(), Not(Contains(HasSubstr("left out"))));
  std::sort(letters.begin(), letters.end());
  EXPECT_EQ(letters, "ABCDEFGHIJKL");
}

// A bit flipped at every place of a small file, or a byte left out: whatever is read was written, but for the one
// record that a bit made a message of.
TEST(McapDamagedTest, SurvivesADamagedByteAnywhere) {
  const std::vector<raw::Message> all = Twelve();
  for (const std::string compression : {"", "zstd"}) {
    raw::Options options;
    options.messages_in_chunk = 6;
    options.compression = compression;
    const std::string whole = raw::Write(options, all).Close();
    for (size_t i = 0; i < 2 * whole.size(); i += i < whole.size() ? 1 : 7) {
      SCOPED_TRACE(testing::Message() << compression << " " << i);
      std::string bytes = whole;
      if (i < whole.size()) {
        bytes[i] = static_cast<char>(bytes[i] ^ 1 << (i % 8));
      } else {
        bytes.erase(i - whole.size(), 1);
      }
      auto opened = OpenMcap(raw::Save(bytes));
      if (!opened.ok()) {
        EXPECT_TRUE(absl::IsInvalidArgument(opened.status())) << opened.status();
        continue;
      }
      int wrong = 0;
      for (const Seen& seen : ReadAll(SelectAll(std::move(opened)).get())) {
        const auto at = static_cast<size_t>(seen.time_ns);
        wrong += at >= 12 || all[at].data != seen.data;
      }
      EXPECT_LE(wrong, 1);
    }
  }
}

}  // namespace
}  // namespace glint::bag
