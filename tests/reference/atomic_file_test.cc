// Files that are replaced as a whole, by many at a time, on a disk that is full, and by processes that die.
#include "features/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/error.h"

namespace glint {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::StartsWith;

constexpr size_t kMiB = 1 << 20;

class AtomicFileTest : public ::testing::Test {
 protected:
  AtomicFileTest() { fs::create_directories(folder_); }
  ~AtomicFileTest() override { fs::remove_all(folder_); }

  static absl::Status Write(const std::string& path, const std::string& content) {
    auto file = AtomicFile::Create(path);
    if (!file.ok()) return file.status();
    file->Append(content.data(), content.size());
    return file->Commit();
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename().string());
    return names;
  }

  const std::string folder_ = absl::StrCat(::testing::TempDir(), "/atomic-file-", getpid());
  const std::string path_ = folder_ + "/map";
};

TEST_F(AtomicFileTest, ManyWritersAndReadersOfOneName) {
  constexpr int kWriters = 4, kRounds = 25;
  // One letter, as often as the letter says: about two buffers.
  const auto content = [](int letter) {
    return std::string(kMiB / 2 + 1000 * static_cast<size_t>(letter), static_cast<char>(letter));
  };
  ASSERT_TRUE(Write(path_, content('a')).ok());
  std::atomic<int> failed{0}, cut{0}, read{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> readers, writers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!over) {
        const std::string all = Read(path_);
        cut += all.empty() || all != content(all[0]);
        ++read;
      }
    });
  }
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&, i] {
      for (int round = 0; round < kRounds; ++round) failed += !Write(path_, content('b' + i)).ok();
    });
  }
  for (std::thread& writer : writers) writer.join();
  over = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(cut, 0);
  EXPECT_GT(read, 0);
  EXPECT_THAT(Names(), ElementsAre("map"));
}

// Who began to read the old version goes on with it.
TEST_F(AtomicFileTest, AnOpenFileStaysWhatItWas) {
  ASSERT_TRUE(Write(path_, "the old one").ok());
  std::ifstream open(path_);
  std::string word;
  open >> word;
  ASSERT_TRUE(Write(path_, "and another, which is longer").ok());
  open >> word;
  EXPECT_EQ(word, "old");
  EXPECT_EQ(Read(path_), "and another, which is longer");
}

// A limit on files fails like a full disk: in the middle of a file.
TEST_F(AtomicFileTest, WhatDoesNotFitLeavesTheOldFileAlone) {
  ASSERT_TRUE(Write(path_, "old").ok());
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit tight = {kMiB, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const absl::Status status = Write(path_, std::string(kMiB + 1, 'x'));
  const absl::Status fits = Write(folder_ + "/other", std::string(kMiB, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, before);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), StartsWith(path_ + ": cannot be written: "));
  EXPECT_EQ(ErrorInfoOf(status)->reason, "OVER_LIMIT");
  EXPECT_TRUE(fits.ok()) << fits;
  EXPECT_EQ(Read(path_), "old");
  fs::remove(folder_ + "/other");
  EXPECT_THAT(Names(), ElementsAre("map"));
}

TEST_F(AtomicFileTest, OtherErrorsAreInternal) {
  EXPECT_TRUE(absl::IsInternal(Write(folder_ + "/not/there", "x")));
  fs::create_directories(path_);  // a folder in the place of the file
  const absl::Status status = Write(path_, "x");
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_THAT(Names(), ElementsAre("map"));
}

TEST_F(AtomicFileTest, WhatIsNotCommittedGoes) {
  {
    auto file = AtomicFile::Create(path_);
    ASSERT_TRUE(file.ok());
    file->Append("half", 4);
    EXPECT_EQ(Names().size(), 1u);
    const AtomicFile moved = *std::move(file);
  }
  EXPECT_TRUE(Names().empty());
}

TEST_F(AtomicFileTest, TheDeadAreToldFromTheLiving) {
  auto living = AtomicFile::Create(path_);
  ASSERT_TRUE(living.ok());
  living->Append("whole", 5);
  const pid_t child = fork();
  if (child == 0) {
    auto file = AtomicFile::Create(path_);
    const std::string much(kMiB, 'x');
    if (file.ok()) file->Append(much.data(), much.size());
    _exit(file.ok() ? 0 : 1);  // as if it were killed: no destructor
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(Names().size(), 2u);
  std::ofstream(folder_ + "/other.unfinished") << "another program's";
  EXPECT_EQ(RemoveUnfinished(folder_), 1);
  EXPECT_EQ(RemoveUnfinished(folder_), 0);
  EXPECT_TRUE(living->Commit().ok());
  EXPECT_EQ(Read(path_), "whole");
  EXPECT_EQ(Names().size(), 2u);
  EXPECT_EQ(RemoveUnfinished(folder_ + "/not/there"), 0);
}

TEST_F(AtomicFileTest, LinksAndPermissionsAreThoseOfOrdinaryFiles) {
  ASSERT_TRUE(Write(path_, "old").ok());
  const std::string link = folder_ + "/link";
  fs::create_symlink("map", link);
  const mode_t mask = umask(027);
  EXPECT_TRUE(Write(link, "new").ok());
  umask(mask);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(Read(path_), "new");
  struct stat file;
  ASSERT_EQ(stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0640u);
}

}  // namespace
}  // namespace glint
