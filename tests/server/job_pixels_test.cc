// Images of clients as lanes take them: what is not there, or not of a size that lanes take.
#include "server/pixels/job_pixels.h"

#include <gtest/gtest.h>

#include "features/error.h"
#include "tests/support/status.h"

namespace glint {
namespace {

// An operation that has not asked for the image gets an error, no pixels to read.
TEST(JobPixels, AnAbsentImageIsAnError) {
  decode::Decoder decoder;
  PixelScratch scratch;
  const auto pixels = PixelsOf(ImageSource(), &decoder, 1000, &scratch);
  EXPECT_EQ(testing::CodeAndText(pixels.status()), absl::InvalidArgumentError("image: missing"));
  EXPECT_EQ(WithField("left", pixels.status()).message(), "left: missing");
  int64_t copied = 0;
  const auto depth = DepthOf(ImageSource(), DepthSensor(), {4, 3}, &decoder, &scratch, &copied);
  EXPECT_EQ(testing::CodeAndText(depth.status()), absl::InvalidArgumentError("image: missing"));
}

// An operation that has not inspected the image gets an error, too, and no lane a shape that it does not expect.
TEST(JobPixels, AnImageOfWrongSizeIsAnError) {
  decode::Decoder decoder;
  PixelScratch scratch;
  const auto status_of = [&](Shape shape) {
    ImageSource source;
    source.kind = ImageSource::Kind::kRaw;
    source.raw.format = PixelFormat::kBgr8;
    source.raw.shape = shape;
    return PixelsOf(source, &decoder, /*max_pixels=*/1000, &scratch).status();
  };
  EXPECT_EQ(status_of({50, 20}), absl::OkStatus());
  EXPECT_EQ(status_of({51, 20}).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status_of({0, 0}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status_of({kMaxImageSide + 1, 0}).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace glint
