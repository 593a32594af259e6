// What GStreamer says of a pipeline's frames, in pieces and among other lines, and the caps that are taken or not.
#include "client/video/gst_notes.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glint::video {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kLines[] =
    "Setting pipeline to PAUSED ...\nPipeline is live and does not need PREROLL ...\nNew clock: GstSystemClock\n"
    "/GstPipeline:pipeline0/GstIdentity:other.GstPad:sink: caps = video/x-raw, format=(string)YUY2\n"
    "/GstPipeline:pipeline0/GstIdentity:other: last-message = chain   ******* (other:sink) (9 bytes, dts: none, pts: "
    "0:00:09.000000000, duration: none) 0x7f\n"
    "/GstPipeline:pipeline0/GstIdentity:glint.GstPad:sink: caps = image/jpeg\n"
    "/GstPipeline:pipeline0/GstIdentity:glint: last-message = event   ******* (glint:sink) E (type: eos (28174), ) "
    "0x7\n"
    "/GstPipeline:pipeline0/GstIdentity:glint: last-message = chain   ******* (glint:sink) (349692 bytes, dts: "
    "0:00:01.000000000, pts: 1:00:00.101600907, duration: 0:00:00.100000000, offset: 1, offset_end:  2) 0x7f\n"
    "/GstPipeline:pipeline0/GstIdentity:glint: last-message = chain   ******* (glint:sink) (17 bytes, dts: none, pts: "
    "none, duration: none, offset: 1, offset_end:  2, flags: 00000000 , meta: none) 0x7f\n";

TEST(GstNotes, FramesHaveSizesTimesAndCaps) {
  for (const size_t piece : {sizeof kLines, size_t{7}}) {
    GstNotes notes;
    GstFrame frame;
    EXPECT_FALSE(notes.started());
    const absl::string_view lines = kLines;
    for (size_t at = 0; at < lines.size(); at += piece) notes.Add(lines.substr(at, piece));
    EXPECT_TRUE(notes.started() && notes.live());
    EXPECT_EQ(notes.clock(), "GstSystemClock");
    ASSERT_TRUE(notes.Take(&frame));
    EXPECT_EQ(frame.bytes, 349692u);
    EXPECT_EQ(frame.pts, absl::Hours(1) + absl::Nanoseconds(101600907));
    EXPECT_EQ(*frame.caps, "image/jpeg");
    ASSERT_TRUE(notes.Take(&frame));
    EXPECT_EQ(frame.bytes, 17u);
    EXPECT_FALSE(frame.pts.has_value());
    EXPECT_FALSE(notes.Take(&frame));
  }
  GstNotes file;
  file.Add("Pipeline is PREROLLING ...\n");
  EXPECT_TRUE(file.started() && !file.live());
}

// The sizes are those of gst_video_info_set_format() for these caps.
TEST(GstNotes, CapsThatAreTaken) {
  const auto bytes = [](const std::string& format) {
    const auto caps = ParseGstCaps("video/x-raw, format=(string)" + format +
                                   ", width=(int)642, height=(int)361, framerate=(fraction)30000/1001");
    EXPECT_TRUE(caps.ok()) << caps.status();
    EXPECT_EQ(caps->shape, (Shape{642, 361}));
    EXPECT_EQ(caps->rate_numerator, 30000);
    EXPECT_EQ(caps->rate_denominator, 1001);
    return caps->bytes();
  };
  EXPECT_EQ(bytes("GRAY8"), 644u * 361);
  EXPECT_EQ(bytes("NV12"), 644u * 362 + 644 * 181);
  EXPECT_EQ(bytes("I420"), 644u * 362 + 2 * 324 * 181);
  EXPECT_EQ(bytes("BGRx"), 4u * 642 * 361);
  const auto jpeg = ParseGstCaps("image/jpeg, framerate=(fraction)0/1");
  ASSERT_TRUE(jpeg.ok());
  EXPECT_EQ(jpeg->bytes(), 0u);
  EXPECT_EQ(jpeg->rate_denominator, 0);
}

TEST(GstNotes, CapsThatAreNotTakenAreNamed) {
  const auto said = [](const std::string& caps) { return std::string(ParseGstCaps(caps).status().message()); };
  const std::string sides = ", width=(int)640, height=(int)480";
  EXPECT_THAT(said("video/x-raw, format=(string)YUY2" + sides),
              AllOf(HasSubstr("video/x-raw,format=YUY2,width=640,height=480 is not taken"), HasSubstr("NV12, I420"),
                    HasSubstr("end the pipeline with videoconvert ! video/x-raw,format=NV12")));
  EXPECT_THAT(said("video/x-raw(memory:NVMM), format=(string)NV12" + sides),
              AllOf(HasSubstr("(memory:NVMM)"), HasSubstr("end the pipeline with nvvidconv")));
  EXPECT_THAT(said("video/x-h264, stream-format=(string)avc"), HasSubstr("video/x-h264 is not taken"));
  EXPECT_THAT(said("video/x-raw, format=(string)NV12, width=(int)0, height=(int)480"), HasSubstr("sides in 1.."));
  EXPECT_THAT(said("video/x-raw, format=(string)NV12"), HasSubstr("not taken"));
}

}  // namespace
}  // namespace glint::video
