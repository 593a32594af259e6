// The server as its clients and its supervisor see it, in one process: calls, streams, flow control, health, draining.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cpu/pipeline.h"
#include "features/options.h"
#include "glint/v1/envelope.pb.h"
#include "server/operations/operation.h"
#include "server/session/places.h"
#include "tests/server/harness.h"
#include "tests/server/raw_calls.h"

namespace glint::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr char kService[] = "glint.v1.FeatureDetection";
constexpr const char* kServices[] = {kService, "glint.v1.FeatureMatching", "glint.v1.FeatureTracking",
                                     "glint.v1.Localization", "glint.v1.Server"};

// ---- Real lanes.

Image Scene(int width, int height) {
  Image image(width, height);
  uint32_t state = 1;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      if (x % 7 == 0) state = state * 1664525u + 1013904223u;
      image.row(y)[x] = static_cast<uint8_t>((state >> 24) / 2 + ((x / 11 + y / 13) % 2) * 100);
    }
  }
  return image;
}

void SetImage(const Image& image, v1::Image* proto) {
  SetGray(image.width(), image.height(), 0, proto);
  for (int y = 0; y < image.height(); ++y) {
    std::memcpy(&(*proto->mutable_raw()->mutable_data())[static_cast<size_t>(y * image.width())], image.row(y),
                static_cast<size_t>(image.width()));
  }
}

template <typename T>
std::vector<T> Values(const google::protobuf::RepeatedField<T>& field) {
  return {field.begin(), field.end()};
}

void ExpectSame(const Features& expected, const v1::ImageFeatures& actual) {
  EXPECT_EQ(Values(actual.x()), expected.x);
  EXPECT_EQ(Values(actual.y()), expected.y);
  EXPECT_EQ(Values(actual.size()), expected.size);
  EXPECT_EQ(Values(actual.angle()), expected.angle);
  EXPECT_EQ(Values(actual.response()), expected.response);
  EXPECT_EQ(Values(actual.octave()), expected.octave);
  EXPECT_EQ(actual.descriptors(), std::string(expected.descriptors.begin(), expected.descriptors.end()));
  EXPECT_EQ(actual.descriptor_bytes(), expected.descriptor_bytes);
  EXPECT_EQ(actual.truncated(), expected.truncated);
}

