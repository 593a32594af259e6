// PNG of every kind against OpenCV's reader followed by its colour conversion, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <utility>

#include "tests/decode/files.h"

namespace glint::decode {
namespace {

using testing::Bytes;
using testing::Decode;
using ::testing::HasSubstr;
using testing::PngSpec;
using testing::WritePng;

Bytes OpenCvGray(const Bytes& file) {
  const cv::Mat colour = cv::imdecode(file, cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION);
  cv::Mat gray;
  if (!colour.empty()) cv::cvtColor(colour, gray, cv::COLOR_BGR2GRAY);
  return Bytes(gray.datastart, gray.dataend);
}

TEST(Png, EqualsOpenCvForEveryKindAndSize) {
  struct Kind {
    int colour_type, depth;
  };
  constexpr Kind kKinds[] = {{0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}, {2, 8}, {2, 16}, {3, 1},
                             {3, 2}, {3, 4}, {3, 8}, {4, 8}, {4, 16}, {6, 8}, {6, 16}};
  const Shape shapes[] = {{1, 1}, {2, 3}, {5, 1}, {8, 8}, {17, 15}, {33, 31}, {67, 5}};
  Decoder decoder;
  for (const auto& [colour_type, depth] : kKinds) {
    for (const Shape shape : shapes) {
      for (const bool interlaced : {false, true}) {
        PngSpec spec{shape.width, shape.height, colour_type, depth, interlaced, 0};
        if (colour_type == 3) spec.palette_entries = depth == 8 ? 200 : 1 << depth;
        const Bytes file = WritePng(spec, 11);
        const auto decoded = Decode(&decoder, Encoding::kPng, file, shape.pixels());
        ASSERT_TRUE(decoded.status.ok()) << decoded.status;
        EXPECT_EQ(decoded.shape, shape);
        EXPECT_EQ(decoded.pixels, OpenCvGray(file)) << "colour type " << colour_type << ", " << depth << " bits, "
                                                    << shape.width << "x" << shape.height << " " << interlaced;
      }
    }
  }
}

TEST(Png, DepthsKeepTheirSixteenBits) {
  Decoder decoder;
  for (const Shape shape : {Shape{1, 1}, Shape{17, 15}, Shape{67, 5}}) {
    for (const bool interlaced : {false, true}) {
      const Bytes file = WritePng({shape.width, shape.height, 0, 16, interlaced, 0}, 13);
      const auto inspected = decoder.InspectDepth(Encoding::kDetect, file, shape.pixels());
      ASSERT_TRUE(inspected.ok()) << inspected.status();
      EXPECT_EQ(*inspected, shape);
      testing::GuardedImage samples({2 * shape.width, shape.height}, 3);
      const Destination to = samples.destination();
      const absl::Status status = decoder.DecodeDepthInto(Encoding::kPng, file, {to.data, shape, to.stride});
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_TRUE(samples.guards_intact());
      const cv::Mat expected = cv::imdecode(file, cv::IMREAD_UNCHANGED);
      ASSERT_EQ(expected.type(), CV_16UC1);
      const Bytes pixels = samples.pixels();
      for (int i = 0; i < shape.pixels(); ++i) {
        const int sample = pixels[2 * static_cast<size_t>(i)] | pixels[2 * static_cast<size_t>(i) + 1] << 8;
        ASSERT_EQ(sample, expected.at<uint16_t>(i / shape.width, i % shape.width)) << i;
      }
      EXPECT_EQ(decoder.InspectDepth(Encoding::kPng, file, shape.pixels() - 1).status().code(),
                absl::StatusCode::kResourceExhausted);
      const absl::Status changed = decoder.DecodeDepthInto(Encoding::kPng, file, {to.data, {1, 3}, to.stride});
      EXPECT_THAT(changed.message(), HasSubstr("changed after its inspection"));
    }
  }
  for (const auto& [colour_type, depth] : {std::pair(0, 8), std::pair(2, 16), std::pair(4, 16)}) {
    const Bytes file = WritePng({8, 8, colour_type, depth, false, 0}, 13);
    EXPECT_THAT(decoder.InspectDepth(Encoding::kPng, file, 64).status().message(),
                HasSubstr("is not grey (0) of 16 bits"));
  }
  EXPECT_THAT(decoder.InspectDepth(Encoding::kJpeg, Bytes{0xff, 0xd8, 0xff, 0}, 64).status().message(),
              HasSubstr("is a JPEG file"));
}

TEST(Png, EqualsOpenCvOnPhotographs) {
  const char* folder = std::getenv("GLINT_TEST_DATA");
  if (folder == nullptr) GTEST_SKIP() << "GLINT_TEST_DATA is not set";
  Decoder decoder;
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".png") continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    const Bytes file{std::istreambuf_iterator<char>(stream), {}};
    const auto decoded = Decode(&decoder, Encoding::kDetect, file);
    ASSERT_TRUE(decoded.status.ok()) << entry.path() << decoded.status;
    EXPECT_TRUE(decoded.pixels == OpenCvGray(file)) << entry.path();
    ++files;
  }
  if (files == 0) GTEST_SKIP() << "GLINT_TEST_DATA holds no .png";
}

