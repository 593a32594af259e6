// Videos that are drawn: whole, or an error, although OpenCV's writer says nothing.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <opencv2/core.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/output/draw.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;

using ::testing::StartsWith;

constexpr int kFrames = 20;

// The same noise each time, which hardly gets smaller.
absl::Status DrawVideo(const std::string& path) {
  cv::Mat noise(96, 128, CV_8UC3);
  cv::RNG(1).fill(noise, cv::RNG::UNIFORM, 0, 255);
  auto sink = OpenDrawSink(path, 10);
  absl::Status status = sink.status();
  for (int i = 0; status.ok() && i < kFrames; ++i) status = (*sink)->Write("a", noise);
  if (status.ok()) status = (*sink)->Close();
  return status;
}

// In a process that may write files of so many bytes.
absl::Status DrawVideoOfUpTo(rlim_t bytes, const std::string& path) {
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit;
  EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit tight = {bytes, limit.rlim_max};
  EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  absl::Status status = DrawVideo(path);
  EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, before);
  return status;
}

class DrawVideoTest : public ::testing::TestWithParam<const char*> {
 protected:
  DrawVideoTest() { fs::create_directories(folder_); }
  ~DrawVideoTest() override { fs::remove_all(folder_); }

  const std::string folder_ = absl::StrCat(::testing::TempDir(), "/draw-video-", getpid());
  const std::string path_ = folder_ + "/video" + GetParam();
};

TEST_P(DrawVideoTest, IsWholeOrAnError) {
  ASSERT_EQ(DrawVideo(path_), absl::OkStatus());
  const auto bytes = static_cast<rlim_t>(fs::file_size(path_));
  ASSERT_GT(bytes, rlim_t{20'000});
  for (const rlim_t missing : {rlim_t{1}, rlim_t{1000}, bytes / 2, bytes - 3000}) {
    const absl::Status status = DrawVideoOfUpTo(bytes - missing, path_);
    EXPECT_TRUE(absl::IsDataLoss(status)) << missing << ": " << status;
    EXPECT_THAT(std::string(status.message()), StartsWith(path_ + ": cannot be written: ")) << missing;
  }
  EXPECT_EQ(DrawVideo(path_), absl::OkStatus());
}

TEST_P(DrawVideoTest, WithoutPicturesThereIsNone) {
  auto sink = OpenDrawSink(path_, 10);
  ASSERT_TRUE(sink.ok()) << sink.status();
  EXPECT_TRUE((*sink)->Close().ok());
  EXPECT_FALSE(fs::exists(path_));
}

INSTANTIATE_TEST_SUITE_P(Formats, DrawVideoTest, ::testing::Values(".avi", ".mp4", ".mkv"));

}  // namespace
}  // namespace glint::cli