TEST(ServerTest, AnswersWhatThePipelineFinds) {
  TestServer server(TestOptions());
  const Image scene = Scene(320, 240);
  cpu::Pipeline pipeline;
  Features expected;
  const DetectorOptions orb = *PresetOptions("orb");
  ASSERT_TRUE(pipeline.Detect(orb, scene, {}, &expected, nullptr).ok());
  ASSERT_GT(expected.count(), 100u);

  v1::DetectRequest request;
  SetImage(scene, request.mutable_image());
  v1::DetectResponse response;
  grpc::ClientContext context;
  const grpc::Status status = server.stub()->Detect(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ExpectSame(expected, response.features());

  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  for (uint64_t id = 10; id < 13; ++id) {
    v1::DetectStreamRequest frame = FrameMessage(id);
    *frame.mutable_frame()->mutable_image() = request.image();
    ASSERT_TRUE(stream.Write(frame));
    const v1::DetectStreamResponse reply = stream.Read();
    EXPECT_EQ(reply.frame_id(), id);
    EXPECT_EQ(reply.status().code(), 0);
    ExpectSame(expected, reply.features());
  }
  stream.WritesDone();
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(ServerTest, TimingsAreCompleteAndInOrder) {
  TestServer server(TestOptions());
  v1::DetectRequest request;
  SetImage(Scene(640, 480), request.mutable_image());
  v1::DetectResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(server.stub()->Detect(&context, request, &response).ok());
  const v1::Timings& t = response.timings();
  EXPECT_GT(t.receive_ns(), 0);
  EXPECT_GT(t.queue_ns(), 0);
  EXPECT_GE(t.decode_ns(), 0);
  EXPECT_GT(t.upload_ns(), 0);  // a CPU lane
  EXPECT_GT(t.detect_ns(), 0);
  EXPECT_GT(t.download_ns(), 0);
  EXPECT_EQ(t.lane(), 0);
  EXPECT_EQ(t.device(), "cpu");
}

int64_t Sum(const v1::Timings& t) {
  return t.receive_ns() + t.queue_ns() + t.decode_ns() + t.upload_ns() + t.detect_ns() + t.download_ns() +
         t.serialize_ns() + t.order_ns();
}

TEST(ServerTest, TimingsAddUpToTheTotal) {
  ServerOptions options = TestOptions();
  options.lanes.lanes = 2;
  TestServer server(options);
  int frames = 0, off = 0;
  for (const Shape shape : {Shape{320, 240}, Shape{640, 480}, Shape{1280, 720}}) {
    v1::DetectStreamRequest frame;
    SetImage(Scene(shape.width, shape.height), frame.mutable_frame()->mutable_image());
    TestStream stream(server.stub());
    ASSERT_TRUE(stream.Write(OptionsMessage()));
    std::thread writer([&] {
      for (int i = 0; i < 60; ++i) ASSERT_TRUE(stream.Write(frame));
      stream.WritesDone();
    });
    for (int i = 0; i < 60; ++i) {
      const v1::Timings t = stream.Read().timings();
      ++frames;
      EXPECT_LE(Sum(t), t.total_ns());
      off += Sum(t) < t.total_ns() * 95 / 100;
      EXPECT_LE(t.pyramid_ns() + t.corners_ns() + t.select_ns() + t.orient_ns() + t.describe_ns(),
                t.detect_ns() * 105 / 100);
      EXPECT_GT(t.corners_ns(), 0);
    }
    writer.join();
    EXPECT_TRUE(stream.Finish().ok());
  }
  // A thread that loses its processor between two stages is no stage's time.
  EXPECT_LE(off, frames / 50);
}

TEST(ServerTest, TinyImagesHaveNoKeypointsAndNoErrors) {
  TestServer server(TestOptions());
  for (const int side : {1, 2, 7, 30, 62, 63}) {
    v1::DetectResponse response;
    grpc::ClientContext context;
    const grpc::Status status = server.stub()->Detect(&context, GrayRequest(side, side), &response);
    EXPECT_TRUE(status.ok()) << side << ": " << status.error_message();
    EXPECT_EQ(response.features().x_size(), 0) << side;
  }
}

TEST(ServerTest, SaysWhatItIs) {
  ServerOptions options = TestOptions();
  options.lanes.lanes = 2;
  options.queue_capacity = 5;
  TestServer server(options);
  v1::GetServerInfoResponse info;
  grpc::ClientContext context;
  ASSERT_TRUE(server.server_stub()->GetServerInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.version(), ServerVersion());
  EXPECT_EQ(info.backend(), "cpu");
  EXPECT_FALSE(info.device().empty());
  EXPECT_EQ(info.simd(), cpu::SimdTarget());
  EXPECT_EQ(info.lanes(), 2);
  EXPECT_EQ(info.queue_capacity_frames(), 5);
  EXPECT_THAT(info.presets(), ElementsAreArray(PresetNames()));
  std::vector<std::string> methods;
  for (const OperationMethod& row : OperationMethods()) methods.push_back(absl::StrCat(row.service, "/", row.name));
  EXPECT_THAT(info.methods(), ElementsAreArray(methods));
  EXPECT_THAT(info.methods(), Contains("glint.v1.FeatureDetection/DetectStream"));
  EXPECT_FALSE(info.has_map_directory());
  EXPECT_FALSE(info.has_calibration_directory());
  EXPECT_EQ(info.usable_processors(), FindUsableProcessors().share);
  EXPECT_EQ(info.processors_source(), FindUsableProcessors().source);
  EXPECT_EQ(info.usable_memory_bytes(), FindUsableMemory().bytes);
  EXPECT_EQ(info.memory_source(), FindUsableMemory().source);
  EXPECT_GT(info.max_threads(), 0);
  EXPECT_FALSE(info.threads_source().empty());
}

TEST(ServerTest, SaysItsLimits) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.lanes.max_image_pixels = 999999;
  options.max_features = 1234;
  options.max_message_bytes = 4567890;
  options.max_match_pairs = 3456789012;
  options.max_sessions = 13;
  options.max_sessions_per_peer = 7;
  options.max_in_flight = 5;
  options.max_detect_calls = 6;
  options.max_track_streams = 3;
  options.max_track_cameras = 2;
  options.max_tracks = 777;
  options.max_track_pixels = 888832;
  options.max_localize_streams = 4;
  options.max_localize_pixels = 777778;
  options.max_map_keyframes = 321;
  options.max_map_points = 54321;
  options.max_map_bytes = 87654321;
  options.max_rectification_bytes = 7654321;
  options.stream_first_message_timeout = absl::Milliseconds(1500);
  options.stream_idle_timeout = absl::Seconds(77);
  options.shared_memory = {true, 1 << 22, 9};
  options.map_directory = ::testing::TempDir();
  options.calibration_directory = ::testing::TempDir();
  TestServer server(options, &control);
  v1::GetServerInfoResponse info;
  grpc::ClientContext context;
  ASSERT_TRUE(server.server_stub()->GetServerInfo(&context, {}, &info).ok());
  const v1::ServerLimits& limits = info.limits();
  EXPECT_EQ(limits.max_image_pixels(), 999999);
  EXPECT_EQ(limits.max_features(), 1234);
  EXPECT_EQ(limits.max_message_bytes(), 4567890);
  EXPECT_EQ(limits.max_match_pairs(), 3456789012);
  EXPECT_EQ(limits.max_sessions(), 13);
  EXPECT_EQ(limits.max_sessions_per_client(), 7);
  EXPECT_EQ(limits.max_in_flight(), 5);
  EXPECT_EQ(limits.max_detect_calls(), 6);
  EXPECT_EQ(limits.max_track_streams(), 3);
  EXPECT_EQ(limits.max_track_cameras(), 2);
  EXPECT_EQ(limits.max_tracks(), 777);
  EXPECT_EQ(limits.max_track_pixels(), 888832);
  EXPECT_EQ(limits.max_localize_streams(), 4);
  EXPECT_EQ(limits.max_localize_pixels(), 777778);
  EXPECT_EQ(limits.max_map_keyframes(), 321);
  EXPECT_EQ(limits.max_map_points(), 54321);
  EXPECT_EQ(limits.max_map_bytes(), 87654321);
  EXPECT_EQ(limits.max_rectification_bytes(), 7654321);
  EXPECT_EQ(limits.stream_first_message_timeout_ns(), 1'500'000'000);
  EXPECT_EQ(limits.stream_idle_timeout_ns(), 77'000'000'000);
  EXPECT_EQ(limits.max_shared_memory_bytes(), 1 << 22);
  EXPECT_EQ(limits.max_shared_memory_regions(), 9);
  EXPECT_TRUE(info.has_map_directory());
  EXPECT_TRUE(info.has_calibration_directory());
  // A limit that is added has to be compared above.
  EXPECT_EQ(v1::ServerLimits::descriptor()->field_count(), 22);
}

TEST(ServerTest, LimitsSayWhatOneClientMayHaveAndThatMemoryIsNotShared) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.max_sessions = 12;
  options.max_sessions_per_peer = 0;
  TestServer server(options, &control);
  v1::GetServerInfoResponse info;
  grpc::ClientContext context;
  ASSERT_TRUE(server.server_stub()->GetServerInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.limits().max_sessions_per_client(), ShareOfOnePeer(12));
  EXPECT_EQ(info.limits().max_shared_memory_bytes(), 0);
  EXPECT_EQ(info.limits().max_shared_memory_regions(), 0);
}

TEST(ServerTest, SeveralInOneProcessDoNotKnowEachOther) {
  LaneControl a, b;
  TestServer one(TestOptions(), &a);
  TestServer two(TestOptions(), &b);
  for (TestServer* server : {&one, &two, &two}) {
    grpc::ClientContext context;
    v1::DetectResponse response;
    ASSERT_TRUE(server->stub()->Detect(&context, GrayRequest(), &response).ok());
  }
  EXPECT_EQ(a.runs(), 2);  // with the warm-up
  EXPECT_EQ(b.runs(), 3);
}

TEST(ServerTest, NeedsNoSocket) {
  ServerOptions options = TestOptions();
  options.listen.clear();
  auto server = Server::Create(options);
  ASSERT_TRUE(server.ok());
  ASSERT_TRUE((*server)->Start().ok());
  {
    const auto stub = v1::FeatureDetection::NewStub((*server)->InProcessChannel());
    TestStream stream(stub.get());
    ASSERT_TRUE(stream.Write(OptionsMessage()));
    ASSERT_TRUE(stream.Write(FrameMessage(1, 1920, 1080)));  // larger than gRPC's default limit of messages
    EXPECT_EQ(stream.Read().frame_id(), 1u);
    stream.WritesDone();
    EXPECT_TRUE(stream.Finish().ok());
  }
  EXPECT_TRUE((*server)->Shutdown(absl::Seconds(10)).ok());
}

// ---- Streams.

TEST(StreamTest, RepliesComeInOrderEvenIfLanesFinishInAnother) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.lanes.lanes = 3;
  TestServer server(options, &control);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  std::thread writer([&] {
    for (uint64_t id = 1; id <= 200; ++id) {
      v1::DetectStreamRequest frame = FrameMessage(id, 16 + static_cast<int>(id));
      if (id % 5 == 0) frame.mutable_frame()->mutable_image()->mutable_raw()->set_width(0);  // fails at once
      ASSERT_TRUE(stream.Write(frame));
    }
    stream.WritesDone();
  });
  for (uint64_t id = 1; id <= 200; ++id) {
    const v1::DetectStreamResponse reply = stream.Read();
    ASSERT_EQ(reply.frame_id(), id);
    ASSERT_EQ(reply.status().code(), id % 5 == 0 ? 3 : 0);
    if (id % 5 != 0) {
      ASSERT_EQ(reply.features().x(0), static_cast<float>(16 + id));
    }
  }
  writer.join();
  stream.Read();
  EXPECT_TRUE(stream.ended());
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(StreamTest, MasksOfTheStreamAndOfTheFrame) {
  LaneControl control;
  TestServer server(TestOptions(), &control);
  TestStream stream(server.stub());
  v1::DetectStreamRequest options = OptionsMessage();
  SetGray(64, 48, 'S', options.mutable_options()->mutable_mask());
  ASSERT_TRUE(stream.Write(options));
  ASSERT_TRUE(stream.Write(FrameMessage(1)));
  EXPECT_EQ(stream.Read().features().response(0), 'S');
  v1::DetectStreamRequest frame = FrameMessage(2);
  SetGray(64, 48, 'F', frame.mutable_frame()->mutable_mask());
  ASSERT_TRUE(stream.Write(frame));
  EXPECT_EQ(stream.Read().features().response(0), 'F');
  // The stream's mask does not fit this one; its own does.
  ASSERT_TRUE(stream.Write(FrameMessage(3, 32, 48)));
  EXPECT_EQ(stream.Read().status().message(), "mask: 64x48 is not the image's 32x48");
  frame = FrameMessage(4, 32, 48);
  SetGray(32, 48, 'G', frame.mutable_frame()->mutable_mask());
  ASSERT_TRUE(stream.Write(frame));
  EXPECT_EQ(stream.Read().features().response(0), 'G');
}

TEST(StreamTest, ReadsNoMoreThanTheWindow) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.max_in_flight = 3;
  TestServer server(options, &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  control.Hold(true);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  std::atomic<int> written{0};
  // Frames of 1 MB: what gRPC's and the kernel's buffers take beyond the window is a few of them.
  std::thread writer([&] {
    for (uint64_t id = 1; id <= 40; ++id) {
      ASSERT_TRUE(stream.Write(FrameMessage(id, 1024, 1024)));
      ++written;
    }
    stream.WritesDone();
  });
  control.WaitUntilRunning(1);
  int before = -1;
  while (before != written) {  // until the writer has come to rest
    before = written;
    absl::SleepFor(absl::Milliseconds(200));
  }
  EXPECT_LT(written, 40);
  control.Hold(false);
  for (uint64_t id = 1; id <= 40; ++id) ASSERT_EQ(stream.Read().frame_id(), id);
  writer.join();
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(StreamTest, WaitsForRoomInTheQueueWithoutLosingFrames) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.queue_capacity = 1;
  options.max_in_flight = 4;
  TestServer server(options, &control);
  constexpr int kStreams = 4;
  constexpr uint64_t kFrames = 50;
  std::vector<std::thread> clients;
  for (int c = 0; c < kStreams; ++c) {
    clients.emplace_back([&server] {
      TestStream stream(server.stub());
      ASSERT_TRUE(stream.Write(OptionsMessage()));
      std::thread writer([&stream] {
        for (uint64_t id = 1; id <= kFrames; ++id) ASSERT_TRUE(stream.Write(FrameMessage(id)));
        stream.WritesDone();
      });
      for (uint64_t id = 1; id <= kFrames; ++id) {
        const v1::DetectStreamResponse reply = stream.Read();
        ASSERT_EQ(reply.frame_id(), id);
        ASSERT_EQ(reply.status().code(), 0);
      }
      writer.join();
      EXPECT_TRUE(stream.Finish().ok());
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(control.runs(), 1 + kStreams * static_cast<int>(kFrames));
}

TEST(StreamTest, MoreThanMaxSessionsAreRefused) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.max_sessions = 2;
  TestServer server(options, &control);
  TestStream one(server.stub());
  auto two = std::make_unique<TestStream>(server.stub());
  for (TestStream* stream : {&one, two.get()}) {
    ASSERT_TRUE(stream->Write(OptionsMessage()));
    ASSERT_TRUE(stream->Write(FrameMessage(1)));
    EXPECT_EQ(stream->Read().frame_id(), 1u);
  }
  EXPECT_EQ(server->sessions(), 2);
  TestStream three(server.stub());
  three.Read();
  const grpc::Status refused = three.Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.error_message(),
            "sessions: 3 is over this server's limit of 2 (--max-sessions); end a stream, or try again later");
  // The other streams are unaffected, and a freed session slot can be taken.
  ASSERT_TRUE(one.Write(FrameMessage(2)));
  EXPECT_EQ(one.Read().frame_id(), 2u);
  two.reset();
  EXPECT_TRUE(Eventually([&] { return server->sessions() == 1; }));
  TestStream four(server.stub());
  ASSERT_TRUE(four.Write(OptionsMessage()));
  ASSERT_TRUE(four.Write(FrameMessage(3)));
  EXPECT_EQ(four.Read().frame_id(), 3u);
}

TEST(DetectTest, IsRefusedWhenTheQueueIsFull) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.queue_capacity = 1;
  TestServer server(options, &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  control.Hold(true);
  std::vector<std::thread> clients;
  std::atomic<int> good{0};
  for (int i = 0; i < 2; ++i) {  // one on the lane, one in the queue
    clients.emplace_back([&] {
      grpc::ClientContext context;
      v1::DetectResponse response;
      if (server.stub()->Detect(&context, GrayRequest(), &response).ok()) ++good;
    });
    control.WaitUntilRunning(1);
  }
  grpc::Status refused;
  // Until the second is queued there is room.
  ASSERT_TRUE(Eventually([&] { return server->frames_waiting() == 1; }));
  grpc::ClientContext context;
  v1::DetectResponse response;
  refused = server.stub()->Detect(&context, GrayRequest(), &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.error_message(), "queue: full (--queue-capacity or --max-pending-bytes); try again later");
  control.Hold(false);
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(good, 2);
}

TEST(DetectTest, MoreThanMaxDetectCallsAreRefusedUnread) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.max_detect_calls = 1;
  TestServer server(options, &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  control.Hold(true);
  auto first = std::make_unique<RawCall>(Dial(server->addresses().at(0)), "/glint.v1.FeatureDetection/Detect");
  ASSERT_TRUE(first->Write(GrayRequest().SerializeAsString()));
  control.WaitUntilRunning(1);
  const auto detect = [&](grpc::ClientContext* context, int side) {
    v1::DetectResponse response;
    return server.stub()->Detect(context, GrayRequest(side, side), &response);
  };
  grpc::ClientContext refused_context;
  const grpc::Status refused = detect(&refused_context, 2000);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.error_message(), "calls: too many of Detect and Match (--max-detect-calls); try again later");
  EXPECT_EQ(refused_context.GetServerTrailingMetadata().count("grpc-retry-pushback-ms"), 1u);
  control.Hold(false);
  first.reset();
  ASSERT_TRUE(Eventually([&] { return server->calls() == 0; }));
  for (int i = 0; i < 3; ++i) {
    grpc::ClientContext context;
    EXPECT_TRUE(detect(&context, 2000).ok());
  }
}

TEST(DetectTest, ALaneErrorFailsOneFrameOnly) {
  LaneControl control;
  TestServer server(TestOptions(), &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  control.Fail(absl::ResourceExhaustedError("out of device memory"));
  ASSERT_TRUE(stream.Write(FrameMessage(1)));
  const v1::DetectStreamResponse bad = stream.Read();
  EXPECT_EQ(bad.status().code(), static_cast<int>(grpc::StatusCode::RESOURCE_EXHAUSTED));
  EXPECT_EQ(bad.status().message(), "out of device memory");
  EXPECT_FALSE(bad.has_features());
  EXPECT_EQ(bad.timings().device(), "fake:0");
  control.Fail(absl::OkStatus());
  ASSERT_TRUE(stream.Write(FrameMessage(2)));
  EXPECT_EQ(stream.Read().features().x_size(), 1);
  EXPECT_TRUE(server->serving());
}

// ---- Health and reflection.

TEST(HealthTest, NotServingUntilAWarmUpFrameHasPassedEachLane) {
  LaneControl control;
  control.Hold(true);
  ServerOptions options = TestOptions();
  options.lanes.lanes = 2;
  TestServer server(options, &control);
  EXPECT_EQ(CheckHealth(server.channel()), kNotServing);
  for (const char* service : kServices) EXPECT_EQ(CheckHealth(server.channel(), service), kNotServing) << service;
  EXPECT_FALSE(server->serving());
  std::vector<std::unique_ptr<RawCall>> watches;
  for (const char* service : kServices) {
    watches.push_back(std::make_unique<RawCall>(server.channel(), kHealthWatch));
    watches.back()->Write(HealthRequest(service));
    watches.back()->WritesDone();
    EXPECT_EQ(watches.back()->Read(), kNotServing) << service;
  }
  control.Hold(false);
  for (const auto& watch : watches) EXPECT_EQ(watch->Read(), kServing);
  EXPECT_EQ(CheckHealth(server.channel()), kServing);
  for (const char* service : kServices) EXPECT_EQ(CheckHealth(server.channel(), service), kServing) << service;
  EXPECT_TRUE(server->WaitUntilServing(absl::ZeroDuration()));
}

TEST(HealthTest, UnknownServicesAreNotFound) {
  LaneControl control;
  TestServer server(TestOptions(), &control);
  RawCall call(server.channel(), kHealthCheck);
  call.Write(HealthRequest("no.such.Service"));
  call.WritesDone();
  EXPECT_EQ(call.Read(), std::nullopt);
  const grpc::Status status = call.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  v1::StatusDetails details;
  v1::ErrorInfo info;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  ASSERT_EQ(details.details_size(), 1);
  ASSERT_TRUE(info.ParseFromString(details.details(0).value()));
  EXPECT_EQ(info.reason(), "NOT_FOUND");
  EXPECT_EQ(info.metadata().at("field"), "service");
  EXPECT_EQ(info.metadata().at("value"), "no.such.Service");
}

TEST(HealthTest, ALostDeviceIsNotServingAndEndsWait) {
  LaneControl control;
  TestServer server(TestOptions(), &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  RawCall watch(server.channel(), kHealthWatch);
  watch.Write(HealthRequest());
  watch.WritesDone();
  EXPECT_EQ(watch.Read(), kServing);
  control.Fail(absl::InternalError("an illegal memory access"), absl::InternalError("the context is gone"));
  grpc::ClientContext context;
  v1::DetectResponse response;
  const grpc::Status status = server.stub()->Detect(&context, GrayRequest(), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(status.error_message(), "an illegal memory access");
  EXPECT_EQ(watch.Read(), kNotServing);
  const absl::Status why = server->Wait();
  EXPECT_EQ(why.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(why.message(), "lane 0 on fake:0: the device is lost: the context is gone");
  EXPECT_TRUE(server->Shutdown(absl::Seconds(10)).ok());
}

// Two devices with two lanes each.
TEST(HealthTest, ALostDeviceTakesItsLanesOutAndTheOthersGoOn) {
  LaneControl good, bad;
  ServerOptions options = TestOptions();
  options.metrics_listen = "127.0.0.1:0";
  options.create_lanes = [&](const LaneOptions&) -> absl::StatusOr<LaneSet> {
    LaneSet set;
    for (int i = 0; i < 2; ++i) {
      set.lanes.push_back(std::make_unique<FakeLane>(&bad, "fake:0"));
      set.lanes.push_back(std::make_unique<FakeLane>(&good, "fake:1"));
    }
    return set;
  };
  TestServer server(options);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  v1::GetServerInfoResponse info;
  grpc::ClientContext info_context;
  ASSERT_TRUE(server.server_stub()->GetServerInfo(&info_context, {}, &info).ok());
  EXPECT_THAT(info.devices(), ::testing::ElementsAre("fake:0", "fake:1"));
  // A frame for each of the four lanes.
  good.Hold(true);
  bad.Hold(true);
  bad.Fail(absl::InternalError("an illegal memory access"), absl::InternalError("the context is gone"));
  std::vector<std::unique_ptr<TestStream>> streams;
  for (int i = 0; i < 4; ++i) {
    streams.push_back(std::make_unique<TestStream>(server.stub()));
    ASSERT_TRUE(streams.back()->Write(OptionsMessage()));
    ASSERT_TRUE(streams.back()->Write(FrameMessage(1)));
  }
  good.WaitUntilRunning(2);
  bad.WaitUntilRunning(2);
  good.Hold(false);
  bad.Hold(false);
  int failed = 0;
  for (const auto& one : streams) {
    const v1::DetectStreamResponse reply = one->Read();
    if (reply.status().code() == 0) continue;
    ++failed;
    EXPECT_EQ(reply.timings().device(), "fake:0");
  }
  EXPECT_EQ(failed, 2);
  // The server goes on.
  TestStream& stream = *streams.front();
  for (uint64_t id = 2; id <= 100; ++id) {
    ASSERT_TRUE(stream.Write(FrameMessage(id)));
    EXPECT_EQ(stream.Read().status().code(), 0);
  }
  EXPECT_TRUE(server->serving());
  good.Fail(absl::InternalError("an illegal memory access"), absl::InternalError("the other context is gone"));
  ASSERT_TRUE(stream.Write(FrameMessage(101)));
  EXPECT_NE(stream.Read().status().code(), 0);
  EXPECT_THAT(std::string(server->Wait().message()), HasSubstr("on fake:1: the device is lost"));
  EXPECT_FALSE(server->serving());
  // What comes now is refused, not forgotten.
  ASSERT_TRUE(stream.Write(FrameMessage(102)));
  EXPECT_THAT(stream.Read().status().message(), HasSubstr("on fake:1: the device is lost"));
}

TEST(HealthTest, AFailedWarmUpEndsWait) {
  LaneControl control;
  control.Fail(absl::InternalError("bad kernel image"));
  TestServer server(TestOptions(), &control);
  EXPECT_FALSE(server->WaitUntilServing(absl::Seconds(10)));
  EXPECT_EQ(server->Wait().message(), "lane 0 on fake:0: the warm-up frame failed: bad kernel image");
  EXPECT_EQ(CheckHealth(server.channel()), kNotServing);
}

TEST(ReflectionTest, ListsTheServices) {
  LaneControl control;
  TestServer server(TestOptions(), &control);
  RawCall call(server.channel(), kReflection);
  call.Write("\x3a\x01*");  // ServerReflectionRequest.list_services is field 7
  const std::optional<std::string> services = call.Read();
  ASSERT_TRUE(services.has_value());
  for (const char* service : kServices) EXPECT_THAT(*services, HasSubstr(service));
  EXPECT_THAT(*services, HasSubstr("grpc.health.v1.Health"));
  call.Write(std::string("\x22\x19") + kService);  // file_containing_symbol is field 4
  const std::optional<std::string> file = call.Read();
  ASSERT_TRUE(file.has_value());
  EXPECT_THAT(*file, HasSubstr("DetectStreamRequest"));
}

// ---- Draining.

TEST(DrainTest, AnswersWhatItHasTakenAndRefusesTheRest) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.max_in_flight = 3;
  TestServer server(options, &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  control.Hold(true);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  for (uint64_t id = 1; id <= 3; ++id) ASSERT_TRUE(stream.Write(FrameMessage(id)));
  TestStream idle(server.stub());
  ASSERT_TRUE(idle.Write(OptionsMessage()));
  ASSERT_TRUE(Eventually([&] { return server->sessions() == 2; }));
  v1::DetectResponse unary_response;
  grpc::Status unary_status;
  std::thread unary([&] {
    grpc::ClientContext context;
    unary_status = server.stub()->Detect(&context, GrayRequest(), &unary_response);
  });
  ASSERT_TRUE(Eventually([&] { return server->calls() == 3; }));
  RawCall watch(server.channel(), kHealthWatch);
  watch.Write(HealthRequest());
  watch.WritesDone();
  EXPECT_EQ(watch.Read(), kServing);
  // What has not been read is not taken.
  ASSERT_TRUE(Eventually([&] { return server->frames_in_flight() == 4; }));

  absl::Status drained;
  std::thread shutdown([&] { drained = server->Shutdown(absl::Seconds(30)); });
  EXPECT_EQ(watch.Read(), kNotServing);
  // A new call is refused; health can still be asked, on a new connection too.
  grpc::ClientContext context;
  v1::DetectResponse response;
  const grpc::Status refused = server.stub()->Detect(&context, GrayRequest(), &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(refused.error_message(), "the server is draining");
  EXPECT_EQ(CheckHealth(Dial(server->addresses()[0])), kNotServing);
  // The idle stream is told.
  idle.Read();
  EXPECT_TRUE(idle.ended());
  EXPECT_EQ(idle.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);

  control.Hold(false);
  for (uint64_t id = 1; id <= 3; ++id) {
    const v1::DetectStreamResponse reply = stream.Read();
    EXPECT_EQ(reply.frame_id(), id);
    EXPECT_EQ(reply.status().code(), 0);
  }
  stream.Read();
  EXPECT_TRUE(stream.ended());
  const grpc::Status end = stream.Finish();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(end.error_message(), "the server is draining");
  unary.join();
  EXPECT_TRUE(unary_status.ok()) << unary_status.error_message();
  shutdown.join();
  EXPECT_TRUE(drained.ok()) << drained;
  EXPECT_EQ(control.runs(), 5);  // the warm-up, three frames, one call
}

TEST(DrainTest, CutsOffWhatTakesLonger) {
  LaneControl control;
  TestServer server(TestOptions(), &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  control.Hold(true);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  ASSERT_TRUE(stream.Write(FrameMessage(1)));
  control.WaitUntilRunning(1);
  absl::Status drained;
  std::thread shutdown([&] { drained = server->Shutdown(absl::Milliseconds(50)); });
  stream.Read();
  EXPECT_TRUE(stream.ended());
  EXPECT_FALSE(stream.Finish().ok());
  control.Hold(false);
  shutdown.join();
  EXPECT_EQ(drained.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(drained.message(), "1 calls had not ended after 50ms");
}

TEST(DrainTest, TwiceIsOnce) {
  LaneControl control;
  TestServer server(TestOptions(), &control);
  server->RequestShutdown();
  EXPECT_TRUE(server->Wait().ok());
  EXPECT_TRUE(server->Shutdown(absl::Seconds(1)).ok());
  EXPECT_TRUE(server->Shutdown(absl::Seconds(1)).ok());
  EXPECT_FALSE(server->serving());
}

// ---- Listening.

absl::Status StartOn(const std::string& address) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.listen = {address};
  options.create_lanes = FakeLanes(&control);
  auto server = Server::Create(options);
  if (!server.ok()) return server.status();
  return (*server)->Start();
}

TEST(ListenTest, APortInUseIsAnError) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.listen.push_back("127.0.0.1:0");
  TestServer server(options, &control);
  ASSERT_EQ(server->addresses().size(), 2u);
  const std::string taken = server->addresses()[1];
  EXPECT_THAT(taken, ::testing::Not(HasSubstr(":0")));
  const absl::Status status = StartOn(taken);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "listen: cannot listen on " + taken + ": Address already in use");
  const absl::Status socket = StartOn(server->addresses()[0]);
  EXPECT_EQ(socket.message(), "listen: cannot listen on " + server->addresses()[0] + ": Address already in use");
  // The first server is none the worse.
  EXPECT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  EXPECT_EQ(CheckHealth(Dial(taken)), kServing);
  EXPECT_EQ(CheckHealth(server.channel()), kServing);
}

TEST(ListenTest, AStaleSocketIsReplacedAndAFileIsNot) {
  const std::string path = UniqueSocketPath();
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  std::strncpy(name.sun_path, path.c_str(), sizeof(name.sun_path) - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  close(fd);  // what a killed server leaves behind
  EXPECT_TRUE(StartOn("unix:" + path).ok());

  std::ofstream(path) << "not a socket";
  EXPECT_EQ(StartOn("unix:" + path).message(),
            "listen: cannot listen on unix:" + path + ": a file of that name exists and is not a socket");
  std::remove(path.c_str());
}

TEST(ListenTest, AHostThatIsNotOursIsAnError) {
  const absl::Status status = StartOn("192.0.2.1:0");  // TEST-NET-1
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "listen: cannot listen on 192.0.2.1:0: Cannot assign requested address");
}

}  // namespace
}  // namespace glint::testing
