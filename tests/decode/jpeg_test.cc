// JPEG against cv::imdecode, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <opencv2/imgcodecs.hpp>

#include "decode/jpeg_writer.h"
#include "tests/decode/files.h"

namespace glint::decode {
namespace {

using testing::Bytes;
using testing::Decode;
using ::testing::HasSubstr;
using testing::Picture;

Bytes OpenCvGray(const Bytes& file) {
  const cv::Mat gray = cv::imdecode(file, cv::IMREAD_GRAYSCALE | cv::IMREAD_IGNORE_ORIENTATION);
  return Bytes(gray.datastart, gray.dataend);
}

Bytes Encode(int width, int height, int channels, const std::vector<int>& parameters) {
  Bytes pixels = Picture(width, height, channels, 3);
  const cv::Mat picture(height, width, CV_8UC(channels), pixels.data());
  Bytes file;
  cv::imencode(".jpg", picture, file, parameters);
  return file;
}

TEST(Jpeg, EqualsOpenCvForEveryKindAndSize) {
  Decoder decoder;  // one for all: state must not leak from file to file
  const std::vector<std::vector<int>> kinds = {{},
                                               {cv::IMWRITE_JPEG_QUALITY, 20},
                                               {cv::IMWRITE_JPEG_QUALITY, 100},
                                               {cv::IMWRITE_JPEG_PROGRESSIVE, 1},
                                               {cv::IMWRITE_JPEG_OPTIMIZE, 1},
                                               {cv::IMWRITE_JPEG_RST_INTERVAL, 2}};
  const Shape shapes[] = {{1, 1}, {1, 17}, {17, 1}, {7, 7}, {8, 8}, {16, 16}, {31, 33}, {64, 48}, {131, 97}};
  for (const Shape shape : shapes) {
    for (const int channels : {1, 3}) {
      for (const auto& kind : kinds) {
        const Bytes file = Encode(shape.width, shape.height, channels, kind);
        const auto decoded = Decode(&decoder, Encoding::kJpeg, file, shape.pixels());
        ASSERT_TRUE(decoded.status.ok()) << decoded.status;
        EXPECT_EQ(decoded.shape, shape);
        EXPECT_EQ(decoded.pixels, OpenCvGray(file)) << shape.width << "x" << shape.height << "x" << channels;
      }
    }
  }
}

// Files of printers and of picture editors.
TEST(Jpeg, EqualsOpenCvForInksAndForRedGreenAndBlue) {
  using testing::JpegComponents;
  Decoder decoder;
  for (const Shape shape : {Shape{1, 1}, Shape{7, 9}, Shape{31, 33}, Shape{131, 97}}) {
    for (const auto components : {JpegComponents::kRgb, JpegComponents::kCmyk, JpegComponents::kYcck}) {
      for (const bool progressive : {false, true}) {
        for (const bool adobe_marker : {false, true}) {
          SCOPED_TRACE(::testing::Message() << shape.width << "x" << shape.height << ", components "
                                            << static_cast<int>(components) << " " << progressive << adobe_marker);
          const Bytes file =
              testing::WriteJpegOf({shape.width, shape.height, components, progressive, adobe_marker, 0});
          const auto decoded = Decode(&decoder, Encoding::kDetect, file, shape.pixels());
          ASSERT_TRUE(decoded.status.ok()) << decoded.status;
          EXPECT_EQ(decoded.shape, shape);
          EXPECT_EQ(decoded.pixels, OpenCvGray(file));
          const Bytes half(file.begin(), file.begin() + static_cast<ptrdiff_t>(file.size() / 2));
          EXPECT_EQ(Decode(&decoder, Encoding::kDetect, half).status.code(), absl::StatusCode::kInvalidArgument);
        }
      }
    }
  }
}

TEST(Jpeg, EqualsOpenCvOnPhotographs) {
  const char* folder = std::getenv("GLINT_TEST_DATA");
  if (folder == nullptr) GTEST_SKIP() << "GLINT_TEST_DATA is not set";
  Decoder decoder;
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".jpg") continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    const Bytes file{std::istreambuf_iterator<char>(stream), {}};
    const auto decoded = Decode(&decoder, Encoding::kDetect, file);
    ASSERT_TRUE(decoded.status.ok()) << entry.path() << decoded.status;
    EXPECT_TRUE(decoded.pixels == OpenCvGray(file)) << entry.path();
    ++files;
  }
  if (files == 0) GTEST_SKIP() << "GLINT_TEST_DATA holds no .jpg";
}

