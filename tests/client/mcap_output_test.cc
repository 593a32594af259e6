// --mcap without a server: the times of frames, pictures, maps, and what of the file is there at any time.
#include "client/cli/output/mcap_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/bag/read_all.h"
#include "tests/client/bag_writer.h"
#include "tests/support/random.h"
#include "tests/view/wire_fields.h"

namespace glint::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using view::WireFields;

constexpr int64_t kMillisecond = 1'000'000;

// The times and contents of each topic.
struct Contents {
  std::map<std::string, std::vector<std::pair<int64_t, std::string>>> topics;
  std::vector<std::string> notes;

  std::vector<int64_t> Times(const std::string& topic) const {
    std::vector<int64_t> times;
    const auto at = topics.find(topic);
    for (size_t i = 0; at != topics.end() && i < at->second.size(); ++i) times.push_back(at->second[i].first);
    return times;
  }
};

Contents Read(const std::string& path) {
  Contents contents;
  const auto bag = bag::SelectAll(bag::Bag::Open(path));
  if (bag == nullptr) return contents;
  for (const bag::Seen& seen : bag::ReadAll(bag.get())) {
    contents.topics[bag->topics()[static_cast<size_t>(seen.topic)].name].emplace_back(seen.time_ns, seen.data);
  }
  contents.notes = bag->notes();
  return contents;
}

std::shared_ptr<const view::MapPoints> Points(size_t count) {
  return std::make_shared<view::MapPoints>(count, std::array<float, 3>{1, 2, 3});
}

class McapOutputTest : public BagTest {
 protected:
  std::unique_ptr<McapOutput> Open(double rate = 20, bool images = false,
                                   absl::Duration longest_chunk = absl::InfiniteDuration()) const {
    McapFlags flags;
    flags.path = Path("out.mcap");
    flags.images = images;
    return McapOutput::Open(flags, rate, longest_chunk).value();
  }
};

