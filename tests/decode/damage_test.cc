// Files cut short at every byte and changed at every byte: an error or a picture, never more, and the decoder goes on.
// Meant to run under the address sanitizer as well: inputs and outputs lie in allocations of exactly their size.
#include <gtest/gtest.h>

#include <opencv2/imgcodecs.hpp>

#include "tests/decode/files.h"

namespace glint::decode {
namespace {

using testing::Bytes;
using testing::Decode;

constexpr int64_t kLimit = 64 * 64;  // keeps a changed header's picture small

// libspng is done once it has seen the end chunk's name: all pixels were there, the last checksum covers none.
constexpr size_t kPngTail = 4;

struct Sample {
  std::string name;
  Bytes file;

  bool is_png() const { return name.substr(0, 3) == "png"; }
  size_t needed() const { return file.size() - (is_png() ? kPngTail : 0); }
};

std::vector<Sample> Samples() {
  std::vector<Sample> samples;
  for (const int channels : {1, 3}) {
    Bytes pixels = testing::Picture(19, 21, channels, 7);
    const cv::Mat picture(21, 19, CV_8UC(channels), pixels.data());
    for (const int progressive : {0, 1}) {
      Bytes file;
      cv::imencode(".jpg", picture, file,
                   {cv::IMWRITE_JPEG_QUALITY, 30, cv::IMWRITE_JPEG_PROGRESSIVE, progressive,
                    cv::IMWRITE_JPEG_RST_INTERVAL, 1 - progressive});
      samples.push_back({"jpeg" + std::to_string(channels) + (progressive != 0 ? "p" : ""), file});
    }
  }
  samples.push_back({"jpeg in scans", testing::WriteJpegWithScans(19, 21, 1)});
  for (const bool interlaced : {false, true}) {
    const std::string suffix = interlaced ? " interlaced" : "";
    samples.push_back({"png grey" + suffix, testing::WritePng({9, 11, 0, 8, interlaced, 0}, 2)});
    samples.push_back({"png bits" + suffix, testing::WritePng({9, 11, 0, 2, interlaced, 0}, 2)});
    samples.push_back({"png rgba16" + suffix, testing::WritePng({5, 6, 6, 16, interlaced, 0}, 3)});
    samples.push_back({"png palette" + suffix, testing::WritePng({9, 11, 3, 4, interlaced, 11}, 4)});
  }
  return samples;
}

// A JPEG that lacks its end marker, or bits that fill up the last byte before it, has the whole picture.
TEST(Damage, EveryShorterFileIsAnErrorOrTheWholePicture) {
  Decoder decoder;
  for (const Sample& sample : Samples()) {
    const auto& [name, file] = sample;
    const auto whole = Decode(&decoder, Encoding::kDetect, file, kLimit);
    ASSERT_TRUE(whole.status.ok()) << name << ": " << whole.status;
    for (size_t size = 0; size < sample.needed(); ++size) {
      const auto part = Decode(&decoder, Encoding::kDetect, Bytes(file.begin(), file.begin() + size), kLimit);
      const bool may_be_whole = !sample.is_png() && size + 3 >= file.size();
      if (may_be_whole && part.status.ok()) {
        EXPECT_EQ(part.pixels, whole.pixels) << name << " cut to " << size;
      } else {
        EXPECT_EQ(part.status.code(), absl::StatusCode::kInvalidArgument) << name << " cut to " << size;
      }
      if (!sample.is_png() && size + 2 == file.size()) {
        EXPECT_TRUE(part.status.ok()) << name << part.status;
      }
    }
    EXPECT_EQ(Decode(&decoder, Encoding::kDetect, file, kLimit).pixels, whole.pixels) << name;
  }
}

TEST(Damage, EveryChangedByteIsAnErrorOrAPicture) {
  Decoder decoder;
  for (const Sample& sample : Samples()) {
    const auto& [name, file] = sample;
    const Bytes whole = Decode(&decoder, Encoding::kDetect, file, kLimit).pixels;
    int errors = 0;
    for (size_t at = 0; at < sample.needed(); ++at) {
      for (const uint8_t change : {0x01, 0x10, 0x80, 0xff}) {
        Bytes changed = file;
        changed[at] ^= change;
        const auto decoded = Decode(&decoder, Encoding::kDetect, changed, kLimit);
        if (!decoded.status.ok()) {
          EXPECT_NE(decoded.status.code(), absl::StatusCode::kInternal) << name << " at " << at << decoded.status;
          ++errors;
        } else if (sample.is_png()) {  // its checksums find every change, but in chunks that grey does not need
          EXPECT_EQ(decoded.pixels, whole) << name << " at " << at;
        } else {
          EXPECT_EQ(decoded.pixels.size(), static_cast<size_t>(decoded.shape.pixels()));
        }
      }
    }
    EXPECT_GT(errors, 0) << name;
  }
}

TEST(Damage, RandomBytesAfterAGoodHeaderAreNoPicture) {
  Decoder decoder;
  const auto samples = Samples();
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    Bytes file = samples[seed % samples.size()].file;
    const Bytes noise = testing::RandomBytes(file.size(), seed);
    const size_t from = file.size() * (seed % 97) / 97;
    std::copy(noise.begin() + static_cast<ptrdiff_t>(from), noise.end(), file.begin() + static_cast<ptrdiff_t>(from));
    const auto decoded = Decode(&decoder, Encoding::kDetect, file, kLimit);
    EXPECT_NE(decoded.status.code(), absl::StatusCode::kInternal) << seed << decoded.status;
  }
}

}  // namespace
}  // namespace glint::decode
