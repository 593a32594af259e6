// What the load generator writes and reads without the generated classes, compared with them.
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <limits>
#include <string>
#include <vector>

#include "client/load/frames.h"
#include "client/load/reply.h"
#include "glint/v1/feature_detection.pb.h"
#include "glint/v1/matching.pb.h"
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
    v1::ImageFeatures* const features = response.mutable_features();
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
    ASSERT_TRUE(ReadReply(Task::kDetect, &bytes, &reply));
    EXPECT_EQ(reply.frame_id, response.frame_id());
    EXPECT_EQ(reply.status.SerializeAsString(), response.status().SerializeAsString());
    EXPECT_EQ(reply.timings.SerializeAsString(), response.timings().SerializeAsString());
    EXPECT_EQ(reply.keypoints, response.features().x_size());
  }
}

void AddKeypoints(int count, v1::ImageFeatures* features) {
  for (int i = 0; i < count; ++i) features->add_x(static_cast<float>(i));
}

// Answers of the streams of pairs, in the same way.
TEST(ReplyTest, ReadsAnswersOfPairs) {
  Random random(3);
  Reply reply;
  for (int i = 0; i < 100; ++i) {
    const int keypoints[2] = {random.Uniform(0, 700), random.Uniform(0, 700)};
    const int matches = random.OneIn(5) ? 0 : random.Uniform(1, 900);
    v1::MatchStreamResponse matched;
    v1::StereoStreamResponse stereo;
    const auto set = [&](auto* response) {
      response->set_frame_id(static_cast<uint64_t>(i));
      response->mutable_timings()->set_match_ns(1000 + i);
      response->mutable_timings()->set_detect_ns(random.Uniform(0, 1 << 30));
      if (random.OneIn(4)) response->mutable_status()->set_code(random.Uniform(1, 16));
    };
    set(&matched);
    set(&stereo);
    v1::MatchResult* const pair = matched.mutable_result();
    v1::StereoResult* const rectified = stereo.mutable_result();
    AddKeypoints(keypoints[0], pair->mutable_query());
    AddKeypoints(keypoints[1], pair->mutable_train());
    AddKeypoints(keypoints[0], rectified->mutable_left());
    rectified->set_right_keypoints(keypoints[1]);
    rectified->add_warnings()->set_text("swapped");
    for (int m = 0; m < matches; ++m) {
      pair->mutable_matches()->add_query(static_cast<uint32_t>(m));
      pair->mutable_matches()->add_train(static_cast<uint32_t>(random.Uniform(0, 1 << 20)));
      rectified->mutable_matches()->add_left(static_cast<uint32_t>(random.Uniform(0, 1 << 20)));
      rectified->mutable_matches()->add_right_x(3);
    }
    const auto expect = [&](Task task, const auto& response) {
      const std::string whole = response.SerializeAsString();
      grpc::ByteBuffer bytes = Cut(whole, &random);
      ASSERT_TRUE(ReadReply(task, &bytes, &reply)) << NameOf(task);
      EXPECT_EQ(reply.frame_id, response.frame_id());
      EXPECT_EQ(reply.status.code(), response.status().code());
      EXPECT_EQ(reply.timings.SerializeAsString(), response.timings().SerializeAsString());
      EXPECT_EQ(reply.timings.match_ns(), 1000 + i);
      EXPECT_EQ(reply.keypoints, keypoints[0] + keypoints[1]) << NameOf(task);
      EXPECT_EQ(reply.matches, matches) << NameOf(task);
      // Without its last byte the last field is broken.
      grpc::ByteBuffer cut = Cut(whole.substr(0, whole.size() - 1), &random);
      EXPECT_FALSE(ReadReply(task, &cut, &reply)) << NameOf(task);
    };
    expect(Task::kMatch, matched);
    expect(Task::kMatchDescriptors, matched);
    expect(Task::kStereo, stereo);
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
      ASSERT_EQ(ReadReply(Task::kDetect, &bytes, &reply), good) << length << " of " << whole.size();
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

TEST(FrameBodyTest, PairsAreThoseOfTheirStreams) {
  const Image left = SyntheticPicture({37, 21}, 1), right = SyntheticPicture({37, 21}, 2);
  const std::string pixels[2] = {InFormat(left, client::PixelFormat::kGray8),
                                 InFormat(right, client::PixelFormat::kGray8)};
  int64_t copied = 0;
  const auto rectified = FrameBody::OfStereoPair(left, right);
  ASSERT_TRUE(rectified.ok()) << rectified.status();
  v1::StereoStreamRequest stereo;
  ASSERT_TRUE(stereo.ParseFromString(Bytes(rectified->Message(300, &copied))));
  EXPECT_EQ(stereo.pair().frame_id(), 300u);
  EXPECT_EQ(stereo.pair().left().raw().data(), pixels[0]);
  EXPECT_EQ(stereo.pair().right().raw().data(), pixels[1]);

  const auto images = FrameBody::OfPair(client::ImageInput(left), client::ImageInput(right));
  ASSERT_TRUE(images.ok()) << images.status();
  v1::MatchStreamRequest match;
  ASSERT_TRUE(match.ParseFromString(Bytes(images->Message(301, &copied))));
  EXPECT_EQ(match.pair().frame_id(), 301u);
  EXPECT_EQ(match.pair().query().image().raw().data(), pixels[0]);
  EXPECT_EQ(match.pair().train().image().raw().data(), pixels[1]);

  const std::vector<uint8_t> rows = SyntheticDescriptors(5, 1);
  const client::DescriptorInput set(DescriptorView{rows.data(), 5, 32});
  const auto sets = FrameBody::OfPair(set, set);
  ASSERT_TRUE(sets.ok()) << sets.status();
  ASSERT_TRUE(match.ParseFromString(Bytes(sets->Message(302, &copied))));
  EXPECT_EQ(match.pair().frame_id(), 302u);
  EXPECT_EQ(match.pair().query().descriptors().data(), std::string(rows.begin(), rows.end()));
  EXPECT_EQ(match.pair().train().descriptors().descriptor_bytes(), 32);
  EXPECT_LT(copied, 3 * 18);
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