TEST_F(McapOutputTest, FramesWithoutTimesFollowTheRate) {
  const auto output = Open();
  ASSERT_TRUE(output->Add({}, std::nullopt, 0).ok());
  ASSERT_TRUE(output->Add({}, std::nullopt, 3).ok());  // the two between have failed
  ASSERT_TRUE(output->Add({}, absl::Nanoseconds(kBegin), 4).ok());
  ASSERT_TRUE(output->Add({}, std::nullopt, 6).ok());
  ASSERT_TRUE(output->Add({}, absl::Nanoseconds(kBegin + 1), 7).ok());
  ASSERT_TRUE(output->Close().ok());
  const Contents found = Read(Path("out.mcap"));
  EXPECT_THAT(found.Times("/stages"),
              ElementsAre(0, 150 * kMillisecond, kBegin, kBegin + 1, kBegin + 100 * kMillisecond));  // by time
  const WireFields stamp = WireFields(found.topics.at("/log")[2].second).Message(1);
  EXPECT_EQ(stamp.Number(1), 1'403'636'579u);
  EXPECT_EQ(stamp.Number(2), 763'555'584u);
  EXPECT_THAT(found.notes, IsEmpty());
}

TEST_F(McapOutputTest, TimesBeforeZeroAreErrors) {
  const auto output = Open();
  view::Scene scene;
  scene.name = "left/-1.png";
  const absl::Status status = output->Add(scene, absl::Seconds(-1), 0);
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(status.message(), Path("out.mcap") + ": the time of left/-1.png is -1s, before 0");
}

TEST_F(McapOutputTest, PicturesAreThereIfTheyAreWanted) {
  view::Scene scene;
  scene.marks = {{{10, 20}, 1, -1, 0}};
  int made = 0;
  scene.picture = [&made] {
    ++made;
    view::EncodedPicture picture;
    picture.file = "\xff\xd8 a file";
    picture.scale = 0.5;
    return picture;
  };
  const auto mark = [](const Contents& found) {
    const WireFields all(found.topics.at("/annotations").at(0).second);
    const WireFields at(all.Message(2).Text(3));
    return std::pair(at.Double(1), at.Double(2));
  };
  ASSERT_TRUE(Open()->Add(scene, std::nullopt, 0).ok());  // without Close(): the end of `output` is enough
  const Contents without = Read(Path("out.mcap"));
  EXPECT_THAT(without.notes, IsEmpty());
  EXPECT_EQ(without.topics.count("/image"), 0u);
  EXPECT_EQ(made, 0);
  EXPECT_EQ(mark(without), std::pair(10.5, 20.5));

  ASSERT_TRUE(Open(20, /*images=*/true)->Add(scene, std::nullopt, 0).ok());
  const Contents with = Read(Path("out.mcap"));
  EXPECT_EQ(made, 1);
  ASSERT_EQ(with.topics.count("/image"), 1u);
  EXPECT_EQ(WireFields(with.topics.at("/image")[0].second).Text(2), "\xff\xd8 a file");
  EXPECT_EQ(mark(with), std::pair(5.25, 10.25));  // in pixels of /image
}

TEST_F(McapOutputTest, PathsAreWrittenOnceASecondAndAtTheEnd) {
  for (const int frames : {41, 45}) {
    const auto output = Open();
    view::Scene scene;
    for (int i = 0; i < frames; ++i) {
      if (i >= 5) scene.path.emplace_back();  // before, nothing was located
      ASSERT_TRUE(output->Add(scene, std::nullopt, i).ok());
    }
    ASSERT_TRUE(output->Close().ok());
    const Contents found = Read(Path("out.mcap"));
    EXPECT_EQ(found.Times("/stages").size(), static_cast<size_t>(frames));
    EXPECT_THAT(found.Times("/path"),
                ElementsAre(250 * kMillisecond, 1250 * kMillisecond, (frames - 1) * 50 * kMillisecond));
    EXPECT_EQ(WireFields(found.topics.at("/path").back().second).Texts(3).size(), static_cast<size_t>(frames - 5));
  }
}

TEST_F(McapOutputTest, MapsAreWrittenAsTheyGrowAndAtTheEnd) {
  const auto output = Open();
  int64_t number = 0;
  for (const size_t points : {100, 105, 111, 120, 123, 100, 101}) {
    output->SetMap(Points(points));
    ASSERT_TRUE(output->Add({}, std::nullopt, number++).ok());
    ASSERT_TRUE(output->Add({}, std::nullopt, number++).ok());
  }
  ASSERT_TRUE(output->Close().ok());
  const Contents found = Read(Path("out.mcap"));
  std::vector<std::pair<int64_t, size_t>> maps;
  ASSERT_EQ(found.topics.count("/map"), 1u);
  for (const auto& [time, data] : found.topics.at("/map")) {
    maps.emplace_back(time / (50 * kMillisecond), WireFields(data).Text(6).size() / 12);
  }
  EXPECT_THAT(maps, ElementsAre(std::pair(0, 100u), std::pair(4, 111u), std::pair(8, 123u), std::pair(10, 100u),
                                std::pair(13, 101u)));
}

// Pictures that no compression makes smaller, so that there are chunks.
view::Scene Noise(uint32_t seed) {
  view::Scene scene;
  scene.picture = [seed] {
    testing::Random random(seed);
    view::EncodedPicture picture;
    while (picture.file.size() < 300'000) picture.file.push_back(static_cast<char>(random.Bits()));
    return picture;
  };
  return scene;
}

TEST_F(McapOutputTest, WholeChunksCanBeReadBeforeTheEnd) {
  const auto output = Open(20, /*images=*/true);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(output->Add(Noise(static_cast<uint32_t>(i)), std::nullopt, i).ok());
  std::filesystem::copy_file(Path("out.mcap"), Path("killed.mcap"));  // what a process leaves that ends here
  const Contents killed = Read(Path("killed.mcap"));
  EXPECT_THAT(killed.Times("/image"), SizeIs(8));  // of two chunks, each with what makes it 1 MiB
  ASSERT_THAT(killed.notes, SizeIs(1));
  EXPECT_THAT(killed.notes[0], HasSubstr("cut off"));
  ASSERT_TRUE(output->Close().ok());
  const Contents whole = Read(Path("out.mcap"));
  EXPECT_THAT(whole.Times("/image"), SizeIs(10));
  EXPECT_THAT(whole.notes, IsEmpty());
}

TEST_F(McapOutputTest, ChunksEndByTime) {
  const auto output = Open(20, /*images=*/false, /*longest_chunk=*/absl::ZeroDuration());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(output->Add({}, std::nullopt, i).ok());
  std::filesystem::copy_file(Path("out.mcap"), Path("killed.mcap"));
  EXPECT_THAT(Read(Path("killed.mcap")).Times("/stages"), SizeIs(3));
}

// A limit on the lengths of files stands for a full disk.
TEST_F(McapOutputTest, AFullDiskIsSaidAndCostsWhatFollows) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {2 << 20, before.rlim_max};
  absl::Status status, closed;
  {
    const auto output = Open(20, /*images=*/true);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int i = 0; i < 20 && status.ok(); ++i) status = output->Add(Noise(static_cast<uint32_t>(i)), std::nullopt, i);
    closed = output->Close();
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  }
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status, absl::DataLossError(Path("out.mcap") + ": File too large"));
  EXPECT_EQ(closed, status);
  EXPECT_THAT(Read(Path("out.mcap")).Times("/image"), SizeIs(4));
}

TEST_F(McapOutputTest, FilesThatCannotBeMadeAreErrors) {
  McapFlags flags;
  flags.path = Path("no folder/out.mcap");
  EXPECT_EQ(McapOutput::Open(flags, 20).status(), absl::DataLossError(flags.path + ": No such file or directory"));
  flags.path = "/dev/full";
  EXPECT_EQ(McapOutput::Open(flags, 20).status(), absl::DataLossError("/dev/full: No space left on device"));
}

TEST_F(McapOutputTest, TheRecordingItselfIsNotWrittenOver) {
  std::filesystem::create_directories(Path("bag"));
  BagWriter(Path("bag/bag_0.mcap")).Close();
  McapFlags flags;
  for (const std::string& bag : {Path("bag"), Path("bag/bag_0.mcap")}) {
    flags.path = Path("bag/../bag/bag_0.mcap");
    EXPECT_EQ(flags.Validate(bag).message(),
              absl::StrCat("option '--mcap': '", flags.path, "' is the recording of --bag"));
    flags.path = Path("bag/new.mcap");
    EXPECT_TRUE(flags.Validate(bag).ok());
    EXPECT_TRUE(flags.Validate("").ok());
  }
}

}  // namespace
}  // namespace glint::cli
