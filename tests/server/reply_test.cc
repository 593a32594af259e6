// Replies written by hand are the bytes that the generated classes write.
#include <gtest/gtest.h>

#include <string>

#include "glint/v1/envelope.pb.h"
#include "glint/v1/feature_detection.pb.h"
#include "glint/v1/tracking.pb.h"
#include "server/operations/detect/detect_reply.h"
#include "server/wire/envelope_reply.h"
#include "server/wire/reply_writer.h"
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

Rays RandomRays(int count, testing::Random* random) {
  Rays rays;
  for (auto* floats : {&rays.x, &rays.y, &rays.z}) {
    for (int i = 0; i < count; ++i) floats->push_back(random->Uniform(-1.0f, 1.0f));
  }
  return rays;
}

void Fill(const Features& features, const Rays& rays, v1::ImageFeatures* proto) {
  proto->mutable_x()->Add(features.x.begin(), features.x.end());
  proto->mutable_y()->Add(features.y.begin(), features.y.end());
  proto->mutable_size()->Add(features.size.begin(), features.size.end());
  proto->mutable_angle()->Add(features.angle.begin(), features.angle.end());
  proto->mutable_response()->Add(features.response.begin(), features.response.end());
  proto->mutable_octave()->Add(features.octave.begin(), features.octave.end());
  proto->set_descriptors(features.descriptors.data(), features.descriptors.size());
  proto->set_descriptor_bytes(features.descriptor_bytes);
  proto->set_truncated(features.truncated);
  proto->mutable_ray_x()->Add(rays.x.begin(), rays.x.end());
  proto->mutable_ray_y()->Add(rays.y.begin(), rays.y.end());
  proto->mutable_ray_z()->Add(rays.z.begin(), rays.z.end());
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
        Fill(features, Rays(), stream.mutable_features());
        EXPECT_TRUE(Bytes(SerializeDetectReply(id, features, {})) == stream.SerializeAsString()) << count << " " << id;
        v1::DetectResponse single;
        const Rays rays = RandomRays(count, &random);
        Fill(features, rays, single.mutable_features());
        EXPECT_TRUE(Bytes(SerializeDetectReply(0, features, {}, &rays)) == single.SerializeAsString()) << count;
      }
    }
  }
}

// Those of tracks have numbers of two bytes' tags.
TEST(Reply, RaysOfTracksAreWhatTheGeneratedClassesWrite) {
  testing::Random random(4);
  for (const int count : {0, 1, 31, 32, 5000}) {
    const Rays rays = RandomRays(count, &random);
    v1::CameraTracks tracks;
    tracks.mutable_ray_x()->Add(rays.x.begin(), rays.x.end());
    tracks.mutable_ray_y()->Add(rays.y.begin(), rays.y.end());
    tracks.mutable_ray_z()->Add(rays.z.begin(), rays.z.end());
    const reply::RaysWriter writer(v1::CameraTracks::kRayXFieldNumber, &rays);
    std::string written(writer.size(), '\0');
    reply::Writer out(reinterpret_cast<uint8_t*>(written.data()));
    writer.Write(&out);
    EXPECT_TRUE(written == tracks.SerializeAsString()) << count;
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
TEST(Reply, KnowsEveryField) { EXPECT_EQ(v1::ImageFeatures::descriptor()->field_count(), 12); }

}  // namespace
}  // namespace glint
