// Files of McapWriter, byte by byte where readers other than ours go by it, and as ours reads them.
#include "bag/mcap_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bag/mcap_reader.h"
#include "tests/bag/raw_mcap.h"
#include "tests/bag/read_all.h"

namespace glint::bag {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string PathOf(const std::string& name) { return testing::TempDir() + "/mcap_writer_test_" + name; }

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

absl::Span<const uint8_t> Bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

McapChannel Image() {
  return {"/image", "cdr", "sensor_msgs/msg/Image", "ros2msg", "uint32 height\n", {{"offered_qos_profiles", ""}}};
}

// The whole file against records written by hand.
TEST(McapWriterTest, WritesTheseRecords) {
  const std::string path = PathOf("records.mcap");
  std::filesystem::remove(path);
  auto writer = McapWriter::Create(path, "ros2", McapWriter::Compression::kNone);
  ASSERT_TRUE(writer.ok()) << writer.status();
  const auto image = (*writer)->AddChannel(Image());
  const auto text = (*writer)->AddChannel({"/text", "json", "", "", "", {}});
  ASSERT_TRUE(image.ok() && text.ok());
  ASSERT_TRUE((*writer)->Write(*image, 2000, 5, Bytes("abc")).ok());
  ASSERT_TRUE((*writer)->Write(*text, 1000, 6, Bytes("")).ok());
  ASSERT_TRUE((*writer)->Write(*image, 3000, 7, Bytes("d")).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE((*writer)->Close().ok());

  using raw::Le;
  using raw::Record;
  const auto message = [](int channel, int sequence, uint64_t time, uint64_t published, const std::string& data) {
    return Record(5, Le(static_cast<uint64_t>(channel), 2) + Le(static_cast<uint64_t>(sequence), 4) + Le(time, 8) +
                         Le(published, 8) + data);
  };
  const std::string schema = raw::Schema(1, "sensor_msgs/msg/Image", "ros2msg", "uint32 height\n");
  const std::string channels = Record(4, Le(1, 2) + Le(1, 2) + raw::Text("/image") + raw::Text("cdr") +
                                             raw::Text(raw::Text("offered_qos_profiles") + raw::Text(""))) +
                               Record(4, Le(2, 2) + Le(0, 2) + raw::Text("/text") + raw::Text("json") + raw::Text(""));
  const std::string messages[] = {message(1, 0, 2000, 5, "abc"), message(2, 0, 1000, 6, ""),
                                  message(1, 1, 3000, 7, "d")};
  const std::string records = schema + channels + messages[0] + messages[1] + messages[2];
  const std::string chunk = Record(6, Le(1000, 8) + Le(3000, 8) + Le(records.size(), 8) + Le(raw::Crc(records), 4) +
                                          raw::Text("") + Le(records.size(), 8) + records);
  const size_t first = schema.size() + channels.size();
  const std::string index_1 = Record(7, Le(1, 2) + raw::Text(Le(2000, 8) + Le(first, 8) + Le(3000, 8) +
                                                             Le(first + messages[0].size() + messages[1].size(), 8)));
  const std::string index_2 = Record(7, Le(2, 2) + raw::Text(Le(1000, 8) + Le(first + messages[0].size(), 8)));
  std::string file = raw::kMagic + Record(1, raw::Text("ros2") + raw::Text("glint"));
  const size_t begin = file.size(), end = begin + chunk.size();
  file += chunk + index_1 + index_2;
  file += Record(15, Le(raw::Crc(file), 4));
  const std::string statistics =
      Record(11, Le(3, 8) + Le(1, 2) + Le(2, 4) + Le(0, 4) + Le(0, 4) + Le(1, 4) + Le(1000, 8) + Le(3000, 8) +
                     raw::Text(Le(1, 2) + Le(2, 8) + Le(2, 2) + Le(1, 8)));
  const std::string chunk_index = Record(
      8, Le(1000, 8) + Le(3000, 8) + Le(begin, 8) + Le(chunk.size(), 8) +
             raw::Text(Le(1, 2) + Le(end, 8) + Le(2, 2) + Le(end + index_1.size(), 8)) +
             Le(index_1.size() + index_2.size(), 8) + raw::Text("") + Le(records.size(), 8) + Le(records.size(), 8));
  std::string summary, offsets;
  for (const auto& [opcode, group] :
       std::vector<std::pair<int, std::string>>{{3, schema}, {4, channels}, {11, statistics}, {8, chunk_index}}) {
    offsets +=
        Record(14, Le(static_cast<uint64_t>(opcode), 1) + Le(file.size() + summary.size(), 8) + Le(group.size(), 8));
    summary += group;
  }
  const std::string checked =
      summary + offsets + Le(2, 1) + Le(20, 8) + Le(file.size(), 8) + Le(file.size() + summary.size(), 8);
  EXPECT_EQ(Contents(path), file + checked + Le(raw::Crc(checked), 4) + raw::kMagic);
}

TEST(McapWriterTest, ReadsBackManyChunks) {
  for (const auto compression : {McapWriter::Compression::kNone, McapWriter::Compression::kZstd}) {
    const std::string path = PathOf("many.mcap");
    auto writer = McapWriter::Create(path, "", compression);
    ASSERT_TRUE(writer.ok()) << writer.status();
    const auto image = (*writer)->AddChannel(Image());
    auto depth_channel = Image();
    depth_channel.topic = "/depth";
    const auto depth = (*writer)->AddChannel(depth_channel);
    ASSERT_TRUE(image.ok() && depth.ok());
    std::vector<Seen> expected;
    size_t bytes = 0;
    for (int i = 0; i < 300; ++i) {
      std::string data(i == 100 ? 3 << 20 : 20000, static_cast<char>(i));
      const int64_t time = 1'700'000'000'000'000'000 + i * 1000;
      ASSERT_TRUE((*writer)->Write(i % 3 == 0 ? *depth : *image, time, time, Bytes(data)).ok());
      bytes += data.size();
      expected.push_back({i % 3 == 0 ? 1 : 0, time, std::move(data)});
    }
    ASSERT_TRUE((*writer)->Close().ok());
    const std::string file = Contents(path);
    if (compression == McapWriter::Compression::kNone) {
      EXPECT_GT(file.size(), bytes);
    } else {
      EXPECT_LT(file.size(), bytes / 50);
    }
    const auto bag = SelectAll(OpenMcap(path));
    ASSERT_NE(bag, nullptr);
    ASSERT_EQ(bag->topics().size(), 2u);
    EXPECT_EQ(Text(bag->topics()[0]),
              "/image sensor_msgs/msg/Image cdr ros2msg uint32 height\n 200 1700000000000001000 1700000000000299000");
    EXPECT_EQ(bag->topics()[1].messages, 100);
    EXPECT_TRUE(ReadAll(bag.get()) == expected);
    EXPECT_THAT(bag->notes(), IsEmpty());
  }
}

// A sink gets the bytes of a file, of which readers take what is there for one that was cut off.
TEST(McapWriterTest, GivesSinksWholeChunks) {
  const std::string path = PathOf("whole.mcap"), begin = PathOf("begin.mcap");
  std::string taken;
  int closed = 0;
  absl::Status answer;
  const auto write = [&](McapWriter* writer, int messages) {
    for (int i = 0; i < messages; ++i) {
      const absl::Status status = writer->Write(1, i, i, Bytes(std::string(100'000, static_cast<char>(i))));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  };
  const McapWriter::Sink sink = {[&](absl::string_view piece) {
                                   if (answer.ok()) taken.append(piece.data(), piece.size());
                                   return answer;
                                 },
                                 [&] {
                                   ++closed;
                                   return absl::OkStatus();
                                 }};
  const auto to_sink = McapWriter::Create(sink, "ros2").value(), to_file = McapWriter::Create(path, "ros2").value();
  EXPECT_FALSE(taken.empty());
  for (McapWriter* writer : {to_sink.get(), to_file.get()}) {
    ASSERT_TRUE(writer->AddChannel(Image()).ok());
    ASSERT_TRUE(write(writer, 15).ok());
  }
  std::ofstream(begin, std::ios::binary) << taken;
  const auto bag = SelectAll(OpenMcap(begin));
  ASSERT_NE(bag, nullptr);
  EXPECT_EQ(ReadAll(bag.get()).size(), 11u);  // a chunk ends with what makes it 1 MiB
  ASSERT_EQ(bag->notes().size(), 1u);
  EXPECT_THAT(bag->notes()[0], HasSubstr("cut off"));
  ASSERT_TRUE(to_sink->Close().ok());
  ASSERT_TRUE(to_file->Close().ok());
  EXPECT_EQ(taken, Contents(path));
  EXPECT_EQ(closed, 1);

  const auto failing = McapWriter::Create(sink, "").value();
  ASSERT_TRUE(failing->AddChannel(Image()).ok());
  answer = absl::DataLossError("full");
  EXPECT_EQ(write(failing.get(), 15), answer);
  const absl::Status first = std::exchange(answer, absl::OkStatus());
  taken.clear();
  EXPECT_EQ(failing->Close(), first);
  EXPECT_EQ(taken, "");
  EXPECT_EQ(closed, 1);
}

TEST(McapWriterTest, WritesFilesOfNoMessage) {
  const std::string path = PathOf("none.mcap");
  for (const bool channel : {false, true}) {
    auto writer = McapWriter::Create(path, "");
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE(!channel || (*writer)->AddChannel(Image()).ok());
    ASSERT_TRUE((*writer)->Close().ok());
    const auto bag = SelectAll(OpenMcap(path));
    ASSERT_NE(bag, nullptr);
    EXPECT_EQ(bag->topics().size(), channel ? 1u : 0u);
    EXPECT_THAT(ReadAll(bag.get()), IsEmpty());
    EXPECT_THAT(bag->notes(), IsEmpty());
  }
}

TEST(McapWriterTest, RefusesWhatIsOutOfRange) {
  auto writer = McapWriter::Create(PathOf("refused.mcap"), "");
  ASSERT_TRUE(writer.ok()) << writer.status();
  const std::string data = "data";
  EXPECT_TRUE(absl::IsInvalidArgument((*writer)->Write(1, 0, 0, Bytes(data))));
  const auto channel = (*writer)->AddChannel(Image());
  ASSERT_TRUE(channel.ok());
  EXPECT_EQ(*channel, 1);
  EXPECT_TRUE(absl::IsInvalidArgument((*writer)->Write(0, 0, 0, Bytes(data))));
  EXPECT_TRUE(absl::IsInvalidArgument((*writer)->Write(2, 0, 0, Bytes(data))));
  EXPECT_EQ((*writer)->Write(1, -1, 0, Bytes(data)).message(), "time_ns: -1 is not in 0..9223372036854775807");
  EXPECT_TRUE(absl::IsInvalidArgument((*writer)->Write(1, 0, -1, Bytes(data))));
  EXPECT_TRUE((*writer)->Write(1, 0, std::numeric_limits<int64_t>::max(), Bytes(data)).ok());
  for (int i = 2; i <= 65535; ++i) ASSERT_TRUE((*writer)->AddChannel({}).ok());
  EXPECT_TRUE(absl::IsResourceExhausted((*writer)->AddChannel({}).status()));
}

// A limit on the lengths of files stands for a full disk.
TEST(McapWriterTest, SaysWhenTheDiskIsFullAndLeavesNothing) {
  const std::string folder = PathOf("full");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  {
    auto writer = McapWriter::Create(folder + "/a.mcap", "", McapWriter::Compression::kNone);
    ASSERT_TRUE(writer.ok()) << writer.status();
    const auto channel = (*writer)->AddChannel(Image());
    ASSERT_TRUE(channel.ok());
    const rlimit small = {1 << 20, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int i = 0; i < 4; ++i) EXPECT_TRUE((*writer)->Write(*channel, i, i, Bytes(std::string(1 << 20, 'x'))).ok());
    const absl::Status status = (*writer)->Close();
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("cannot be written"));
  }
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  EXPECT_FALSE(McapWriter::Create(folder + "/no folder/a.mcap", "").ok());
}

}  // namespace
}  // namespace glint::bag
