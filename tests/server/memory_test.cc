// The memory that a server says it may take is enough for what clients can make it take, and its parts are bounds.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "glint/v1/localization.grpc.pb.h"
#include "glint/v1/matching.grpc.pb.h"
#include "glint/v1/tracking.grpc.pb.h"
#include "server/memory/memory_bound.h"
#include "tests/server/harness.h"
#include "tests/support/images.h"

namespace glint::testing {
namespace {

int64_t BytesInUse() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

// Noise that makes corners everywhere.
Image Noise(int width, int height) {
  Image image(width, height);
  uint32_t state = 1;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      state = state * 1664525u + 1013904223u;
      image.row(y)[x] = static_cast<uint8_t>(state >> 24);
    }
  }
  return image;
}

// What a lane takes of one picture, then of a masked pair of as many pixels and keypoints, then of a match of as many
// descriptors: all of it is within the lane's share, which also has room for decoding.
void ExpectWithinShare(int threads) {
  const Image image = Noise(1920, 1080);
  const ImageView halves[2] = {{image.row(0), 1920, 540, image.stride()}, {image.row(540), 1920, 540, image.stride()}};
  const Image mask = Flat({1920, 540}, 255);
  const auto pixels = static_cast<int64_t>(image.shape().pixels());
  ServerOptions options;
  options.lanes.backend = Backend::kCpu;
  options.lanes.lanes = 1;
  options.lanes.threads_per_lane = threads;
  options.lanes.max_image_pixels = pixels;
  options.max_features = 20000;
  const int64_t bound = ComputeMemoryBound(options, 1).lanes;
  auto set = CreateLanes(options.lanes);
  ASSERT_TRUE(set.ok());
  Lane& lane = *set->lanes[0];
  const int64_t before = BytesInUse();
  for (const char* preset : {"orb", "oriented_fast"}) {
    DetectorOptions detector = *PresetOptions(preset);
    detector.max_features = options.max_features;
    detector.levels = 12;
    detector.scale_factor = 1.05f;  // the largest pyramid there is
    detector.fast_threshold = 1;
    detector.descriptor = Descriptor::kRbrief;
    detector.orientation = Orientation::kIntensityCentroid;
    Features features;
    StageTimes times;
    ASSERT_TRUE(lane.Run(detector, image, {}, &features, &times).ok());
    EXPECT_GT(features.count(), 10000u);
    const int64_t of_frame = BytesInUse() - before;
    detector.max_features /= 2;
    StereoPairResult found;
    ASSERT_TRUE(lane.RunStereo(detector, {}, {halves[0], halves[1], mask, mask}, &found, &times).ok());
    EXPECT_GT(found.right.count(), 5000u);
    const int64_t of_pair = BytesInUse() - before - of_frame;
    MatchOptions nearest;
    nearest.k = kMaxMatchK;
    MatchResult matches;
    const auto view = [](const Features& f) {
      return DescriptorView{f.descriptors.data(), static_cast<int>(f.count()), f.descriptor_bytes};
    };
    ASSERT_TRUE(lane.Match({view(found.left), view(found.right), {}, {}}, nearest, &matches).ok());
    const int64_t all = BytesInUse() - before;
    EXPECT_LE(all, bound) << preset;
    std::cout << preset << ", " << threads << " threads: " << of_frame / pixels << " bytes a pixel, a pair "
              << of_pair / pixels << " more, a match " << (all - of_frame - of_pair) / options.max_features
              << " bytes a descriptor; of " << bound / pixels << " a pixel\n";
  }
}

TEST(MemoryBoundTest, ALaneTakesNoMoreThanItsShare) { ExpectWithinShare(1); }
TEST(MemoryBoundTest, NorDoesOneOfTwoThreads) { ExpectWithinShare(2); }

