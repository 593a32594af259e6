// Images of clients as lanes take them: what is not there.
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

}  // namespace
}  // namespace glint
