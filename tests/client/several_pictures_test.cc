// Files with several pictures in them are told from those with one.
#include "client/cli/source/several_pictures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <string>
#include <vector>

#include "client/cli/source/picture.h"

namespace glint::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Number(uint64_t value, size_t size, bool big_endian) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) {
    bytes += static_cast<char>(static_cast<unsigned char>(value >> (8 * (big_endian ? size - 1 - i : i))));
  }
  return bytes;
}
std::string Big(uint64_t value, size_t size) { return Number(value, size, true); }
std::string Little(uint64_t value, size_t size) { return Number(value, size, false); }

// A page for each value of the tag NewSubfileType, and nothing else in it.
std::string Tiff(const std::vector<int>& types, bool big_endian, bool wide) {
  const auto n = [&](size_t value, size_t size) { return Number(value, size, big_endian); };
  const size_t offset = wide ? 8 : 4;
  std::string file = big_endian ? "MM" : "II";
  file += wide ? n(43, 2) + n(8, 2) + n(0, 2) : n(42, 2);
  file += n(file.size() + offset, offset);
  for (size_t i = 0; i < types.size(); ++i) {
    file += n(1, wide ? 8 : 2) + n(254, 2) + n(4, 2) + n(1, offset) + n(static_cast<size_t>(types[i]), 4);
    if (wide) file += n(0, 4);
    file += n(i + 1 < types.size() ? file.size() + offset : 0, offset);
  }
  return file;
}

std::string Chunk(const std::string& type, const std::string& data) {
  return Big(data.size(), 4) + type + data + Big(0, 4);
}

std::string AnimatedPng(int frames) {
  return "\x89PNG\r\n\x1a\n" + Chunk("IHDR", std::string(13, '\0')) +
         Chunk("acTL", Big(static_cast<uint64_t>(frames), 4) + Big(0, 4)) + Chunk("IDAT", "x");
}

std::string Gif(int frames) {
  std::string file = "GIF89a" + Little(2, 2) + Little(2, 2) + "\x80" + std::string(2, '\0') + std::string(6, 'c');
  for (int i = 0; i < frames; ++i) {
    file += "\x21\xF9\x04" + std::string(4, '\1') + std::string(1, '\0');  // the time it is shown
    file += "\x2C" + std::string(8, '\0') + "\x81" + std::string(12, ',') + "\x02" + "\x02,," + std::string(1, '\0');
  }
  return file + ";";
}

std::string AnimatedWebp(int frames) {
  std::string chunks = "VP8X" + Little(10, 4) + std::string(10, '\2');
  for (int i = 0; i < frames; ++i) chunks += "ANMF" + Little(17, 4) + std::string(18, 'x');  // odd sizes are padded
  return "RIFF" + Little(chunks.size() + 4, 4) + "WEBP" + chunks;
}

// With an entry of the index for each type.
std::string MultiPictureJpeg(const std::vector<uint64_t>& types) {
  std::string index = "II" + Little(42, 2) + Little(8, 4) + Little(1, 2) + Little(0xB002, 2) + Little(7, 2) +
                      Little(16 * types.size(), 4) + Little(26, 4) + Little(0, 4);
  for (const uint64_t type : types) index += Little(type, 4) + std::string(12, '\0');
  index = std::string("MPF\0", 4) + index;
  return "\xFF\xD8\xFF\xE1" + Big(6, 2) + "Exif" + "\xFF\xE2" + Big(index.size() + 2, 2) + index + "\xFF\xDA";
}

std::string Grey(const std::string& header, size_t bytes) { return header + std::string(bytes, 'P'); }

