// The limit on maps holds however many threads save at once, and what dead writers left is removed.
#include "server/operations/localize/map_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/atomic_file.h"
#include "features/error.h"

namespace glint {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;

class MapDirectoryTest : public ::testing::Test {
 protected:
  MapDirectoryTest() { fs::create_directories(folder_); }
  ~MapDirectoryTest() override { fs::remove_all(folder_); }

  size_t Files() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {})); }

  const std::string folder_ = absl::StrCat(::testing::TempDir(), "/map-directory-", getpid());
};

absl::Status Write(const std::string& file) {
  std::ofstream(file) << "a map";
  return absl::OkStatus();
}

// All are admitted or refused before the first of them has a file.
TEST_F(MapDirectoryTest, ItsLimitHoldsWhileManySave) {
  constexpr int kMost = 3, kThreads = 8;
  MapDirectory maps(folder_ + "/", kMost);
  ASSERT_TRUE(maps.Save(*maps.FileOf("old"), [&] { return Write(*maps.FileOf("old")); }).ok());
  std::mutex mutex;
  std::condition_variable changed;
  int decided = 0, refused = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const std::string file = *maps.FileOf(absl::StrCat("new", i % 4));  // two threads for each name
      const absl::Status status = maps.Save(file, [&] {
        std::unique_lock<std::mutex> lock(mutex);
        ++decided;
        changed.notify_all();
        changed.wait(lock, [&] { return decided == kThreads; });
        return Write(file);
      });
      if (status.ok()) return;
      std::lock_guard<std::mutex> lock(mutex);
      ++decided;
      ++refused;
      changed.notify_all();
      EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("4 maps are over this server's limit of 3 (--max-maps)"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 4);  // of two of the four names
  EXPECT_EQ(Files(), static_cast<size_t>(kMost));
  // The old one can be replaced, and a place that became free is taken.
  EXPECT_TRUE(maps.Save(*maps.FileOf("old"), [&] { return Write(*maps.FileOf("old")); }).ok());
  fs::remove(*maps.FileOf("old"));
  const std::string failing = *maps.FileOf("failing");
  EXPECT_TRUE(absl::IsInternal(maps.Save(failing, [] { return absl::InternalError("no"); })));
  EXPECT_TRUE(maps.Save(*maps.FileOf("other"), [&] { return Write(*maps.FileOf("other")); }).ok());
  EXPECT_EQ(Files(), static_cast<size_t>(kMost));
}

TEST_F(MapDirectoryTest, ASlipInANameIsAnErrorWithTheNamesThatThereAre) {
  const MapDirectory maps(folder_, 30);
  const absl::Status none = maps.NoSuchMap(*maps.FileOf("wall"));
  EXPECT_TRUE(absl::IsNotFound(none)) << none;
  EXPECT_EQ(none.message(), "name: there is no map \"wall\"; this server has none");
  for (const char* name : {"hall", "v1.2", "office"}) ASSERT_TRUE(Write(*maps.FileOf(name)).ok());
  std::ofstream(folder_ + "/notes.txt") << "no map";
  const absl::Status other = maps.NoSuchMap(*maps.FileOf("offce"));
  EXPECT_EQ(other.message(), "name: there is no map \"offce\"; this server has hall, office, v1.2");
  const auto info = ErrorInfoOf(other);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->field, "name");
  EXPECT_EQ(info->value, "offce");
  // What is no name of a map, such as one that is no text, is not repeated, and of many the first are.
  std::ofstream(folder_ + "/\xfc.glintmap") << "a map of somebody else";
  for (int i = 10; i < 40; ++i) ASSERT_TRUE(Write(*maps.FileOf(absl::StrCat("a", i))).ok());
  const std::string many(maps.NoSuchMap(*maps.FileOf("b")).message());
  EXPECT_THAT(many, HasSubstr("this server has a10, a11, "));
  EXPECT_THAT(many, ::testing::EndsWith(", a29, ..."));

  const absl::Status file = maps.FileOf("office.glintmap").status();
  EXPECT_TRUE(absl::IsInvalidArgument(file)) << file;
  EXPECT_EQ(file.message(),
            "name: \"office.glintmap\" is the name of a file; the map's has no \".glintmap\" at its end");
}

TEST_F(MapDirectoryTest, WhatDeadServersLeftUnfinishedIsRemoved) {
  const std::string file = *MapDirectory(folder_, 1).FileOf("wall");
  const pid_t child = fork();
  if (child == 0) {
    const auto half = AtomicFile::Create(file);
    _exit(half.ok() ? 0 : 1);  // no destructor
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(Files(), 1u);
  const auto living = AtomicFile::Create(file);  // another server's
  const MapDirectory next(folder_, 1);
  EXPECT_EQ(Files(), 1u);
}

}  // namespace
}  // namespace glint
