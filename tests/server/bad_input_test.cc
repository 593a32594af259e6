// Everything a client can get wrong, each with the status code and the text it gets for it, and the proof that the
// next good frame is answered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/harness.h"
#include "tests/server/raw_calls.h"

namespace glint::testing {
namespace {

using grpc::StatusCode;

constexpr char kDetect[] = "/glint.v1.FeatureDetection/Detect";
constexpr char kDetectStream[] = "/glint.v1.FeatureDetection/DetectStream";

struct Case {
  const char* name;
  StatusCode code;
  const char* message;
  std::function<void(v1::DetectRequest*)> spoil;
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

v1::RawImage* Raw(v1::DetectRequest* r) { return r->mutable_image()->mutable_raw(); }
void Encode(v1::DetectRequest* r, v1::ImageEncoding encoding, std::string data) {
  r->mutable_image()->mutable_encoded()->set_encoding(encoding);
  r->mutable_image()->mutable_encoded()->set_data(std::move(data));
}

// The first bytes of a PNG file that says it is 30000 x 30000, up to and with its header's checksum.
std::string HugePng() {
  return std::string("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x75\x30\0\0\x75\x30\x08\0\0\0\0\x43\x4c\xa7\x66", 33);
}

std::string TruncatedJpeg() { return std::string("\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0", 20); }

// Bad images: a call fails with the error, a frame of a stream gets it as its result.
const std::vector<Case>& ImageCases() {
  static const auto* const kCases = new std::vector<Case>{
      {"NoImage", StatusCode::INVALID_ARGUMENT, "image: neither raw nor encoded nor shared is set",
       [](auto* r) { r->clear_image(); }},
      {"ZeroWidth", StatusCode::INVALID_ARGUMENT, "image.raw.width: 0 is not in 1..16384",
       [](auto* r) { Raw(r)->set_width(0); }},
      {"ZeroHeight", StatusCode::INVALID_ARGUMENT, "image.raw.height: 0 is not in 1..16384",
       [](auto* r) { Raw(r)->set_height(0); }},
      {"HugeWidth", StatusCode::INVALID_ARGUMENT, "image.raw.width: 4294967295 is not in 1..16384",
       [](auto* r) { Raw(r)->set_width(0xffffffff); }},
      {"TooManyPixels", StatusCode::RESOURCE_EXHAUSTED,
       "image: 268435456 pixels are over this server's limit of 33177600 (--max-image-pixels)",
       [](auto* r) {
         Raw(r)->set_width(16384);
         Raw(r)->set_height(16384);
       }},
      {"StrideBelowRow", StatusCode::INVALID_ARGUMENT, "image.raw.stride: 63 is less than the row of 64 bytes",
       [](auto* r) { Raw(r)->set_stride(63); }},
      {"ShortData", StatusCode::INVALID_ARGUMENT, "image.raw.data: 3071 bytes, but 64x48 with a stride of 64 is 3072",
       [](auto* r) { Raw(r)->mutable_data()->pop_back(); }},
      {"LongData", StatusCode::INVALID_ARGUMENT, "image.raw.data: 3073 bytes, but 64x48 with a stride of 64 is 3072",
       [](auto* r) { Raw(r)->mutable_data()->push_back(0); }},
      {"NoData", StatusCode::INVALID_ARGUMENT, "image.raw.data: 0 bytes, but 64x48 with a stride of 64 is 3072",
       [](auto* r) { Raw(r)->clear_data(); }},
      {"HugeStride", StatusCode::INVALID_ARGUMENT,
       "image.raw.data: 3072 bytes, but 64x48 with a stride of 4294967295 is 201863462929 or 206158430160",
       [](auto* r) { Raw(r)->set_stride(0xffffffff); }},
      {"NoFormat", StatusCode::INVALID_ARGUMENT,
       "image.raw.format: \"0\" is not one of GRAY8, BGR8, RGB8, BGRA8, RGBA8, NV12, YUYV, GRAY16, BAYER_RGGB8",
       [](auto* r) { Raw(r)->clear_format(); }},
      {"UnknownFormat", StatusCode::INVALID_ARGUMENT,
       "image.raw.format: \"77\" is not one of GRAY8, BGR8, RGB8, BGRA8, RGBA8, NV12, YUYV, GRAY16, BAYER_RGGB8",
       [](auto* r) { Raw(r)->set_format(static_cast<v1::PixelFormat>(77)); }},
      {"EmptyFile", StatusCode::INVALID_ARGUMENT, "image.encoded.data: is empty",
       [](auto* r) { Encode(r, v1::IMAGE_ENCODING_UNSPECIFIED, ""); }},
      {"NeitherJpegNorPng", StatusCode::INVALID_ARGUMENT, "image.encoded.data: is neither a JPEG nor a PNG file",
       [](auto* r) { Encode(r, v1::IMAGE_ENCODING_UNSPECIFIED, "GIF89a"); }},
      {"NotTheJpegItSaysItIs", StatusCode::INVALID_ARGUMENT, "image.encoded.data: is not a JPEG file",
       [](auto* r) { Encode(r, v1::IMAGE_ENCODING_JPEG, HugePng()); }},
      {"NotThePngItSaysItIs", StatusCode::INVALID_ARGUMENT, "image.encoded.data: is not a PNG file",
       [](auto* r) { Encode(r, v1::IMAGE_ENCODING_PNG, TruncatedJpeg()); }},
      {"UnknownEncoding", StatusCode::INVALID_ARGUMENT,
       "image.encoded.encoding: \"9\" is not one of UNSPECIFIED, JPEG, PNG, MJPEG",
       [](auto* r) { Encode(r, static_cast<v1::ImageEncoding>(9), HugePng()); }},
      {"PngLargerThanAllowed", StatusCode::INVALID_ARGUMENT, "image.encoded.data: width: 30000 is not in 1..16384",
       [](auto* r) { Encode(r, v1::IMAGE_ENCODING_PNG, HugePng()); }},
      {"MaskOfAnotherSize", StatusCode::INVALID_ARGUMENT, "mask: 32x48 is not the image's 64x48",
       [](auto* r) { SetGray(32, 48, 1, r->mutable_mask()); }},
      {"MaskInColour", StatusCode::INVALID_ARGUMENT, "mask.raw.format: \"2\" is not one of GRAY8",
       [](auto* r) {
         SetGray(64 * 3, 48, 1, r->mutable_mask());
         r->mutable_mask()->mutable_raw()->set_width(64);
         r->mutable_mask()->mutable_raw()->set_format(v1::PIXEL_FORMAT_BGR8);
       }},
      {"MaskWithShortData", StatusCode::INVALID_ARGUMENT,
       "mask.raw.data: 1 bytes, but 64x48 with a stride of 64 is 3072",
       [](auto* r) {
         SetGray(64, 48, 1, r->mutable_mask());
         r->mutable_mask()->mutable_raw()->set_data("x");
       }},
      {"EmptyMask", StatusCode::INVALID_ARGUMENT, "mask: neither raw nor encoded nor shared is set",
       [](auto* r) { r->mutable_mask(); }},
      {"MaskFileThatIsNone", StatusCode::INVALID_ARGUMENT, "mask.encoded.data: is neither a JPEG nor a PNG file",
       [](auto* r) { r->mutable_mask()->mutable_encoded()->set_data("GIF89a"); }},
  };
  return *kCases;
}

// Bad options: a call fails with the error, and so does a whole stream.
const std::vector<Case>& OptionCases() {
  static const auto* const kCases = new std::vector<Case>{
      {"UnknownPreset", StatusCode::INVALID_ARGUMENT,
       "detector.preset: \"sift\" is not one of orb, oriented_fast, fast_grid, pyca, bfrost, harris, orbslam",
       [](auto* r) { r->mutable_detector()->set_preset("sift"); }},
      {"NoLevels", StatusCode::INVALID_ARGUMENT, "detector.levels: 0 is not in 1..12",
       [](auto* r) { r->mutable_detector()->set_levels(0); }},
      {"TooManyLevels", StatusCode::INVALID_ARGUMENT, "detector.levels: 13 is not in 1..12",
       [](auto* r) { r->mutable_detector()->set_levels(13); }},
      {"ScaleFactorNaN", StatusCode::INVALID_ARGUMENT, "detector.scale_factor: nan is not in 1.05..2",
       [](auto* r) { r->mutable_detector()->set_scale_factor(std::numeric_limits<float>::quiet_NaN()); }},
      {"ScaleFactorInfinite", StatusCode::INVALID_ARGUMENT, "detector.scale_factor: inf is not in 1.05..2",
       [](auto* r) { r->mutable_detector()->set_scale_factor(HUGE_VALF); }},
      {"ScaleFactorOne", StatusCode::INVALID_ARGUMENT, "detector.scale_factor: 1 is not in 1.05..2",
       [](auto* r) { r->mutable_detector()->set_scale_factor(1); }},
      {"ThresholdNegative", StatusCode::INVALID_ARGUMENT, "detector.fast_threshold: -5 is not in 1..254",
       [](auto* r) { r->mutable_detector()->set_fast_threshold(-5); }},
      {"ArcLength", StatusCode::INVALID_ARGUMENT, "detector.arc_length: 8 is not in 9..12",
       [](auto* r) { r->mutable_detector()->set_arc_length(8); }},
      {"NoFeatures", StatusCode::INVALID_ARGUMENT, "detector.max_features: 0 is not in 1..65536",
       [](auto* r) { r->mutable_detector()->set_max_features(0); }},
      {"MoreFeaturesThanTheServerAllows", StatusCode::RESOURCE_EXHAUSTED,
       "detector.max_features: 5001 is over this server's limit of 5000 (--max-features)",
       [](auto* r) { r->mutable_detector()->set_max_features(5001); }},
      {"EdgeThreshold", StatusCode::INVALID_ARGUMENT, "detector.edge_threshold: 256 is not in 0..255",
       [](auto* r) { r->mutable_detector()->set_edge_threshold(256); }},
      {"PatchSize", StatusCode::INVALID_ARGUMENT, "detector.patch_size: 1 is not in 2..63",
       [](auto* r) { r->mutable_detector()->set_patch_size(1); }},
      {"UnknownPyramid", StatusCode::INVALID_ARGUMENT,
       "detector.pyramid: \"9\" is not one of UNSPECIFIED, CASCADED, DIRECT, HALF",
       [](auto* r) { r->mutable_detector()->set_pyramid(static_cast<v1::PyramidKind>(9)); }},
      {"UnknownCornerTest", StatusCode::INVALID_ARGUMENT,
       "detector.corner_test: \"9\" is not one of UNSPECIFIED, FAST, EVERY_PIXEL",
       [](auto* r) { r->mutable_detector()->set_corner_test(static_cast<v1::CornerTest>(9)); }},
      {"UnknownScore", StatusCode::INVALID_ARGUMENT,
       "detector.score: \"9\" is not one of UNSPECIFIED, MAX_THRESHOLD, HARRIS, SAD_CIRCLE, SAD_ARC",
       [](auto* r) { r->mutable_detector()->set_score(static_cast<v1::Score>(9)); }},
      {"UnknownSelection", StatusCode::INVALID_ARGUMENT,
       "detector.selection: \"9\" is not one of UNSPECIFIED, TOP_N, GRID, PYCA, THRESHOLD, QUADTREE",
       [](auto* r) { r->mutable_detector()->set_selection(static_cast<v1::Selection>(9)); }},
      {"UnknownRanking", StatusCode::INVALID_ARGUMENT,
       "detector.ranking: \"9\" is not one of UNSPECIFIED, SCORE, HARRIS",
       [](auto* r) { r->mutable_detector()->set_ranking(static_cast<v1::Ranking>(9)); }},
      {"UnknownOrientation", StatusCode::INVALID_ARGUMENT,
       "detector.orientation: \"9\" is not one of UNSPECIFIED, NONE, INTENSITY_CENTROID, ARC_MIDPOINT",
       [](auto* r) { r->mutable_detector()->set_orientation(static_cast<v1::Orientation>(9)); }},
      {"UnknownDescriptor", StatusCode::INVALID_ARGUMENT,
       "detector.descriptor_kind: \"9\" is not one of UNSPECIFIED, NONE, RBRIEF, BFROST",
       [](auto* r) { r->mutable_detector()->set_descriptor_kind(static_cast<v1::Descriptor>(9)); }},
      {"UnknownThresholdUnit", StatusCode::INVALID_ARGUMENT,
       "detector.threshold_unit: \"9\" is not one of UNSPECIFIED, ABSOLUTE, FRACTION_OF_MAX",
       [](auto* r) { r->mutable_detector()->set_threshold_unit(static_cast<v1::ThresholdUnit>(9)); }},
      {"GridOfACascade", StatusCode::INVALID_ARGUMENT, "detector.selection: GRID needs pyramid HALF or levels 1",
       [](auto* r) {
         r->mutable_detector()->set_preset("fast_grid");
         r->mutable_detector()->set_pyramid(v1::PYRAMID_KIND_CASCADED);
       }},
      {"CellTooSmall", StatusCode::INVALID_ARGUMENT, "detector.cell_width: 7 is not in 8..512",
       [](auto* r) { r->mutable_detector()->set_cell_width(7); }},
      {"HarrisTwice", StatusCode::INVALID_ARGUMENT,
       "detector.ranking: HARRIS re-ranks another score; with score HARRIS it must be SCORE",
       [](auto* r) { r->mutable_detector()->set_score(v1::SCORE_HARRIS); }},
      {"DescriptorWithoutOrientation", StatusCode::INVALID_ARGUMENT,
       "detector.descriptor_kind: RBRIEF needs an orientation; orientation is NONE",
       [](auto* r) { r->mutable_detector()->set_orientation(v1::ORIENTATION_NONE); }},
  };
  return *kCases;
}

class BadInputTest : public ::testing::TestWithParam<Case> {
 protected:
  // One server for all cases: none of them may leave a trace in it.
  static void SetUpTestSuite() {
    ServerOptions options = TestOptions();
    options.max_features = 5000;
    options.max_message_bytes = 4 << 20;
    server_ = std::make_unique<TestServer>(options);
  }
  static void TearDownTestSuite() { server_.reset(); }