TEST(SeveralPictures, AreCounted) {
  for (const bool big_endian : {false, true}) {
    for (const bool wide : {false, true}) {
      EXPECT_EQ(SeveralPictures(Tiff({0, 2, 0}, big_endian, wide)), "3 pages (TIFF)");
      EXPECT_THAT(SeveralPictures(Tiff({0}, big_endian, wide)), IsEmpty());
      EXPECT_THAT(SeveralPictures(Tiff({0, 1, 1, 4, 5}, big_endian, wide)), IsEmpty());  // smaller copies, masks
    }
  }
  EXPECT_EQ(SeveralPictures(AnimatedPng(7)), "7 frames (animated PNG)");
  EXPECT_THAT(SeveralPictures(AnimatedPng(1)), IsEmpty());
  EXPECT_EQ(SeveralPictures(Gif(3)), "3 frames (GIF)");
  EXPECT_THAT(SeveralPictures(Gif(1)), IsEmpty());
  EXPECT_EQ(SeveralPictures(AnimatedWebp(4)), "4 frames (animated WebP)");
  EXPECT_THAT(SeveralPictures(AnimatedWebp(1)), IsEmpty());
  EXPECT_EQ(SeveralPictures(MultiPictureJpeg({0x20020002, 0x00020002})), "2 views (multi-picture JPEG)");
  EXPECT_THAT(SeveralPictures(MultiPictureJpeg({0x20030000, 0x00010001, 0})), IsEmpty());  // a preview, a gain map
  const std::string grey = Grey("P5\n# a comment\n3 2\n255\n", 6), deep = Grey("P6 2 1 65535\n", 12);
  const std::string black = Grey("P4 9 2\n", 4);
  EXPECT_EQ(SeveralPictures(grey + grey + "\n" + deep + black), "4 pictures (PNM)");
  for (const std::string& one : {grey, deep, black}) EXPECT_THAT(SeveralPictures(one), IsEmpty());
  EXPECT_EQ(SeveralPictures(Big(28, 4) + "ftypavis" + Big(0, 4)), "a sequence of frames (AVIF)");
}

TEST(SeveralPictures, OrdinaryFilesHaveOne) {
  const cv::Mat picture(40, 30, CV_8U, cv::Scalar(90));
  for (const char* extension : {".png", ".jpg", ".tiff", ".webp", ".pgm", ".bmp"}) {
    std::vector<uchar> bytes;
    ASSERT_TRUE(cv::imencode(extension, picture, bytes)) << extension;
    EXPECT_THAT(SeveralPictures(std::string(bytes.begin(), bytes.end())), IsEmpty()) << extension;
  }
}

TEST(SeveralPictures, DamagedFilesEnd) {
  std::string loop = Tiff({0, 0}, false, false);
  loop.replace(loop.size() - 4, 4, Little(8, 4));  // the second page is followed by the first
  EXPECT_EQ(SeveralPictures(loop), "2 pages (TIFF)");
  for (const std::string& file :
       {Tiff({0, 0}, true, false), Tiff({0, 0}, false, true), AnimatedPng(3), Gif(3), AnimatedWebp(3),
        MultiPictureJpeg({0x20020002, 0x00020002}), Grey("P5 4294967295 4294967295 65535\n", 9)}) {
    for (size_t size = 0; size < file.size(); ++size) SeveralPictures(file.substr(0, size));
    for (size_t at = 0; at < file.size(); ++at) {
      std::string other = file;
      other[at] = '\xFF';
      SeveralPictures(other);
    }
  }
}

TEST(SeveralPictures, AreAnErrorWhereOneIsRead) {
  const std::string path = ::testing::TempDir() + "several-pages.tiff";
  const cv::Mat picture(40, 30, CV_8U, cv::Scalar(90));
  ASSERT_TRUE(cv::imwrite(path, std::vector<cv::Mat>{picture, picture}));
  Picture read;
  for (const absl::Status& status :
       {ReadPicture(path, SendFormat::kGray, &read), ReadGray(path).status(), ReadMask(path).status()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr(path + ": has 2 pages (TIFF)"));
  }
  ASSERT_TRUE(cv::imwrite(path, picture));
  EXPECT_TRUE(ReadPicture(path, SendFormat::kGray, &read).ok());
  std::ofstream(path, std::ios::binary) << AnimatedPng(2);
  EXPECT_THAT(ReadPicture(path, SendFormat::kGray, &read).message(), HasSubstr("2 frames (animated PNG)"));
}

}  // namespace
}  // namespace glint::cli
