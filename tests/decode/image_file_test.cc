// PGM and PPM, and files on disk.
#include "decode/image_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "features/math.h"
#include "tests/decode/files.h"

namespace glint::decode {
namespace {

using testing::Bytes;
using ::testing::HasSubstr;

Bytes Of(const std::string& text) { return Bytes(text.begin(), text.end()); }

TEST(Pnm, ReadsGrayWithCommentsInTheHeader) {
  const auto image = DecodePnm(Of("P5 # a comment\n# another 9 9\n3\t2\n255\nabcdef"));
  ASSERT_TRUE(image.ok()) << image.status();
  ASSERT_EQ(image->shape(), (Shape{3, 2}));
  EXPECT_EQ(std::string(image->row(0), image->row(0) + 3), "abc");
  EXPECT_EQ(std::string(image->row(1), image->row(1) + 3), "def");
}

TEST(Pnm, ConvertsColour) {
  const auto image = DecodePnm(Of("P6\n1 1\n255\n\x10\x20\x30"));
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(*image->row(0), GrayFromRgb(0x10, 0x20, 0x30));
}

TEST(Pnm, RefusesWhatItCannotRead) {
  const struct {
    const char* file;
    const char* message;
  } cases[] = {
      {"P2 1 1 255 9", "is not a binary PGM or PPM"},
      {"P5 2 2 255 abc", "image.data: 3 bytes, but 2x2 with a stride of 2 is 4"},
      {"P5 2 2 255 abcde", "image.data: 5 bytes"},
      {"P5 2 2 65535 abcdefgh", "PNM: largest value 65535, not 255"},
      {"P5 0 2 255 ", "image.width: 0 is not in 1..16384"},
      {"P5 2 99999 255 ", "image.height: 99999 is not in 1..16384"},
      {"P5 2 99999999999 255 ", "PNM: bad header"},
      {"P5 2 x 255 ", "PNM: bad header"},
      {"P5 2 2 255", "PNM: bad header"},
      {"P5 # only", "PNM: bad header"},
      {"P5", "PNM: bad header"},
      {"P5 100 100 255 ", "image: 10000 pixels are over this server's limit of 1000"},
  };
  for (const auto& c : cases) {
    const auto image = DecodePnm(Of(c.file), 1000);
    ASSERT_FALSE(image.ok()) << c.file;
    EXPECT_THAT(std::string(image.status().message()), HasSubstr(c.message)) << c.file;
  }
}

TEST(ReadImageFile, ReadsFromDiskAndNamesThePathInErrors) {
  const std::string path = ::testing::TempDir() + "/glint_image_file_test";
  std::ofstream(path) << "P5 2 1 255 ab";
  auto image = ReadImageFile(path);
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->shape(), (Shape{2, 1}));

  const Bytes png = testing::WritePng({5, 4, 6, 8, true, 0}, 1);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(png.data()), png.size());
  image = ReadImageFile(path);
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_EQ(image->shape(), (Shape{5, 4}));

  std::ofstream(path) << "text";
  EXPECT_EQ(ReadImageFile(path).status().ToString(),
            "INVALID_ARGUMENT: " + path + ": image.data: is neither a JPEG nor a PNG file");
  EXPECT_EQ(ReadImageFile(path + "?").status().ToString(), "NOT_FOUND: " + path + "?: No such file or directory");
}

}  // namespace
}  // namespace glint::decode