TEST(Jpeg, DecodesScansOneByOne) {
  Decoder decoder;
  const Bytes file = testing::WriteJpegWithScans(40, 30, 3);
  const auto decoded = Decode(&decoder, Encoding::kJpeg, file);
  ASSERT_TRUE(decoded.status.ok()) << decoded.status;
  EXPECT_EQ(decoded.pixels, OpenCvGray(file));
}

// Without its Huffman tables, as cameras send their frames.
Bytes WithoutHuffmanTables(const Bytes& file) {
  Bytes out(file.begin(), file.begin() + 2);
  for (size_t at = 2; at + 4 <= file.size();) {
    const bool scan = file[at + 1] == 0xda;
    const size_t end = scan ? file.size() : at + 2 + static_cast<size_t>(file[at + 2] * 256 + file[at + 3]);
    if (file[at + 1] != 0xc4)
      out.insert(out.end(), file.begin() + static_cast<ptrdiff_t>(at), file.begin() + static_cast<ptrdiff_t>(end));
    at = end;
  }
  return out;
}

TEST(Jpeg, DecodesMjpegFramesWhateverCameBefore) {
  Decoder decoder;
  const Bytes whole = Encode(40, 30, 3, {});
  const Bytes frame = WithoutHuffmanTables(whole);
  ASSERT_LT(frame.size() + 400, whole.size());
  for (const Encoding encoding : {Encoding::kMjpeg, Encoding::kDetect, Encoding::kJpeg}) {
    // Its tables, quantisation and Huffman, are other ones.
    ASSERT_TRUE(Decode(&decoder, Encoding::kJpeg, Encode(64, 48, 3, {cv::IMWRITE_JPEG_OPTIMIZE, 1})).status.ok());
    for (const size_t padding : {size_t{0}, size_t{1}, size_t{4096}}) {
      for (const uint8_t fill : {uint8_t{0}, uint8_t{0xff}}) {
        Bytes padded = frame;
        padded.resize(frame.size() + padding, fill);
        const auto decoded = Decode(&decoder, encoding, padded);
        ASSERT_TRUE(decoded.status.ok()) << decoded.status;
        EXPECT_EQ(decoded.pixels, OpenCvGray(whole)) << padding;
      }
    }
  }
  EXPECT_TRUE(Decode(&decoder, Encoding::kMjpeg, whole).status.ok());
}

TEST(Jpeg, KeepsNoQuantisationTableForTheNextFile) {
  Bytes file = Encode(16, 16, 1, {});
  size_t tables = 0;
  while (!(file[tables] == 0xff && file[tables + 1] == 0xdb)) ++tables;
  file.erase(file.begin() + static_cast<ptrdiff_t>(tables), file.begin() + static_cast<ptrdiff_t>(tables) + 2 + 67);
  Decoder decoder;
  ASSERT_TRUE(Decode(&decoder, Encoding::kJpeg, Encode(16, 16, 1, {})).status.ok());
  EXPECT_THAT(Decode(&decoder, Encoding::kJpeg, file).status.ToString(), HasSubstr("Quantization table"));
}

std::string Refusal(Encoding encoding, const Bytes& file, int64_t max_pixels = kMaxImagePixels) {
  Decoder decoder;
  const auto decoded = Decode(&decoder, encoding, file, max_pixels);
  EXPECT_FALSE(decoded.status.ok());
  // The same decoder takes the next good file.
  EXPECT_TRUE(Decode(&decoder, Encoding::kJpeg, Encode(9, 9, 3, {})).status.ok());
  return decoded.status.ToString();
}

TEST(Jpeg, RefusesScansBeyondNeed) {
  EXPECT_THAT(Refusal(Encoding::kJpeg, testing::WriteJpegWithScans(40, 30, 200)),
              HasSubstr("INVALID_ARGUMENT: image.data: JPEG: more than 100 scans"));
}

