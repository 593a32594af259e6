// The range of samples of 16 bits: their grey, and limits by percentile.
#include "decode/gray_samples.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "decode/decode.h"
#include "tests/decode/files.h"

namespace glint::decode {
namespace {

using testing::Bytes;

Bytes LittleEndian(const std::vector<int>& samples) {
  Bytes bytes;
  for (const int sample : samples) {
    bytes.push_back(static_cast<uint8_t>(sample & 255));
    bytes.push_back(static_cast<uint8_t>(sample >> 8));
  }
  return bytes;
}

GrayLimits LimitsOf(const std::vector<int>& samples, float percentile) {
  SampleCounts counts;
  counts.Clear();
  counts.Add(LittleEndian(samples).data(), static_cast<int>(samples.size()));
  return counts.LimitsAt(percentile);
}

TEST(GrayOf, IsInProportionBetweenTheLimits) {
  for (const GrayLimits limits : {GrayLimits{0, 1023}, {0, 4095}, {0, 65535}, {500, 501}, {65534, 65535}, {200, 455}}) {
    const int width = limits.highest - limits.lowest;
    for (int sample = 0; sample < 65536; ++sample) {
      const double exact = 255.0 * std::min(std::max(sample - limits.lowest, 0), width) / width;
      ASSERT_LE(std::abs(GrayOf(sample, limits) - exact), 0.5) << sample << " in " << limits.lowest;
    }
  }
  EXPECT_EQ(GrayOf(1, {0, 510}), 1);  // halves up
}

// 8 bits that were spread over 10, 12 or 14 come back as they were.
TEST(GrayOf, TurnsSpreadSamplesBack) {
  for (const int bits : {10, 12, 14, 16}) {
    const int highest = (1 << bits) - 1;
    for (int gray = 0; gray < 256; ++gray) {
      EXPECT_EQ(GrayOf((gray * highest + 127) / 255, {0, highest}), gray) << bits;
    }
  }
}

TEST(SampleCounts, FindsLimitsByRank) {
  std::vector<int> samples;
  for (int i = 0; i < 1000; ++i) samples.push_back(3000 - i);  // 2001..3000
  EXPECT_EQ(LimitsOf(samples, 0), (GrayLimits{2001, 3000}));
  EXPECT_EQ(LimitsOf(samples, 0.5f), (GrayLimits{2006, 2995}));
  EXPECT_EQ(LimitsOf(samples, 25), (GrayLimits{2251, 2750}));
  EXPECT_EQ(LimitsOf({0, 65535}, 0.5f), (GrayLimits{0, 65535}));
  // Where one sample has all, the limits still differ.
  EXPECT_EQ(LimitsOf({7, 7, 7}, 0.5f), (GrayLimits{7, 8}));
  EXPECT_EQ(LimitsOf({65535, 65535}, 25), (GrayLimits{65534, 65535}));
  EXPECT_EQ(LimitsOf({0}, 0), (GrayLimits{0, 1}));
}

// In pieces, with gaps between rows, and of a part of the image.
TEST(RawToGray, GivesSamplesTheirGreyByARange) {
  constexpr int kWidth = 53, kHeight = 7, kStride = 2 * kWidth + 5;
  const Bytes pixels = testing::RandomBytes(kStride * kHeight, 3);
  const RawLayout layout = {static_cast<int>(PixelFormat::kGray16), kWidth, kHeight, kStride};
  const auto plan = InspectRaw(layout, pixels.size(), kMaxImagePixels);
  ASSERT_TRUE(plan.ok()) << plan.status();
  GrayTable table;
  std::vector<uint8_t> scratch;
  for (const GrayLimits limits : {GrayLimits{0, 4095}, {30000, 30255}}) {
    table.SetLimits(limits);
    for (const size_t piece : {size_t{1}, size_t{64}, pixels.size()}) {
      Image image(kWidth - 9, kHeight - 2);
      RawToGray(*plan, testing::Cut(pixels, piece), 4, 1, DestinationIn(&image), &scratch, &table);
      for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) {
          const uint8_t* const at = pixels.data() + (y + 1) * kStride + 2 * (x + 4);
          ASSERT_EQ(image.row(y)[x], GrayOf(at[0] | at[1] << 8, limits)) << x << " " << y;
        }
      }
    }
  }
  SampleCounts counts;
  counts.Clear();
  CountSamples(*plan, testing::Cut(pixels, 10), &scratch, &counts);
  std::vector<int> samples;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x)
      samples.push_back(pixels[y * kStride + 2 * x] | pixels[y * kStride + 2 * x + 1] << 8);
  }
  EXPECT_EQ(counts.LimitsAt(10), LimitsOf(samples, 10));
}

}  // namespace
}  // namespace glint::decode
