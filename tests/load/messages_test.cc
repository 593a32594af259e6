// What the load generator writes and reads without the generated classes, compared with them.
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <limits>
#include <string>
#include <vector>

#include "client/load/frames.h"
#include "client/load/reply.h"
#include "gtest/gtest.h"
#include "tests/support/random.h"

namespace glint::load {
namespace {

using ::glint::testing::Random;

std::string Bytes(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  EXPECT_TRUE(buffer.DumpToSingleSlice(&slice).ok());
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

// The same bytes in slices of random lengths, empty ones among them.
grpc::ByteBuffer Cut(const std::string& bytes, Random* random) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = std::min<size_t>(bytes.size() - at, static_cast<size_t>(random->Uniform(0, 300)));
    slices.emplace_back(bytes.data() + at, length);
    at += length;
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

v1::DetectStreamResponse RandomResponse(Random* random) {
  v1::DetectStreamResponse response;
  response.set_frame_id(uint64_t{random->Bits()} << random->Uniform(0, 32));
  if (random->OneIn(4)) {
    response.mutable_status()->set_code(random->Uniform(1, 16));
    response.mutable_status()->set_message(std::string(static_cast<size_t>(random->Uniform(0, 400)), 'x'));
  } else {
    v1::Features* const features = response.mutable_features();
    const int count = random->OneIn(5) ? 0 : random->Uniform(1, 900);
    for (int i = 0; i < count; ++i) {
      features->add_x(static_cast<float>(i));
      features->add_y(2);
      features->add_octave(i % 8);
    }
    features->set_descriptors(std::string(static_cast<size_t>(count) * 32, '\x5a'));
  }
  response.mutable_timings()->set_detect_ns(random->Uniform(0, 1 << 30));
  response.mutable_timings()->set_total_ns(random->Uniform(0, 1 << 30));
  response.mutable_timings()->set_device("cuda:0");
  return response;
}

TEST(ReplyTest, ReadsWhatTheGeneratedClassReads) {
  Random random(1);
  Reply reply;
  for (int i = 0; i < 300; ++i) {
    const v1::DetectStreamResponse response = RandomResponse(&random);
    grpc::ByteBuffer bytes = Cut(response.SerializeAsString(), &random);
    ASSERT_TRUE(ReadReply(&bytes, &reply));
    EXPECT_EQ(reply.frame_id, response.frame_id());
    EXPECT_EQ(reply.status.SerializeAsString(), response.status().SerializeAsString());
    EXPECT_EQ(reply.timings.SerializeAsString(), response.timings().SerializeAsString());
    EXPECT_EQ(reply.keypoints, response.features().x_size());
  }
}

TEST(ReplyTest, AcceptsAPrefixOfAMessageJustWhenTheGeneratedClassDoes) {
  Random random(2);
  Reply reply;
  int accepted = 0;
  for (int i = 0; i < 40; ++i) {
    const std::string whole = RandomResponse(&random).SerializeAsString();
    for (size_t length = 0; length < whole.size(); length += whole.size() < 2000 ? 1 : 97) {
      const std::string prefix = whole.substr(0, length);
      grpc::ByteBuffer bytes = prefix.empty() ? grpc::ByteBuffer(nullptr, 0) : Cut(prefix, &random);
      if (prefix.empty()) continue;
      v1::DetectStreamResponse expected;
      const bool good = expected.ParseFromString(prefix);
      ASSERT_EQ(ReadReply(&bytes, &reply), good) << length << " of " << whole.size();
      accepted += good ? 1 : 0;
    }
  }
  EXPECT_GT(accepted, 0);
}

TEST(FrameBodyTest, MessagesAreTheFrameWithTheirNumbers) {
  const Image picture = SyntheticPicture({37, 21}, 1);
  const auto body = FrameBody::Of(picture);
  ASSERT_TRUE(body.ok()) << body.status();
  int64_t copied = 0;
  for (const uint64_t id : {uint64_t{0}, uint64_t{1}, uint64_t{127}, uint64_t{128}, uint64_t{1} << 35,
                            std::numeric_limits<uint64_t>::max()}) {
    const int64_t before = copied;
    const std::string bytes = Bytes(body->Message(id, &copied));
    v1::DetectStreamRequest message;
    ASSERT_TRUE(message.ParseFromString(bytes)) << id;
    EXPECT_EQ(message.frame().frame_id(), id);
    const v1::RawImage& raw = message.frame().image().raw();
    EXPECT_EQ(raw.width(), 37u);
    EXPECT_EQ(raw.height(), 21u);
    EXPECT_EQ(raw.data(), InFormat(picture, client::PixelFormat::kGray8));
    // Only what comes before the image is new.
    const auto image_bytes = static_cast<int64_t>(message.frame().image().ByteSizeLong()) + 3;  // tag and length
    EXPECT_EQ(copied - before, static_cast<int64_t>(bytes.size()) - image_bytes);
    if (id == 0) {
      EXPECT_EQ(body->size(), bytes.size());
    }
  }
}

TEST(FrameBodyTest, RefusesWhatTheClientRefuses) {
  EXPECT_EQ(FrameBody::Of(client::ImageInput()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(SyntheticPictureTest, IsTheSameEveryTimeAndHasItsShape) {
  const Image once = SyntheticPicture({320, 200}, 1), again = SyntheticPicture({320, 200}, 1);
  EXPECT_EQ(once.shape(), (Shape{320, 200}));
  const auto pixels = [](const Image& image) { return InFormat(image, client::PixelFormat::kGray8); };
  EXPECT_EQ(pixels(once), pixels(again));
  EXPECT_NE(pixels(once), pixels(SyntheticPicture({320, 200}, 2)));
  EXPECT_EQ(InFormat(once, client::PixelFormat::kBgra8).size(), 4u * 320 * 200);
}

}  // namespace
}  // namespace glint::load
