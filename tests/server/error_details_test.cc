// What an error is about, for programs: in the details of a call or stream that ends with it, and in the status of a
// frame that fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "glint/v1/envelope.pb.h"
#include "tests/server/harness.h"
#include "tests/server/raw_calls.h"

namespace glint::testing {
namespace {

using grpc::StatusCode;
using Metadata = std::map<std::string, std::string>;

constexpr char kTrailer[] = "grpc-status-details-bin";
constexpr char kErrorInfo[] = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr char kRetryInfo[] = "type.googleapis.com/google.rpc.RetryInfo";

struct Case {
  const char* name;
  const char* reason;
  Metadata metadata;
  std::function<void(v1::DetectRequest*)> spoil;
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

const std::vector<Case>& OptionCases() {
  static const auto* const kCases = new std::vector<Case>{
      {"OutOfRange",
       "OUT_OF_RANGE",
       {{"field", "detector.levels"}, {"value", "13"}, {"lowest", "1"}, {"highest", "12"}},
       [](auto* r) { r->mutable_detector()->set_levels(13); }},
      {"NotANumber",
       "OUT_OF_RANGE",
       {{"field", "detector.scale_factor"}, {"value", "nan"}, {"lowest", "1.05"}, {"highest", "2"}},
       [](auto* r) { r->mutable_detector()->set_scale_factor(std::numeric_limits<float>::quiet_NaN()); }},
      {"UnknownName",
       "NOT_ONE_OF",
       {{"field", "detector.preset"},
        {"value", "sift"},
        {"allowed", "orb, oriented_fast, fast_grid, pyca, bfrost, harris, orbslam"}},
       [](auto* r) { r->mutable_detector()->set_preset("sift"); }},
      {"LongName",
       "NOT_ONE_OF",
       {{"field", "detector.preset"},
        {"value", std::string(100, 'p') + "..."},
        {"allowed", "orb, oriented_fast, fast_grid, pyca, bfrost, harris, orbslam"}},
       [](auto* r) { r->mutable_detector()->set_preset(std::string(9000, 'p')); }},
      {"UnknownNumber",
       "NOT_ONE_OF",
       {{"field", "detector.pyramid"}, {"value", "9"}, {"allowed", "UNSPECIFIED, CASCADED, DIRECT, HALF"}},
       [](auto* r) { r->mutable_detector()->set_pyramid(static_cast<v1::PyramidKind>(9)); }},
      {"NameOfTheMessage",
       "NOT_ONE_OF",
       {{"field", "detector.descriptor_kind"}, {"value", "9"}, {"allowed", "UNSPECIFIED, NONE, RBRIEF, BFROST"}},
       [](auto* r) { r->mutable_detector()->set_descriptor_kind(static_cast<v1::Descriptor>(9)); }},
      {"Contradiction",
       "CONTRADICTION",
       {{"field", "detector.ranking"}},
       [](auto* r) { r->mutable_detector()->set_score(v1::SCORE_HARRIS); }},
      {"OverALimit",
       "OVER_LIMIT",
       {{"field", "detector.max_features"}, {"value", "5001"}, {"highest", "5000"}, {"flag", "--max-features"}},
       [](auto* r) { r->mutable_detector()->set_max_features(5001); }},
  };
  return *kCases;
}

const std::vector<Case>& ImageCases() {
  static const auto* const kCases = new std::vector<Case>{
      {"OutOfRange",
       "OUT_OF_RANGE",
       {{"field", "image.raw.width"}, {"value", "0"}, {"lowest", "1"}, {"highest", "16384"}},
       [](auto* r) { r->mutable_image()->mutable_raw()->set_width(0); }},
      {"UnknownNumber",
       "NOT_ONE_OF",
       {{"field", "image.raw.format"},
        {"value", "77"},
        {"allowed", "GRAY8, BGR8, RGB8, BGRA8, RGBA8, NV12, YUYV, GRAY16, BAYER_RGGB8"}},
       [](auto* r) { r->mutable_image()->mutable_raw()->set_format(static_cast<v1::PixelFormat>(77)); }},
      {"Contradiction",
       "CONTRADICTION",
       {{"field", "image.raw.stride"}},
       [](auto* r) { r->mutable_image()->mutable_raw()->set_stride(63); }},
      {"NoImage", "CONTRADICTION", {{"field", "image"}}, [](auto* r) { r->clear_image(); }},
      {"NoFile",
       "CONTRADICTION",
       {{"field", "image.encoded.data"}},
       [](auto* r) { r->mutable_image()->mutable_encoded()->set_data("no file"); }},
      {"UnknownEncoding",
       "NOT_ONE_OF",
       {{"field", "image.encoded.encoding"}, {"value", "9"}, {"allowed", "UNSPECIFIED, JPEG, PNG, MJPEG"}},
       [](auto* r) {
         r->mutable_image()->mutable_encoded()->set_data("no file");
         r->mutable_image()->mutable_encoded()->set_encoding(static_cast<v1::ImageEncoding>(9));
       }},
      {"Mask",
       "CONTRADICTION",
       {{"field", "mask.raw.data"}},
       [](auto* r) {
         SetGray(64, 48, 1, r->mutable_mask());
         r->mutable_mask()->mutable_raw()->set_data("x");
       }},
      {"Region",
       "OUT_OF_RANGE",
       {{"field", "region.width"}, {"value", "0"}, {"lowest", "1"}, {"highest", "64"}},
       [](auto* r) { r->mutable_region()->set_height(48); }},
      {"OverALimit",
       "OVER_LIMIT",
       {{"field", "image"}, {"value", "1000001"}, {"highest", "1000000"}, {"flag", "--max-image-pixels"}},
       [](auto* r) { SetGray(101, 9901, 0, r->mutable_image()); }},
  };
  return *kCases;
}

void ExpectInfo(const Case& expected, const v1::ErrorInfo& info) {
  EXPECT_EQ(info.reason(), expected.reason);
  EXPECT_EQ(info.domain(), "glint");
  Metadata metadata;
  for (const auto& entry : info.metadata()) metadata[entry.first] = entry.second;
  EXPECT_EQ(metadata, expected.metadata);
}

// The details repeat code and text, and have an ErrorInfo and `others` beside it.
void ExpectDetails(const Case& expected, const grpc::Status& status, const std::vector<std::string>& others = {}) {
  v1::StatusDetails details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), status.error_code());
  EXPECT_EQ(details.message(), status.error_message());
  std::vector<std::string> types, expected_types = others;
  for (const google::protobuf::Any& any : details.details()) types.push_back(any.type_url());
  expected_types.insert(expected_types.begin(), kErrorInfo);
  ASSERT_THAT(types, ::testing::ElementsAreArray(expected_types));
  v1::ErrorInfo info;
  ASSERT_TRUE(info.ParseFromString(details.details(0).value()));
  ExpectInfo(expected, info);
}

class ErrorDetailsTest : public ::testing::TestWithParam<Case> {
 protected:
  ErrorDetailsTest() : server_(Options(), &control_) { GetParam().spoil(&request_); }

