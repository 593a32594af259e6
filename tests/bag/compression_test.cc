// Decompression of what the command line's and Python's compressors made, whole and damaged.
#include "bag/compression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"

namespace glint::bag {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr size_t kBytes = 364;

// "glint " 50 times, then the bytes 0 to 63.
std::vector<uint8_t> Text() {
  std::vector<uint8_t> text;
  for (int i = 0; i < 50; ++i) {
    for (const char c : std::string("glint ")) text.push_back(static_cast<uint8_t>(c));
  }
  for (uint8_t i = 0; i < 64; ++i) text.push_back(i);
  return text;
}

std::vector<uint8_t> FromHex(const std::string& hex) {
  const std::string bytes = absl::HexStringToBytes(hex);
  return {bytes.begin(), bytes.end()};
}

// With its size and a checksum.
std::vector<uint8_t> Lz4() {
  return FromHex(
      "04224d186c406c01000000000000ff4d0000006f676c696e74200600ff14f031000102030405060708090a0b0c0d0e0f1011121314151617"
      "18191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f0000000087a070e1");
}

// With its size and a checksum.
std::vector<uint8_t> Zstd() {
  return FromHex(
      "28b52ffd646c007502006404676c696e7420000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425"
      "262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f010023514b1152285432");
}

std::vector<uint8_t> ZstdWithoutSize() {
  return FromHex(
      "28b52ffd00007502006404676c696e7420000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223242526"
      "2728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f010023514b11");
}

std::vector<uint8_t> Bzip2() {
  return FromHex(
      "425a683931415926535922723347000051f9807fffffffffffffff80a50400200074195432069a69a69a326801a1a32189a069a6098a8013"
      "0026988c4c04c98990c4c04611c0c41461c824ae059869c7a08a49a9c55e4b2ec73e8cb4df5ddd0c2000013af3f0431768e4efcdd7ba75ec"
      "fc10f78bc79f5efe47f64fd2e8200335208068040348201fe0806a17724538509022723347");
}

std::vector<uint8_t> Twice(std::vector<uint8_t> bytes) {
  const std::vector<uint8_t> once = bytes;
  bytes.insert(bytes.end(), once.begin(), once.end());
  return bytes;
}

using Decompress = std::function<absl::Status(absl::Span<const uint8_t>, size_t, std::vector<uint8_t>*)>;

struct Case {
  const char* name;
  Decompress decompress;
  std::vector<uint8_t> data;
};

std::vector<Case> Cases() {
  return {{"lz4", DecompressLz4Frame, Lz4()},
          {"zstd", DecompressZstd, Zstd()},
          {"zstd without size", DecompressZstd, ZstdWithoutSize()},
          {"bzip2", DecompressBzip2, Bzip2()}};
}

TEST(CompressionTest, DecompressesOneAndTwoInARow) {
  for (const Case& test : Cases()) {
    SCOPED_TRACE(test.name);
    std::vector<uint8_t> out = {1, 2, 3};
    EXPECT_TRUE(test.decompress(test.data, kBytes, &out).ok());
    EXPECT_THAT(out, ElementsAreArray(Text()));
    EXPECT_TRUE(test.decompress(Twice(test.data), 2 * kBytes, &out).ok());
    EXPECT_THAT(out, ElementsAreArray(Twice(Text())));
  }
}

TEST(CompressionTest, RefusesOtherSizes) {
  for (const Case& test : Cases()) {
    for (const size_t less : {size_t{0}, size_t{1}, kBytes - 1}) {
      SCOPED_TRACE(testing::Message() << test.name << " of " << less);
      std::vector<uint8_t> out;
      EXPECT_TRUE(absl::IsInvalidArgument(test.decompress(test.data, less, &out)));
      EXPECT_LE(out.size(), less);
    }
  }
  std::vector<uint8_t> out;
  EXPECT_THAT(std::string(DecompressLz4Frame(Lz4(), kBytes + 1, &out).message()), HasSubstr("364 bytes where 365"));
  EXPECT_THAT(std::string(DecompressBzip2(Bzip2(), kBytes + 1, &out).message()), HasSubstr("364 bytes where 365"));
  EXPECT_TRUE(DecompressZstd(Zstd(), kBytes + 1, &out).ok());  // a bound only
}

TEST(CompressionTest, RefusesEveryCutAndGivesWhatCameBefore) {
  for (const Case& test : Cases()) {
    for (size_t bytes = 0; bytes < test.data.size(); ++bytes) {
      SCOPED_TRACE(testing::Message() << test.name << " cut to " << bytes);
      std::vector<uint8_t> out;
      EXPECT_TRUE(
          absl::IsInvalidArgument(test.decompress(absl::MakeConstSpan(test.data).subspan(0, bytes), kBytes, &out)));
      const std::vector<uint8_t> text = Text();
      ASSERT_LE(out.size(), text.size());
      EXPECT_TRUE(std::equal(out.begin(), out.end(), text.begin()));
    }
  }
}

TEST(CompressionTest, SeesEveryFlippedBitOfDataWithAChecksum) {
  for (const Case& test : {Cases()[0], Cases()[1], Cases()[3]}) {
    for (size_t bit = 0; bit < test.data.size() * 8; ++bit) {
      SCOPED_TRACE(testing::Message() << test.name << " bit " << bit);
      std::vector<uint8_t> data = test.data, out;
      data[bit / 8] ^= static_cast<uint8_t>(1 << (bit % 8));
      const absl::Status status = test.decompress(data, kBytes, &out);
      EXPECT_TRUE(!status.ok() || out == Text());
    }
  }
}

TEST(CompressionTest, CompressesWhatItDecompresses) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1000}, size_t{3} << 20}) {
    SCOPED_TRACE(size);
    std::vector<uint8_t> data(size), compressed, out;
    for (size_t i = 0; i < size; ++i) data[i] = static_cast<uint8_t>(i / 5 * 37);
    ASSERT_TRUE(CompressZstd(data, &compressed).ok());
    EXPECT_LT(compressed.size(), size / 2 + 20);
    ASSERT_TRUE(DecompressZstd(compressed, size, &out).ok());
    EXPECT_TRUE(out == data);
  }
}

// 64 MiB of zeros in a few kilobytes: `out` does not grow beyond what is allowed.
TEST(CompressionTest, StopsAtTheBound) {
  const std::vector<uint8_t> zeros(size_t{1} << 26);
  std::vector<uint8_t> compressed, out;
  ASSERT_TRUE(CompressZstd(zeros, &compressed).ok());
  ASSERT_LT(compressed.size(), 10000u);
  const absl::Status status = DecompressZstd(compressed, 1 << 20, &out);
  EXPECT_EQ(status, absl::InvalidArgumentError("zstd: more than 1048576 bytes"));
  EXPECT_LE(out.capacity(), size_t{1} << 20);
}

}  // namespace
}  // namespace glint::bag