std::string Refusal(const Bytes& file, int64_t max_pixels = kMaxImagePixels) {
  Decoder decoder;
  const auto decoded = Decode(&decoder, Encoding::kPng, file, max_pixels);
  EXPECT_FALSE(decoded.status.ok());
  EXPECT_TRUE(Decode(&decoder, Encoding::kPng, WritePng({3, 3, 2, 8, false, 0}, 1)).status.ok());
  return decoded.status.ToString();
}

constexpr ptrdiff_t kFirstChunk = 8;    // after the signature
constexpr ptrdiff_t kAfterHeader = 33;  // signature and IHDR
constexpr ptrdiff_t kEndChunk = 12;     // bytes of IEND

// A picture with another header's data in IHDR, its checksum right.
Bytes WithHeader(Bytes file, uint32_t width, uint32_t height) {
  Bytes data(file.begin() + kFirstChunk + 8, file.begin() + kFirstChunk + 21);
  for (int i = 0; i < 4; ++i) {
    data[i] = static_cast<uint8_t>(width >> (24 - 8 * i));
    data[4 + i] = static_cast<uint8_t>(height >> (24 - 8 * i));
  }
  const Bytes chunk = testing::PngChunk("IHDR", data);
  std::copy(chunk.begin(), chunk.end(), file.begin() + kFirstChunk);
  return file;
}

TEST(Png, RefusesSizesBeforeDecoding) {
  const Bytes file = WritePng({20, 10, 0, 8, false, 0}, 1);
  EXPECT_THAT(Refusal(file, 199),
              HasSubstr("RESOURCE_EXHAUSTED: image: 200 pixels are over this server's limit of 199"));
  EXPECT_THAT(Refusal(WithHeader(file, 2000000000, 2000000000)),
              HasSubstr("INVALID_ARGUMENT: image.width: 2000000000 is not in 1..16384"));
  EXPECT_THAT(Refusal(WithHeader(file, 20, 16385)), HasSubstr("image.height: 16385 is not in 1..16384"));
  EXPECT_THAT(Refusal(WithHeader(file, 0, 10)), HasSubstr("image.data: PNG: "));
}

TEST(Png, RefusesMissingRows) {
  for (const bool interlaced : {false, true}) {
    const Bytes file = WritePng({20, 10, 2, 8, interlaced, 0}, 1);
    EXPECT_THAT(Refusal(WithHeader(file, 20, 40)), HasSubstr("INVALID_ARGUMENT: image.data: PNG: "));
  }
}

TEST(Png, ReadsAPaletteIndexPastItsEndAsOpenCvDoes) {
  Bytes file = WritePng({20, 10, 3, 8, false, 200}, 1);
  // The same pixels under a palette of one colour.
  const Bytes palette = testing::PngChunk("PLTE", {1, 2, 3});
  Bytes shorter(file.begin(), file.begin() + kAfterHeader);
  shorter.insert(shorter.end(), palette.begin(), palette.end());
  const ptrdiff_t after_palette = kAfterHeader + 12 + 3 * 200 + 12 + 200;
  shorter.insert(shorter.end(), file.begin() + after_palette, file.end());
  Decoder decoder;
  const auto decoded = Decode(&decoder, Encoding::kPng, shorter);
  ASSERT_TRUE(decoded.status.ok()) << decoded.status;
  EXPECT_EQ(decoded.pixels, OpenCvGray(shorter));
}