  static ServerOptions Options() {
    ServerOptions options = TestOptions();
    options.max_features = 5000;
    options.lanes.max_image_pixels = 1000000;
    return options;
  }

  LaneControl control_;
  TestServer server_;
  v1::DetectRequest request_ = GrayRequest();
};

class OptionDetailsTest : public ErrorDetailsTest {};
class ImageDetailsTest : public ErrorDetailsTest {};

TEST_P(OptionDetailsTest, AreOfTheCall) {
  grpc::ClientContext context;
  v1::DetectResponse response;
  const grpc::Status status = server_.stub()->Detect(&context, request_, &response);
  ExpectDetails(GetParam(), status);
  EXPECT_EQ(context.GetServerTrailingMetadata().count(kTrailer), 1u);
}

TEST_P(OptionDetailsTest, AreOfTheStream) {
  TestStream stream(server_.stub());
  v1::DetectStreamRequest options;
  *options.mutable_options()->mutable_detector() = request_.detector();
  stream.Write(options);
  stream.Read();
  EXPECT_TRUE(stream.ended());
  ExpectDetails(GetParam(), stream.Finish());
}

INSTANTIATE_TEST_SUITE_P(All, OptionDetailsTest, ::testing::ValuesIn(OptionCases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(ImageDetailsTest, AreOfTheCall) {
  grpc::ClientContext context;
  v1::DetectResponse response;
  ExpectDetails(GetParam(), server_.stub()->Detect(&context, request_, &response));
}

TEST_P(ImageDetailsTest, AreOfTheFrame) {
  TestStream stream(server_.stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  v1::DetectStreamRequest frame;
  frame.mutable_frame();
  if (request_.has_image()) *frame.mutable_frame()->mutable_image() = request_.image();
  if (request_.has_mask()) *frame.mutable_frame()->mutable_mask() = request_.mask();
  if (request_.has_region()) *frame.mutable_frame()->mutable_region() = request_.region();
  ASSERT_TRUE(stream.Write(frame));
  ExpectInfo(GetParam(), stream.Read().status().error());
  ASSERT_TRUE(stream.Write(FrameMessage(2)));
  EXPECT_FALSE(stream.Read().status().has_error());
  stream.WritesDone();
  EXPECT_TRUE(stream.Finish().ok());
}

INSTANTIATE_TEST_SUITE_P(All, ImageDetailsTest, ::testing::ValuesIn(ImageCases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(StreamErrorDetails, AreThoseOfItsOtherOptions) {
  LaneControl control;
  ServerOptions server_options = TestOptions();
  server_options.max_in_flight = 4;
  TestServer server(server_options, &control);
  const auto end = [&](const std::function<void(v1::DetectStreamOptions*)>& spoil) {
    TestStream stream(server.stub());
    v1::DetectStreamRequest options = OptionsMessage();
    spoil(options.mutable_options());
    stream.Write(options);
    stream.Read();
    return stream.Finish();
  };
  ExpectDetails({"",
                 "OVER_LIMIT",
                 {{"field", "max_in_flight"}, {"value", "5"}, {"highest", "4"}, {"flag", "--max-in-flight"}},
                 nullptr},
                end([](auto* options) { options->set_max_in_flight(5); }));
  ExpectDetails(
      {"", "OUT_OF_RANGE", {{"field", "max_in_flight"}, {"value", "-1"}, {"lowest", "0"}, {"highest", "4"}}, nullptr},
      end([](auto* options) { options->set_max_in_flight(-1); }));
  ExpectDetails({"",
                 "OUT_OF_RANGE",
                 {{"field", "max_age_ns"}, {"value", "-1"}, {"lowest", "0"}, {"highest", "86400000000000"}},
                 nullptr},
                end([](auto* options) { options->set_max_age_ns(-1); }));
  ExpectDetails(
      {"",
       "NOT_ONE_OF",
       {{"field", "overload_policy"}, {"value", "9"}, {"allowed", "UNSPECIFIED, BLOCK, DROP_OLDEST, LATEST, REJECT"}},
       nullptr},
      end([](auto* options) { options->set_overload_policy(static_cast<v1::OverloadPolicy>(9)); }));
}

// One stream too many.
TEST(StreamErrorDetails, AreThoseOfItsRefusal) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.max_sessions = 1;
  TestServer server(options, &control);
  TestStream first(server.stub());
  ASSERT_TRUE(first.Write(OptionsMessage()));
  ASSERT_TRUE(Eventually([&] { return server->sessions() == 1; }));
  TestStream second(server.stub());
  second.Read();
  ExpectDetails({"", "OVER_LIMIT", {{"field", "sessions"}, {"highest", "1"}, {"flag", "--max-sessions"}}, nullptr},
                second.Finish(), {kRetryInfo});
}

TEST(StreamErrorDetails, AreThoseOfARefusedFrame) {
  LaneControl control;
  TestServer server(TestOptions(), &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  control.Hold(true);
  TestStream stream(server.stub());
  v1::DetectStreamRequest options = OptionsMessage();
  options.mutable_options()->set_overload_policy(v1::OVERLOAD_POLICY_REJECT);
  options.mutable_options()->set_max_in_flight(1);
  ASSERT_TRUE(stream.Write(options));
  for (uint64_t id = 1; id <= 2; ++id) ASSERT_TRUE(stream.Write(FrameMessage(id)));
  control.WaitUntilRunning(1);
  ASSERT_TRUE(Eventually([&] { return server->frames_in_flight() == 2; }));
  control.Hold(false);
  EXPECT_FALSE(stream.Read().status().has_error());
  const v1::FrameStatus status = stream.Read().status();
  EXPECT_EQ(status.drop_reason(), v1::DROP_REASON_REJECTED);
  EXPECT_GT(status.retry_after_ns(), 0);
  ExpectInfo({"", "OVER_LIMIT", {{"field", "max_in_flight"}, {"highest", "1"}}, nullptr}, status.error());
}

// A call that is to come again is told when, too.
TEST(CallErrorDetails, AreBesideTheHintWhenToTryAgain) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.max_detect_calls = 1;
  TestServer server(options, &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  control.Hold(true);
  RawCall first(Dial(server->addresses().at(0)), "/glint.v1.FeatureDetection/Detect");
  ASSERT_TRUE(first.Write(GrayRequest().SerializeAsString()));
  control.WaitUntilRunning(1);
  grpc::ClientContext context;
  v1::DetectResponse response;
  const grpc::Status status = server.stub()->Detect(&context, GrayRequest(), &response);
  ExpectDetails({"", "OVER_LIMIT", {{"field", "calls"}, {"highest", "1"}, {"flag", "--max-detect-calls"}}, nullptr},
                status, {kRetryInfo});
  control.Hold(false);
}

// An error that is about no value has none.
TEST(StreamErrorDetails, AreAbsentWhereThereIsNoValue) {
  LaneControl control;
  TestServer server(TestOptions(), &control);
  {
    TestStream stream(server.stub());
    ASSERT_TRUE(stream.Write(FrameMessage(1)));
    stream.Read();
    const grpc::Status status = stream.Finish();
    EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(status.error_details(), "");
  }
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  control.Fail(absl::ResourceExhaustedError("out of device memory"));
  ASSERT_TRUE(stream.Write(FrameMessage(1)));
  const v1::FrameStatus status = stream.Read().status();
  EXPECT_EQ(status.code(), static_cast<int>(StatusCode::RESOURCE_EXHAUSTED));
  EXPECT_FALSE(status.has_error());
}

}  // namespace
}  // namespace glint::testing
