// TrackStream through a server whose lanes are a GPU's: its tracks are, bit for bit, the reference's. Skips without a
// usable GPU and says why.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "client/client.h"
#include "client/shared_memory.h"
#include "tests/server/gpu_lanes.h"
#include "tests/server/harness.h"
#include "tests/server/reference_tracks.h"
#include "tests/support/images.h"

namespace glint::testing {
namespace {

// `ring`: where the pixels are put for the server; null: they are sent.
client::ImageInput InputOf(const ImageView& image, client::SharedMemoryRing* ring) {
  if (ring == nullptr) return image;
  client::SharedSlot slot = ring->Acquire();
  constexpr int kGap = 3;  // between the rows
  for (int y = 0; y < image.height; ++y) {
    std::memcpy(slot.data() + y * (image.width + kGap), image.row(y), static_cast<size_t>(image.width));
  }
  return client::ImageInput::Shared(std::move(slot), PixelFormat::kGray8, image.width, image.height,
                                    image.width + kGap);
}

void ExpectTheReference(int template_frames, bool shared) {
  ServerOptions server_options = TestOptions();
  server_options.lanes.backend = Backend::kCuda;
  server_options.lanes.lanes = 2;
  server_options.shared_memory.enabled = true;
  TestServer server(server_options);
  const auto connected = client::Client::Connect(server->addresses().at(0));
  ASSERT_TRUE(connected.ok()) << connected.status();
  const client::Client& client = *connected;
  std::unique_ptr<client::SharedMemoryRing> ring;
  if (shared) {
    auto made = client.ShareMemory({});
    ASSERT_TRUE(made.ok()) << made.status();
    ring = *std::move(made);
  }
  client::TrackStreamOptions options;
  options.cameras = 2;
  options.target = 100;
  options.min_share = 1;
  options.predict = true;
  options.template_frames = template_frames;
  options.track.intensity = IntensityModel::kGainAndOffset;
  options.track.max_backward_error = 1;
  std::vector<client::TrackAnswer> answers;
  const auto stream =
      client.OpenTrackStream(options, [&](const client::TrackAnswer& answer) { answers.push_back(answer); });
  ASSERT_TRUE(stream.ok()) << stream.status();

  const Image wide = Texture({640, 300}, 3);
  std::vector<std::vector<ImageView>> frames;
  for (int i = 0; i < 8; ++i) {
    const int width = i < 5 ? 400 : 320;  // the second camera changes its size
    frames.push_back({ImageView{wide.row(i) + 3 * i, 500, 280, wide.stride()},
                      ImageView{wide.row(2 * i) + 5, width, 240, wide.stride()}});
  }
  for (size_t i = 0; i < frames.size(); ++i) {
    ASSERT_TRUE((*stream)
                    ->Write(i, {InputOf(frames[i][0], ring.get()), InputOf(frames[i][1], ring.get())},
                            static_cast<int64_t>(1000 + 10 * i * i))
                    .ok());
  }
  ASSERT_TRUE((*stream)->Finish().ok());
  ASSERT_EQ(answers.size(), frames.size());

  TrackingOptions same;
  same.detector = options.detector;
  same.track = options.track;
  same.cameras = 2;
  same.target = 100;
  same.min_share = 1;
  same.predict = true;
  same.template_frames = template_frames;
  ReferenceTracks reference(same);
  for (size_t i = 0; i < frames.size(); ++i) {
    SCOPED_TRACE(i);
    const std::vector<CameraTracks>& expected = reference.Frame(frames[i], static_cast<int64_t>(1000 + 10 * i * i));
    ASSERT_EQ(answers[i].cameras.size(), 2u) << answers[i].status;
    for (size_t c = 0; c < 2; ++c) {
      const client::TrackArrays& actual = answers[i].cameras[c];
      EXPECT_EQ(expected[c].id, actual.id);
      EXPECT_EQ(std::vector<int32_t>(expected[c].age.begin(), expected[c].age.end()), actual.age);
      EXPECT_EQ(expected[c].state, actual.state);
      EXPECT_EQ(expected[c].x, actual.x);
      EXPECT_EQ(expected[c].y, actual.y);
      EXPECT_EQ(expected[c].residual, actual.residual);
      EXPECT_EQ(expected[c].gain, actual.gain);
      EXPECT_EQ(expected[c].offset, actual.offset);
    }
    EXPECT_EQ(answers[i].timings.device.substr(0, 5), "cuda:");
  }
  EXPECT_GT(reference.session()->live(), 50u);
}

TEST(GpuTracking, AnswersAsTheReference) {
  if (const auto set = OneGpuLane(); !set.ok()) GTEST_SKIP() << set.status().message();
  for (const int template_frames : {0, 1, 3}) {
    SCOPED_TRACE(template_frames);
    ExpectTheReference(template_frames, /*shared=*/false);
  }
}

TEST(GpuTracking, SharedPixelsAreReadWhereTheyLie) {
  if (const auto set = OneGpuLane(); !set.ok()) GTEST_SKIP() << set.status().message();
  ExpectTheReference(/*template_frames=*/0, /*shared=*/true);
}

}  // namespace
}  // namespace glint::testing