// Every stream writes as much as it can while the lane takes nothing.
TEST(MemoryBoundTest, ClientsCannotMakeAServerExceedIt) {
  constexpr int kStreams = 6, kSide = 1000;  // a megabyte a frame
  LaneControl control;
  ServerOptions options = TestOptions();
  options.max_sessions = kStreams;
  options.max_in_flight = 8;
  options.max_message_bytes = 1 << 20;
  options.max_pending_bytes = 4 << 20;
  options.max_features = 100;
  options.lanes.max_image_pixels = kSide * kSide;
  TestServer server(options, &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  const MemoryBound bound = ComputeMemoryBound(options, 1);
  EXPECT_EQ(server->memory_bound_bytes(), bound.total());
  control.Hold(true);
  const int64_t before = BytesInUse();
  std::vector<std::unique_ptr<TestStream>> streams;
  std::vector<std::thread> writers;
  std::atomic<int> written{0};
  for (int s = 0; s < kStreams; ++s) {
    streams.push_back(std::make_unique<TestStream>(server.stub()));
    v1::DetectStreamRequest first = OptionsMessage();
    first.mutable_options()->set_overload_policy(static_cast<v1::OverloadPolicy>(1 + s % 4));
    ASSERT_TRUE(streams.back()->Write(first));
  }
  for (int s = 0; s < kStreams; ++s) {
    writers.emplace_back([&, s] {
      const v1::DetectStreamRequest frame = FrameMessage(1, kSide, kSide);
      for (int i = 0; i < 60 && streams[static_cast<size_t>(s)]->Write(frame); ++i) ++written;
    });
  }
  // Until no writer gets on. This process holds the clients' ends, too: each has its message twice, and what the
  // transport holds is its own.
  const int64_t clients = kStreams * 3 * int64_t{options.max_message_bytes};
  for (int before_pause = -1; before_pause != written;) {
    before_pause = written;
    for (int i = 0; i < 20; ++i) {
      EXPECT_LE(BytesInUse() - before, bound.total() + clients);
      absl::SleepFor(absl::Milliseconds(10));
    }
  }
  EXPECT_GT(written, kStreams);
  for (const auto& stream : streams) stream->Cancel();
  control.Hold(false);
  for (std::thread& writer : writers) writer.join();
  EXPECT_TRUE(Eventually([&] { return server->calls() == 0; }));
}

constexpr Shape kFullHd = {1920, 1080}, kHd = {1280, 720};

void SetBgr(Shape shape, v1::Image* image) {
  SetGray(3 * shape.width, shape.height, 7, image);
  image->mutable_raw()->set_format(v1::PIXEL_FORMAT_BGR8);
  image->mutable_raw()->set_width(static_cast<uint32_t>(shape.width));
}

// A stream with one frame.
template <typename Stub, typename Request, typename Response>
class CameraStream {
 public:
  CameraStream(const std::unique_ptr<Stub>& stub,
               std::unique_ptr<grpc::ClientReaderWriter<Request, Response>> (Stub::*open)(grpc::ClientContext*),
               const Request& options, const Request& frame)
      : stream_((stub.get()->*open)(&context_)) {
    stream_->Write(options);
    stream_->Write(frame);
  }
  // What is wrong with the frame or the stream, which stays open.
  std::string Error() {
    Response response;
    stream_->WaitForInitialMetadata();
    return stream_->Read(&response) ? response.status().message() : stream_->Finish().error_message();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<Request, Response>> stream_;
};

// At the same time: a stereo camera of 1920x1080 in colour, matched and located, another one that is located, and four
// cameras of 1280x720 in colour, each by itself and all in one stream.
TEST(DefaultLimitsTest, TakeTheCamerasOfARobot) {
  ServerOptions options;
  options.listen = {"unix:" + UniqueSocketPath()};
  options.metrics_listen = "";
  options.lanes.backend = Backend::kCpu;
  TestServer server(options);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(60)));

  const auto matching = v1::FeatureMatching::NewStub(server.channel());
  v1::StereoStreamRequest stereo_options, pair;
  stereo_options.mutable_options();
  SetBgr(kFullHd, pair.mutable_pair()->mutable_left());
  SetBgr(kFullHd, pair.mutable_pair()->mutable_right());
  CameraStream stereo(matching, &v1::FeatureMatching::Stub::StereoStream, stereo_options, pair);

  const auto localization = v1::Localization::NewStub(server.channel());
  v1::LocalizeStreamRequest localize_options, view;
  v1::StereoCamera& camera = *localize_options.mutable_options()->mutable_camera();
  camera.set_width(kFullHd.width);
  camera.set_height(kFullHd.height);
  camera.set_focal_length(1000);
  camera.set_centre_x(960);
  camera.set_centre_y(540);
  camera.set_baseline(0.1);
  *view.mutable_pair()->mutable_left() = pair.pair().left();
  *view.mutable_pair()->mutable_right() = pair.pair().right();
  CameraStream located(localization, &v1::Localization::Stub::LocalizeStream, localize_options, view);
  CameraStream located_too(localization, &v1::Localization::Stub::LocalizeStream, localize_options, view);

  const auto tracking = v1::FeatureTracking::NewStub(server.channel());
  v1::TrackStreamRequest track_options, images;
  track_options.mutable_options()->set_cameras(4);
  for (int i = 0; i < 4; ++i) SetBgr(kHd, images.mutable_frame()->add_images());
  CameraStream tracked(tracking, &v1::FeatureTracking::Stub::TrackStream, track_options, images);

  const auto detection = v1::FeatureDetection::NewStub(server.channel());
  v1::DetectStreamRequest frame;
  SetBgr(kHd, frame.mutable_frame()->mutable_image());
  using Detected = CameraStream<v1::FeatureDetection::Stub, v1::DetectStreamRequest, v1::DetectStreamResponse>;
  std::vector<std::unique_ptr<Detected>> detected;
  for (int i = 0; i < 4; ++i) {
    detected.push_back(
        std::make_unique<Detected>(detection, &v1::FeatureDetection::Stub::DetectStream, OptionsMessage(), frame));
  }

  EXPECT_EQ(stereo.Error(), "");
  EXPECT_EQ(located.Error(), "");
  EXPECT_EQ(located_too.Error(), "");
  EXPECT_EQ(tracked.Error(), "");
  for (const auto& stream : detected) EXPECT_EQ(stream->Error(), "");
}

}  // namespace
}  // namespace glint::testing
