// Chunks of ROS 1's bags that threads decompress.
#include "bag/ros1_ahead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bag/file.h"
#include "bag/ros1_chunk.h"
#include "bag/ros1_reader.h"
#include "bag/ros1_records.h"
#include "tests/bag/raw_ros1.h"
#include "tests/bag/read_all.h"

namespace glint::bag {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// Forty chunks, which threads decompress ahead where there is more than one processor; one of them is damaged.
TEST(Ros1Ahead, ChunksAreInOrderWhoeverDecompressesThem) {
  raw::Ros1Bag raw;
  raw.Connect(0, "/a", "pkg/A");
  raw.Connect(1, "/b", "pkg/B");
  std::vector<std::string> expected, of_a;
  for (uint64_t i = 0; i < 40; ++i) {
    const uint64_t time = 10 * i;
    raw.AddChunk({{0, time + 5, absl::StrCat("a", i)}, {static_cast<int>(i % 2), time, absl::StrCat("b", i)}}, "bz2");
    if (i == 20) continue;
    expected.push_back(absl::StrCat("b", i));
    expected.push_back(absl::StrCat("a", i));
    if (i % 2 == 0) of_a.push_back(absl::StrCat("b", i));
    of_a.push_back(absl::StrCat("a", i));
  }
  std::string bytes = raw.Closed();
  bytes[bytes.find("BZh", raw.places()[20]) + 4] ^= 1;
  const auto bag = SelectAll(OpenRos1(raw::Save(bytes, ".bag")));
  ASSERT_NE(bag, nullptr);
  EXPECT_EQ(Datas(ReadAll(bag.get())), expected);
  EXPECT_THAT(bag->notes(), Contains(HasSubstr(absl::StrCat("the chunk at byte ", raw.places()[20], " is damaged"))));
  for (const size_t read : {0, 1, 7, 30}) {  // and then begins again
    ASSERT_TRUE(bag->Select({0, 1}).ok());
    Message message;
    for (size_t i = 0; i < read; ++i) ASSERT_TRUE(bag->Next(&message).ok());
    ASSERT_TRUE(bag->Select({0}).ok());
    EXPECT_EQ(Datas(ReadAll(bag.get())), of_a);
  }
  ASSERT_TRUE(bag->Select({0, 1}).ok());
  Message message;
  for (size_t i = 0; i < 20; ++i) ASSERT_TRUE(bag->Next(&message).ok());  // the end is in the middle
}

TEST(Ros1Ahead, GivesWhatWasBegunAndForgetsWhatIsBefore) {
  raw::Ros1Bag raw;
  raw.Connect(0, "/a", "pkg/A");
  for (uint64_t i = 0; i < 4; ++i) raw.AddChunk({{0, i, absl::StrCat("a", i)}}, i == 3 ? "lz4" : "bz2");
  const auto file = File::Open(raw::Save(raw.Closed(), ".bag"));
  ASSERT_TRUE(file.ok());
  std::vector<Ros1Chunk> chunks(4);
  for (size_t i = 0; i < 4; ++i) {
    Ros1FileRecord record;
    const auto place = static_cast<int64_t>(raw.places()[i]);
    ASSERT_TRUE(ReadRos1Record(*file, place, &record).ok());
    ASSERT_TRUE(ParseRos1Chunk(record, place, &chunks[i]).ok());
    EXPECT_EQ(Ros1Ahead::IsWorth(chunks[i]), i != 3);
  }
  Ros1Chunk large = chunks[0];
  large.size = Ros1Ahead::kLargest + 1;
  EXPECT_FALSE(Ros1Ahead::IsWorth(large));

  Ros1Ahead ahead(*file, 2);
  EXPECT_FALSE(ahead.Take(chunks[0]).has_value());
  EXPECT_TRUE(ahead.Begin(chunks[0]));
  EXPECT_TRUE(ahead.Begin(chunks[1]));
  EXPECT_FALSE(ahead.Begin(chunks[2]));
  const auto loaded = ahead.Take(chunks[1]);
  ASSERT_TRUE(loaded.has_value());
  EXPECT_TRUE(loaded->status.ok());
  std::vector<uint8_t> scratch, expected;
  ASSERT_TRUE(LoadRos1Chunk(*file, chunks[1], &scratch, &expected).ok());
  EXPECT_EQ(loaded->data, expected);
  EXPECT_FALSE(ahead.Take(chunks[0]).has_value());
  EXPECT_TRUE(ahead.Begin(chunks[2]));
  ahead.Clear();
  EXPECT_FALSE(ahead.Take(chunks[2]).has_value());
  EXPECT_TRUE(ahead.Begin(chunks[2]));
  EXPECT_FALSE(Ros1Ahead(*file, 0).Begin(chunks[0]));
}

}  // namespace
}  // namespace glint::bag