TEST(Jpeg, RefusesPicturesOverTheLimitBeforeDecoding) {
  EXPECT_THAT(Refusal(Encoding::kJpeg, Encode(40, 30, 3, {}), 1199),
              HasSubstr("RESOURCE_EXHAUSTED: image: 1200 pixels are over this server's limit of 1199"));
  Bytes huge = Encode(40, 30, 1, {});
  size_t frame = 0;  // the frame header: marker, length, precision, height, width
  while (!(huge[frame] == 0xff && huge[frame + 1] == 0xc0)) ++frame;
  for (int i = 5; i < 9; ++i) huge[frame + i] = 0xfe;
  EXPECT_THAT(Refusal(Encoding::kJpeg, huge), HasSubstr("INVALID_ARGUMENT: image.width: 65278 is not in 1..16384"));
}

TEST(Jpeg, RefusesMissingRowsThatLibjpegWouldMakeUp) {
  // A header that promises more rows than there are, with a good end marker.
  Bytes file = Encode(40, 32, 1, {});
  size_t frame = 0;
  while (!(file[frame] == 0xff && file[frame + 1] == 0xc0)) ++frame;
  file[frame + 6] = 64;  // low byte of the height
  EXPECT_THAT(Refusal(Encoding::kJpeg, file), HasSubstr("JPEG: Corrupt JPEG data: premature end of data segment"));
}

TEST(Jpeg, DecodesWhatLacksItsEndMarkerAlone) {
  Decoder decoder;
  const std::vector<std::vector<int>> kinds = {
      {}, {cv::IMWRITE_JPEG_PROGRESSIVE, 1}, {cv::IMWRITE_JPEG_OPTIMIZE, 1}, {cv::IMWRITE_JPEG_RST_INTERVAL, 2}};
  for (const int channels : {1, 3}) {
    for (const auto& kind : kinds) {
      const Bytes whole = Encode(67, 45, channels, kind);
      EXPECT_FALSE(LacksEndMarker(whole));
      const Bytes body(whole.begin(), whole.end() - 2), pixels = Decode(&decoder, Encoding::kJpeg, whole).pixels;
      for (const Bytes& tail : {Bytes{}, Bytes{0xff}, Bytes(64, 0), Bytes{0, 0x17, 0x2a}, Bytes(5, 0xff)}) {
        Bytes file = body, ended = body;
        file.insert(file.end(), tail.begin(), tail.end());
        EXPECT_TRUE(LacksEndMarker(file)) << tail.size();
        const auto decoded = Decode(&decoder, Encoding::kJpeg, file);
        ASSERT_TRUE(decoded.status.ok()) << decoded.status << " " << tail.size();
        EXPECT_EQ(decoded.pixels, pixels);
        file.insert(file.end(), {0xff, 0xd9, 1, 2, 3});
        EXPECT_FALSE(LacksEndMarker(file));
        EXPECT_EQ(Decode(&decoder, Encoding::kJpeg, file).pixels, pixels);
      }
      // Cut anywhere before, between scans, too, it is still an error.
      for (size_t size = body.size() / 4; size + 2 < body.size(); ++size) {
        const Bytes part(body.begin(), body.begin() + static_cast<ptrdiff_t>(size));
        EXPECT_TRUE(LacksEndMarker(part));
        ASSERT_THAT(Decode(&decoder, Encoding::kJpeg, part).status.ToString(), HasSubstr("INVALID_ARGUMENT")) << size;
      }
    }
  }
}

TEST(Jpeg, RefusesWhatIsNotAJpeg) {
  EXPECT_THAT(Refusal(Encoding::kJpeg, {}), HasSubstr("image.data: is empty"));
  EXPECT_THAT(Refusal(Encoding::kJpeg, {1, 2, 3}), HasSubstr("image.data: is not a JPEG file"));
  EXPECT_THAT(Refusal(Encoding::kDetect, {1, 2, 3}), HasSubstr("image.data: is neither a JPEG nor a PNG file"));
  EXPECT_THAT(Refusal(Encoding::kMjpeg, {1, 2, 3}), HasSubstr("image.data: is not a frame of an MJPEG video"));
  EXPECT_THAT(Refusal(static_cast<Encoding>(7), {1, 2, 3}),
              HasSubstr("image.encoding: \"7\" is not one of UNSPECIFIED, JPEG, PNG, MJPEG"));
  EXPECT_THAT(Refusal(Encoding::kPng, Encode(8, 8, 1, {})), HasSubstr("image.data: is not a PNG file"));
}