// What programs write beside pixels, in any size, and damaged: libpng, too, reads the picture.
TEST(Png, IgnoresChunksWithoutPixels) {
  Bytes comment(size_t{5} << 20, 'a'), profile = {'x', 0, 0};
  comment[7] = 0;  // the end of the keyword
  // A small profile that inflates to 64 MiB.
  const Bytes packed = testing::Deflate(Bytes(size_t{64} << 20, 0));
  profile.insert(profile.end(), packed.begin(), packed.end());
  Bytes changed = testing::PngChunk("tEXt", {'a', 0, 'b'});
  changed.back() ^= 1;  // its checksum
  const Bytes text = testing::PngChunk("tEXt", comment);
  const Bytes chunks[] = {text, testing::PngChunk("iCCP", profile), changed, testing::PngChunk("gAMA", {1}),
                          testing::PngChunk("prVW", testing::RandomBytes(300, 1))};
  Decoder decoder;
  for (const PngSpec& spec :
       {PngSpec{20, 10, 0, 8, false, 0}, PngSpec{20, 10, 2, 8, true, 0}, PngSpec{20, 10, 3, 4, false, 11}}) {
    const Bytes plain = WritePng(spec, 1);
    const Bytes pixels = Decode(&decoder, Encoding::kPng, plain).pixels;
    for (const Bytes& chunk : chunks) {
      for (const ptrdiff_t at : {kAfterHeader, static_cast<ptrdiff_t>(plain.size()) - kEndChunk}) {
        Bytes file = plain;
        file.insert(file.begin() + at, chunk.begin(), chunk.end());
        const auto decoded = Decode(&decoder, Encoding::kPng, file);
        ASSERT_TRUE(decoded.status.ok()) << decoded.status << " " << chunk.size();
        EXPECT_EQ(decoded.pixels, pixels) << chunk.size();
        if (&chunk == &chunks[0]) {
          EXPECT_EQ(decoded.pixels, OpenCvGray(file));
        }
      }
    }
  }
}

TEST(Png, IgnoresAPaletteThatIsNotOfItsPixels) {
  Decoder decoder;
  const Bytes plain = WritePng({20, 10, 0, 8, false, 0}, 1), palette = testing::PngChunk("PLTE", {1, 2, 3});
  Bytes file = plain;
  file.insert(file.begin() + kAfterHeader, palette.begin(), palette.end());
  const auto decoded = Decode(&decoder, Encoding::kPng, file);
  ASSERT_TRUE(decoded.status.ok()) << decoded.status;
  EXPECT_EQ(decoded.pixels, OpenCvGray(plain));
}

TEST(Png, RefusesChunksThatNoDecoderMayIgnore) {
  const Bytes plain = WritePng({20, 10, 0, 8, false, 0}, 1), unknown = testing::PngChunk("ABCD", {1, 2, 3});
  Bytes file = plain;
  file.insert(file.begin() + kAfterHeader, unknown.begin(), unknown.end());
  EXPECT_THAT(Refusal(file), HasSubstr("INVALID_ARGUMENT: image.data: PNG: "));
  // A chunk without pixels that is longer than the file.
  const Bytes text = testing::PngChunk("tEXt", Bytes(100, 'a'));
  file.assign(plain.begin(), plain.end() - kEndChunk);
  file.insert(file.end(), text.begin(), text.begin() + 50);
  EXPECT_THAT(Refusal(file), HasSubstr("INVALID_ARGUMENT: image.data: PNG: "));
}

TEST(Png, TakesOneDataChunkOfAnySize) {
  Decoder decoder;
  const Bytes file = WritePng({2000, 1500, 2, 8, false, 0}, 1);  // random: 9 MB in one chunk
  const auto decoded = Decode(&decoder, Encoding::kPng, file);
  ASSERT_TRUE(decoded.status.ok()) << decoded.status;
  EXPECT_TRUE(decoded.pixels == OpenCvGray(file));
}

TEST(Png, RefusesAFileThatChangedAfterItsInspection) {
  Decoder decoder;
  testing::GuardedImage image({8, 8}, 0);
  const absl::Status status =
      decoder.DecodeInto(Encoding::kPng, WritePng({8, 7, 0, 8, false, 0}, 1), image.destination());
  EXPECT_THAT(status.ToString(), HasSubstr("INVALID_ARGUMENT: image.data: changed after its inspection"));
}

}  // namespace
}  // namespace glint::decode
