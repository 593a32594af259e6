// JPEG files whose restart intervals several threads share: the pixels and the errors of one thread.
#include <gtest/gtest.h>

#include <opencv2/imgcodecs.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "decode/jpeg_writer.h"
#include "features/parallel.h"
#include "tests/decode/files.h"

namespace glint::decode {
namespace {

using testing::Bytes;
using testing::Decode;
using testing::Picture;

class Threads final : public Parallel {
 public:
  explicit Threads(int count) : count_(count) {}
  int threads() const override { return count_; }
  void Share(int count, absl::FunctionRef<void(int)> task) override {
    std::vector<std::thread> threads;
    threads.reserve(static_cast<size_t>(count));
    for (int i = count - 1; i >= 0; --i) threads.emplace_back(task, i);
    for (std::thread& thread : threads) thread.join();
  }

 private:
  const int count_;
};

Bytes WithRestarts(Shape shape, JpegSampling sampling, int quality, int restart_rows) {
  const Bytes luma = Picture(shape.width, shape.height, 1, 5);
  const Bytes chroma = Picture(shape.width, shape.height, 1, 6);
  JpegPlanes planes;
  planes.luma = {luma.data(), shape.width, shape.height, shape.width};
  planes.cb = planes.cr = {chroma.data(), shape.width, shape.height, shape.width};
  const auto file = WriteJpeg(planes, {quality, sampling, restart_rows});
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? Bytes(file->begin(), file->end()) : Bytes();
}

// OpenCV counts the interval in units, not in rows of them.
Bytes WithRestartUnits(Shape shape, int channels, int units) {
  Bytes pixels = Picture(shape.width, shape.height, channels, 3);
  const cv::Mat picture(shape.height, shape.width, CV_8UC(channels), pixels.data());
  Bytes file;
  cv::imencode(".jpg", picture, file, {cv::IMWRITE_JPEG_RST_INTERVAL, units});
  return file;
}

// Whether `file` was shared. What comes out is that of one thread in any case.
bool IsShared(Decoder* one, Decoder* several, const Bytes& file) {
  const int64_t before = several->shared_jpegs();
  const auto expected = Decode(one, Encoding::kJpeg, file);
  const auto decoded = Decode(several, Encoding::kJpeg, file);
  EXPECT_EQ(decoded.status, expected.status);
  EXPECT_TRUE(!expected.status.ok() || decoded.pixels == expected.pixels);
  return several->shared_jpegs() > before;
}

TEST(JpegParts, AreThePixelsOfOneThread) {
  for (const int threads : {2, 3, 16}) {
    Threads parallel(threads);
    Decoder one, several(&parallel);
    for (const auto sampling :
         {JpegSampling::kGrey, JpegSampling::k444, JpegSampling::k422, JpegSampling::k440, JpegSampling::k420}) {
      for (const Shape shape : {Shape{300, 300}, Shape{641, 479}, Shape{130, 1025}}) {
        for (const int quality : {30, 95}) {
          SCOPED_TRACE(::testing::Message() << threads << " threads, sampling " << static_cast<int>(sampling) << ", "
                                            << shape.width << "x" << shape.height << ", quality " << quality);
          EXPECT_TRUE(IsShared(&one, &several, WithRestarts(shape, sampling, quality, 1)));
          EXPECT_FALSE(IsShared(&one, &several, WithRestarts(shape, sampling, quality, 0)));
          IsShared(&one, &several, WithRestarts(shape, sampling, quality, 3));
        }
      }
    }
    EXPECT_TRUE(IsShared(&one, &several, WithRestarts({640, 480}, JpegSampling::kGrey, 90, 3)));
  }
}

TEST(JpegParts, BeginWhereRowsBegin) {
  Threads parallel(2);
  Decoder one, several(&parallel);
  for (const int channels : {1, 3}) {
    for (int units = 1; units <= 90; ++units) {
      SCOPED_TRACE(units);
      IsShared(&one, &several, WithRestartUnits({320, 400}, channels, units));
    }
  }
  EXPECT_TRUE(IsShared(&one, &several, WithRestartUnits({320, 400}, 1, 5)));    // an eighth of a row
  EXPECT_TRUE(IsShared(&one, &several, WithRestartUnits({320, 400}, 1, 60)));   // one and a half
  EXPECT_FALSE(IsShared(&one, &several, WithRestartUnits({320, 400}, 1, 51)));  // meets rows after 51 of them
}

TEST(JpegParts, LeaveSmallPicturesAndOneThreadAlone) {
  Threads single(1), parallel(4);
  Decoder one, alone(&single), several(&parallel);
  EXPECT_FALSE(IsShared(&one, &alone, WithRestarts({640, 480}, JpegSampling::kGrey, 90, 1)));
  EXPECT_FALSE(IsShared(&one, &several, WithRestarts({100, 100}, JpegSampling::kGrey, 90, 1)));
}

size_t RestartAt(const Bytes& file, int number) {
  size_t at = file.size();
  for (size_t i = 0, seen = 0; i + 1 < file.size(); ++i) {
    if (file[i] != 0xff || file[i + 1] < 0xd0 || file[i + 1] > 0xd7 || static_cast<int>(seen++) != number) continue;
    at = i;
    break;
  }
  EXPECT_LT(at, file.size());
  return at;
}

TEST(JpegParts, LeaveWhatIsNotRegularToOneThread) {
  Threads parallel(4);
  Decoder one, several(&parallel);
  const Bytes good = WithRestarts({400, 400}, JpegSampling::kGrey, 90, 1);
  ASSERT_TRUE(IsShared(&one, &several, good));
  const auto at = [&](int number) { return good.begin() + static_cast<ptrdiff_t>(RestartAt(good, number)); };

  Bytes file = good;
  file[RestartAt(good, 10) + 1] ^= 1;  // another number
  EXPECT_FALSE(IsShared(&one, &several, file));
  file.assign(good.begin(), at(7));  // without the marker before a part
  file.insert(file.end(), at(7) + 2, good.end());
  EXPECT_FALSE(IsShared(&one, &several, file));
  file.assign(good.begin(), at(20));  // ends early
  EXPECT_FALSE(IsShared(&one, &several, file));
  file.assign(good.begin(), at(20));  // ends early, with an end marker
  file.insert(file.end(), {0xff, 0xd9});
  EXPECT_FALSE(IsShared(&one, &several, file));
  file.assign(good.begin(), at(15));  // an interval twice
  file.insert(file.end(), at(15), at(16));
  file.insert(file.end(), at(15), good.end());
  EXPECT_FALSE(IsShared(&one, &several, file));
  file.assign(good.begin(), good.end() - 2);  // a comment after the scan
  file.insert(file.end(), {0xff, 0xfe, 0, 2, 0xff, 0xd9});
  EXPECT_FALSE(IsShared(&one, &several, file));
  file.assign(good.begin(), at(9));  // bytes too many, which libjpeg skips
  file.insert(file.end(), {1, 2, 3});
  file.insert(file.end(), at(9), good.end());
  IsShared(&one, &several, file);
  file = good;  // what follows the picture
  file.insert(file.end(), {1, 2, 3, 0xff, 0xd3});
  EXPECT_TRUE(IsShared(&one, &several, file));
}

TEST(JpegParts, LeaveInksToOneThread) {
  Threads parallel(3);
  Decoder one, several(&parallel);
  for (const auto components : {testing::JpegComponents::kCmyk, testing::JpegComponents::kYcck}) {
    EXPECT_FALSE(IsShared(&one, &several, testing::WriteJpegOf({641, 479, components, false, true, 1})));
  }
}

TEST(JpegParts, DamagedFilesGetTheAnswerOfOneThread) {
  Threads parallel(4);
  Decoder one, several(&parallel);
  std::mt19937 random(11);
  int shared = 0;
  for (const auto sampling : {JpegSampling::kGrey, JpegSampling::k420}) {
    const Bytes good = WithRestarts({256, 272}, sampling, 60, 1);
    for (int i = 0; i < 400; ++i) {
      Bytes file = good;
      for (uint32_t n = 1 + random() % 3; n > 0; --n)
        file[2 + random() % (file.size() - 2)] = static_cast<uint8_t>(random());
      if (random() % 8 == 0) file.resize(file.size() - random() % 64);
      SCOPED_TRACE(i);
      shared += IsShared(&one, &several, file) ? 1 : 0;
    }
  }
  EXPECT_GT(shared, 50);  // damage that nobody can see
  EXPECT_LT(shared, 790);
}

}  // namespace
}  // namespace glint::decode