TEST(Jpeg, RefusesATwoComponentFile) {
  // Removing a component from frame and scan header leaves a valid header with two components.
  Bytes file = Encode(16, 16, 3, {});
  size_t frame = 0;
  while (!(file[frame] == 0xff && file[frame + 1] == 0xc0)) ++frame;
  file[frame + 3] = 14;  // length
  file[frame + 9] = 2;   // components
  file.erase(file.begin() + static_cast<ptrdiff_t>(frame) + 16, file.begin() + static_cast<ptrdiff_t>(frame) + 19);
  size_t scan = frame;
  while (!(file[scan] == 0xff && file[scan + 1] == 0xda)) ++scan;
  file[scan + 3] = 10;
  file[scan + 4] = 2;
  file.erase(file.begin() + static_cast<ptrdiff_t>(scan) + 9, file.begin() + static_cast<ptrdiff_t>(scan) + 11);
  EXPECT_THAT(Refusal(Encoding::kJpeg, file), HasSubstr("JPEG: 2 components; only grey (1), colour (3) and inks (4)"));
}

TEST(Jpeg, RefusesAFileThatChangedAfterItsInspection) {
  Decoder decoder;
  testing::GuardedImage image({8, 8}, 0);
  const absl::Status status = decoder.DecodeInto(Encoding::kJpeg, Encode(8, 7, 1, {}), image.destination());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("image.data: changed after its inspection"));
}

// At the finest quality, luma is what was written, whatever chroma is beside it.
TEST(JpegWriter, KeepsLumaInEverySampling) {
  const Shape shape = {45, 31};
  const Bytes pixels = Picture(shape.width, shape.height, 3, 7);
  const auto plane = [&](int number) {
    return ImageView{pixels.data() + number * shape.pixels(), shape.width, shape.height, shape.width};
  };
  Decoder decoder;
  for (const auto sampling :
       {JpegSampling::kGrey, JpegSampling::k444, JpegSampling::k422, JpegSampling::k440, JpegSampling::k420}) {
    const auto file = WriteJpeg({plane(0), plane(1), plane(2)}, {100, sampling, 0});
    ASSERT_TRUE(file.ok()) << file.status();
    const auto decoded = Decode(&decoder, Encoding::kJpeg, Bytes(file->begin(), file->end()), shape.pixels());
    ASSERT_TRUE(decoded.status.ok()) << decoded.status;
    ASSERT_EQ(decoded.shape, shape);
    for (size_t i = 0; i < decoded.pixels.size(); ++i) ASSERT_NEAR(decoded.pixels[i], pixels[i], 1) << i;
  }
}

TEST(JpegWriter, RefusesWhatIsNoPicture) {
  const Bytes pixels(64);
  const ImageView whole = {pixels.data(), 8, 8, 8}, part = {pixels.data(), 8, 7, 8};
  EXPECT_THAT(WriteJpeg({whole, whole, part}, {90, JpegSampling::k444, 0}).status().message(),
              HasSubstr("image: its planes have several shapes"));
  EXPECT_THAT(WriteJpeg({whole, {}, {}}, {90, JpegSampling::kGrey, 65536}).status().message(),
              HasSubstr("restart_rows: 65536 is not in 0..65535"));
  EXPECT_THAT(WriteJpeg({whole, {}, {}}, {0, JpegSampling::kGrey, 0}).status().message(),
              HasSubstr("quality: 0 is not in 1..100"));
  EXPECT_THAT(WriteJpeg({{}, {}, {}}, {}).status().message(), HasSubstr("image: has no pixels"));
}

}  // namespace
}  // namespace glint::decode