  static grpc::Status Detect(const v1::DetectRequest& request) {
    grpc::ClientContext context;
    v1::DetectResponse response;
    return server_->stub()->Detect(&context, request, &response);
  }
  static void ExpectGoodFramesAreAnswered() {
    const grpc::Status status = Detect(GrayRequest());
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  static v1::DetectRequest Spoiled(const Case& c) {
    v1::DetectRequest request = GrayRequest();
    c.spoil(&request);
    return request;
  }

  static std::unique_ptr<TestServer> server_;
};
std::unique_ptr<TestServer> BadInputTest::server_;

class BadImageTest : public BadInputTest {};
class BadOptionsTest : public BadInputTest {};
class BadProtocolTest : public BadInputTest {};

TEST_P(BadImageTest, FailsTheCall) {
  const grpc::Status status = Detect(Spoiled(GetParam()));
  EXPECT_EQ(status.error_code(), GetParam().code);
  EXPECT_EQ(status.error_message(), GetParam().message);
  ExpectGoodFramesAreAnswered();
}

TEST_P(BadImageTest, FailsItsFrameAndTheStreamGoesOn) {
  const v1::DetectRequest bad = Spoiled(GetParam());
  TestStream stream(server_->stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  ASSERT_TRUE(stream.Write(FrameMessage(1)));
  v1::DetectStreamRequest frame;
  frame.mutable_frame()->set_frame_id(2);
  *frame.mutable_frame()->mutable_image() = bad.image();
  if (bad.has_mask()) *frame.mutable_frame()->mutable_mask() = bad.mask();
  ASSERT_TRUE(stream.Write(frame));
  ASSERT_TRUE(stream.Write(FrameMessage(3)));
  EXPECT_EQ(stream.Read().status().code(), 0);
  const v1::DetectStreamResponse reply = stream.Read();
  EXPECT_EQ(reply.frame_id(), 2u);
  EXPECT_EQ(reply.status().code(), static_cast<int>(GetParam().code));
  EXPECT_EQ(reply.status().message(), GetParam().message);
  ExpectAPath(reply.status());
  EXPECT_FALSE(reply.has_features());
  const v1::DetectStreamResponse next = stream.Read();
  EXPECT_EQ(next.frame_id(), 3u);
  EXPECT_EQ(next.status().code(), 0);
  stream.WritesDone();
  EXPECT_TRUE(stream.Finish().ok());
}

INSTANTIATE_TEST_SUITE_P(All, BadImageTest, ::testing::ValuesIn(ImageCases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(BadOptionsTest, FailTheCall) {
  const grpc::Status status = Detect(Spoiled(GetParam()));
  EXPECT_EQ(status.error_code(), GetParam().code);
  EXPECT_EQ(status.error_message(), GetParam().message);
  ExpectGoodFramesAreAnswered();
}

TEST_P(BadOptionsTest, EndTheStream) {
  TestStream stream(server_->stub());
  v1::DetectStreamRequest options;
  *options.mutable_options()->mutable_detector() = Spoiled(GetParam()).detector();
  ASSERT_TRUE(stream.Write(options));
  stream.Read();
  EXPECT_TRUE(stream.ended());
  const grpc::Status status = stream.Finish();
  EXPECT_EQ(status.error_code(), GetParam().code);
  EXPECT_EQ(status.error_message(), GetParam().message);
  ExpectGoodFramesAreAnswered();
}

INSTANTIATE_TEST_SUITE_P(All, BadOptionsTest, ::testing::ValuesIn(OptionCases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(BadProtocolTest, AFrameBeforeTheOptions) {
  TestStream stream(server_->stub());
  ASSERT_TRUE(stream.Write(FrameMessage(1)));
  stream.Read();
  EXPECT_TRUE(stream.ended());
  const grpc::Status status = stream.Finish();
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "options: missing; the first message of a stream carries them");
  ExpectGoodFramesAreAnswered();
}

TEST_F(BadProtocolTest, AnEmptyFirstMessage) {
  TestStream stream(server_->stub());
  ASSERT_TRUE(stream.Write({}));
  stream.Read();
  EXPECT_EQ(stream.Finish().error_code(), StatusCode::FAILED_PRECONDITION);
  ExpectGoodFramesAreAnswered();
}

TEST_F(BadProtocolTest, OptionsTwiceEndTheStreamOnceItsFramesAreAnswered) {
  TestStream stream(server_->stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  ASSERT_TRUE(stream.Write(FrameMessage(1)));
  ASSERT_TRUE(stream.Write(FrameMessage(2)));
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  EXPECT_EQ(stream.Read().frame_id(), 1u);
  EXPECT_EQ(stream.Read().frame_id(), 2u);
  stream.Read();
  EXPECT_TRUE(stream.ended());
  const grpc::Status status = stream.Finish();
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "options: sent twice; only the first message of a stream carries them");
  ExpectGoodFramesAreAnswered();
}

TEST_F(BadProtocolTest, AnEmptyLaterMessage) {
  TestStream stream(server_->stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  ASSERT_TRUE(stream.Write({}));
  stream.Read();
  const grpc::Status status = stream.Finish();
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "message: neither options nor frame is set");
  ExpectGoodFramesAreAnswered();
}

TEST_F(BadProtocolTest, ABadMaskOfTheStream) {
  TestStream stream(server_->stub());
  v1::DetectStreamRequest options = OptionsMessage();
  SetGray(64, 48, 1, options.mutable_options()->mutable_mask());
  options.mutable_options()->mutable_mask()->mutable_raw()->set_stride(3);
  ASSERT_TRUE(stream.Write(options));
  stream.Read();
  const grpc::Status status = stream.Finish();
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "mask.raw.stride: 3 is less than the row of 64 bytes");
  ExpectGoodFramesAreAnswered();
}

TEST_F(BadProtocolTest, NoMessagesAtAllIsFine) {
  TestStream stream(server_->stub());
  stream.WritesDone();
  stream.Read();
  EXPECT_TRUE(stream.Finish().ok());
}

TEST_F(BadProtocolTest, BytesThatAreNoMessage) {
  const std::string garbage("\xff\xff\xff\xff\xff", 5);
  RawCall call(server_->channel(), kDetect);
  call.Write(garbage);
  call.WritesDone();
  EXPECT_EQ(call.Read(), std::nullopt);
  grpc::Status status = call.Finish();
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "request: not a serialized glint.v1.DetectRequest");

  for (const bool first : {true, false}) {
    RawCall stream(server_->channel(), kDetectStream);
    if (!first) stream.Write(OptionsMessage().SerializeAsString());
    stream.Write(garbage);
    EXPECT_EQ(stream.Read(), std::nullopt);
    status = stream.Finish();
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.error_message(), "message: not a serialized glint.v1.DetectStreamRequest");
  }
  ExpectGoodFramesAreAnswered();
}

TEST_F(BadProtocolTest, AMessageOverTheLimit) {
  const v1::DetectRequest request = GrayRequest(2049, 2048);  // 2 KiB more than 4 MiB
  const grpc::Status status = Detect(request);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), ::testing::HasSubstr("larger than max"));
  ExpectGoodFramesAreAnswered();

  TestStream stream(server_->stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  ASSERT_TRUE(stream.Write(FrameMessage(1)));
  EXPECT_EQ(stream.Read().frame_id(), 1u);
  stream.Write(FrameMessage(2, 2049, 2048));
  stream.Read();
  EXPECT_TRUE(stream.ended());
  EXPECT_EQ(stream.Finish().error_code(), StatusCode::RESOURCE_EXHAUSTED);
  ExpectGoodFramesAreAnswered();
}

TEST_F(BadProtocolTest, AnUnknownMethod) {
  RawCall call(server_->channel(), "/glint.v1.FeatureDetection/Guess");
  EXPECT_EQ(call.Read(), std::nullopt);
  EXPECT_EQ(call.Finish().error_code(), StatusCode::UNIMPLEMENTED);
  ExpectGoodFramesAreAnswered();
}

}  // namespace
}  // namespace glint::testing
