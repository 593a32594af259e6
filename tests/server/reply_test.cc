// Replies written by hand are the bytes that the generated classes write.
#include <gtest/gtest.h>

#include <string>

#include "glint/v1/envelope.pb.h"
#include "glint/v1/feature_detection.pb.h"
#include "server/operations/detect/detect_reply.h"
#include "server/wire/envelope_reply.h"
#include "tests/support/random.h"

namespace glint {
namespace {

Features RandomFeatures(int count, int descriptor_bytes, testing::Random* random) {
  Features features;
  features.Resize(static_cast<size_t>(count), descriptor_bytes);
  for (auto* floats : {&features.x, &features.y, &features.size, &features.angle, &features.response}) {
    for (float& value : *floats) value = random->Uniform(-1e6f, 1e6f);
  }
  for (int32_t& octave : features.octave) {
    octave = random->OneIn(20) ? static_cast<int32_t>(random->Bits()) : random->Uniform(0, 11);
  }
  for (uint8_t& byte : features.descriptors) byte = static_cast<uint8_t>(random->Bits());
  features.truncated = random->OneIn(2);
  return features;
}

void Fill(const Features& features, v1::ImageFeatures* proto) {
  proto->mutable_x()->Add(features.x.begin(), features.x.end());
  proto->mutable_y()->Add(features.y.begin(), features.y.end());
  proto->mutable_size()->Add(features.size.begin(), features.size.end());
  proto->mutable_angle()->Add(features.angle.begin(), features.angle.end());
  proto->mutable_response()->Add(features.response.begin(), features.response.end());
  proto->mutable_octave()->Add(features.octave.begin(), features.octave.end());
  proto->set_descriptors(features.descriptors.data(), features.descriptors.size());
  proto->set_descriptor_bytes(features.descriptor_bytes);
  proto->set_truncated(features.truncated);
}

std::string Bytes(const grpc::Slice& slice) {
  return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
}

TEST(Reply, IsWhatTheGeneratedClassesWrite) {
  testing::Random random(3);
  for (const int count : {0, 1, 2, 15, 16, 31, 32, 100, 511, 512, 5000}) {
    for (const int descriptor_bytes : {0, 32}) {
      for (const uint64_t id : {uint64_t{0}, uint64_t{1}, uint64_t{300}, ~uint64_t{0}}) {
        const Features features = RandomFeatures(count, descriptor_bytes, &random);
        v1::DetectStreamResponse stream;
        stream.set_frame_id(id);
        Fill(features, stream.mutable_features());
        EXPECT_TRUE(Bytes(SerializeDetectReply(id, features, {})) == stream.SerializeAsString()) << count << " " << id;
        v1::DetectResponse single;
        Fill(features, single.mutable_features());
        EXPECT_TRUE(Bytes(SerializeDetectReply(0, features, {})) == single.SerializeAsString()) << count;
      }
    }
  }
}

TEST(Reply, TimingsFollow) {
  v1::DetectStreamResponse response;
  response.mutable_timings()->set_detect_ns(123456789);
  response.mutable_timings()->set_device("cuda:1");
  const auto written = [&] { return Bytes(SerializeTimings(response.timings())); };
  EXPECT_EQ(written(), response.SerializeAsString());
  response.mutable_timings()->Clear();
  EXPECT_EQ(written(), response.SerializeAsString());
}

// A field added to the message has to be written above, too.
TEST(Reply, KnowsEveryField) { EXPECT_EQ(v1::ImageFeatures::descriptor()->field_count(), 9); }

}  // namespace
}  // namespace glint
