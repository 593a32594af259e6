// Messages that are small on the wire and large once parsed, and values that are long where errors repeat them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/server/harness.h"
#include "tests/server/process_memory.h"
#include "tests/server/raw_calls.h"

namespace glint::testing {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;

constexpr char kDetectStream[] = "/glint.v1.FeatureDetection/DetectStream";
constexpr size_t kMessageBytes = 33 << 20;

// Empty fields of a number that no message of Glint's has: two bytes each, and some 40 once parsed and kept.
std::string UnknownFields(size_t bytes) {
  std::string fields;
  fields.reserve(bytes);
  while (fields.size() < bytes) fields += "\x7a" + std::string(1, '\0');
  return fields;
}

// A field of bytes.
std::string Field(int number, const std::string& bytes) {
  std::string field(1, static_cast<char>(number << 3 | 2));
  for (size_t left = bytes.size();; left >>= 7) {
    field += static_cast<char>(left >= 0x80 ? (left & 0x7f) | 0x80 : left);
    if (left < 0x80) break;
  }
  return field + bytes;
}

class UnknownFieldsTest : public ::testing::Test {
 protected:
  UnknownFieldsTest() : server_(TestOptions(), &control_) { EXPECT_TRUE(server_->WaitUntilServing(absl::Seconds(10))); }

  // What becomes of a stream whose first message this is, and how much more memory the process had at most
  // meanwhile than the message takes, here and at the server.
  grpc::Status SendFirst(std::string message, int64_t* extra_bytes) {
    RawCall call(server_.channel(), kDetectStream);
    const PeakMemory peak;
    const auto size = static_cast<int64_t>(message.size());
    EXPECT_TRUE(call.Write(message));
    EXPECT_FALSE(call.Read().has_value());
    grpc::Status status = call.Finish();
    *extra_bytes = peak.GrowthBytes() - 3 * size;  // RawCall's copy, gRPC's on its way, the server's
    return status;
  }

  void ExpectTheNextStreamIsServed() {
    TestStream stream(server_.stub());
    ASSERT_TRUE(stream.Write(OptionsMessage()));
    ASSERT_TRUE(stream.Write(FrameMessage(1)));
    EXPECT_EQ(stream.Read().frame_id(), 1u);
  }

  LaneControl control_;
  TestServer server_;
};

constexpr int64_t kMaxExtraBytes = 40 << 20;

TEST_F(UnknownFieldsTest, BesideTheOptionsAreNotKept) {
  int64_t extra = 0;
  const grpc::Status status = SendFirst(UnknownFields(kMessageBytes), &extra);
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_LT(extra, kMaxExtraBytes);
  ExpectTheNextStreamIsServed();
}

TEST_F(UnknownFieldsTest, BesideOptionsAreOverTheirLimit) {
  int64_t extra = 0;
  const grpc::Status status = SendFirst(Field(1, "") + UnknownFields(kMessageBytes), &extra);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "options: 34603010 bytes apart from masks are more than 65536");
  EXPECT_LT(extra, kMaxExtraBytes);
}

TEST_F(UnknownFieldsTest, WithinTheOptionsAreOverTheirLimit) {
  int64_t extra = 0;
  for (const std::string& options : {Field(1, UnknownFields(kMessageBytes)), UnknownFields(kMessageBytes)}) {
    const grpc::Status status = SendFirst(Field(1, options), &extra);
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("bytes apart from masks are more than 65536"));
    EXPECT_LT(extra, kMaxExtraBytes);
  }
  ExpectTheNextStreamIsServed();
}

// The mask's own bytes may be as many as a message has.
TEST_F(UnknownFieldsTest, WithinTheMaskAreNotKept) {
  v1::Image mask;
  SetGray(64, 48, 1, &mask);
  const std::string bytes = mask.SerializeAsString() + UnknownFields(kMessageBytes);
  RawCall call(server_.channel(), kDetectStream);
  const PeakMemory peak;
  ASSERT_TRUE(call.Write(Field(1, Field(2, bytes))));
  ASSERT_TRUE(call.Write(FrameMessage(3).SerializeAsString()));
  const auto reply = call.Read();
  ASSERT_TRUE(reply.has_value());
  v1::DetectStreamResponse response;
  ASSERT_TRUE(response.ParseFromString(*reply));
  EXPECT_EQ(response.frame_id(), 3u);
  EXPECT_EQ(response.status().code(), 0) << response.status().message();
  EXPECT_EQ(response.features().response(0), 1);  // the mask's first pixel
  EXPECT_LT(peak.GrowthBytes() - 4 * static_cast<int64_t>(kMessageBytes), kMaxExtraBytes);
}

TEST_F(UnknownFieldsTest, AFewAreIgnored) {
  v1::DetectStreamOptions options;
  options.mutable_detector()->set_preset("orb");
  options.set_max_in_flight(2);
  SetGray(64, 48, 5, options.mutable_mask());
  v1::DetectStreamOptions more;
  more.set_max_age_ns(1'000'000'000'000);
  RawCall call(server_.channel(), kDetectStream);
  // In two parts, which protobuf merges.
  ASSERT_TRUE(call.Write(Field(1, UnknownFields(40) + options.SerializeAsString() + UnknownFields(60)) +
                         UnknownFields(20) + Field(1, more.SerializeAsString())));
  ASSERT_TRUE(call.Write(FrameMessage(1).SerializeAsString()));
  const auto reply = call.Read();
  ASSERT_TRUE(reply.has_value());
  v1::DetectStreamResponse response;
  ASSERT_TRUE(response.ParseFromString(*reply));
  EXPECT_EQ(response.status().code(), 0) << response.status().message();
  EXPECT_EQ(response.features().response(0), 5);
}

TEST_F(UnknownFieldsTest, OptionsThatAFrameFollowsInTheSameMessageDoNotCount) {
  int64_t extra = 0;
  const grpc::Status status = SendFirst(Field(1, "") + Field(2, ""), &extra);
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
}

TEST_F(UnknownFieldsTest, DamagedOptionsAreNoMessage) {
  int64_t extra = 0;
  for (const std::string& bytes :
       {std::string("\x0a\x05\x0a", 3), Field(1, "\x12\x03\x0a\x09x"), Field(1, "\x0a\x01\xff")}) {
    const grpc::Status status = SendFirst(bytes, &extra);
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.error_message(), "message: not a serialized glint.v1.DetectStreamRequest");
  }
}

// The text of an error travels in headers, of which clients take 8 KiB.
TEST_F(UnknownFieldsTest, ALongPresetIsStillAnInvalidArgument) {
  for (const size_t size : {size_t{101}, size_t{9000}, size_t{60000}}) {
    v1::DetectStreamRequest message = OptionsMessage();
    message.mutable_options()->mutable_detector()->set_preset(std::string(size, 'p') + "\n");
    TestStream stream(server_.stub());
    ASSERT_TRUE(stream.Write(message));
    stream.Read();
    const grpc::Status status = stream.Finish();
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr("preset: \"" + std::string(100, 'p') + "...\" is not one of orb,"));

    v1::DetectRequest request = GrayRequest();
    *request.mutable_detector() = message.options().detector();
    grpc::ClientContext context;
    v1::DetectResponse response;
    const grpc::Status answer = server_.stub()->Detect(&context, request, &response);
    EXPECT_EQ(answer.error_code(), StatusCode::INVALID_ARGUMENT) << answer.error_message();
    EXPECT_EQ(answer.error_message(), status.error_message());
  }
}

}  // namespace
}  // namespace glint::testing
