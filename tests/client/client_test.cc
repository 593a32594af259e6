// The client library's calls against a server that a test controls: what goes over the wire, and what errors become of.
#include "client/client.h"

#include <future>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "features/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake_server.h"
#include "tests/support/images.h"
#include "tests/support/options.h"

namespace glint::client {
namespace {

using ::glint::testing::Noise;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ClientTest, SendsTheOptionsThatDifferFromThePreset) {
  FakeServer server;
  v1::DetectorOptions seen;
  server.on_detect = [&seen](const v1::DetectRequest& request, v1::DetectResponse*) {
    seen = request.detector();
    return grpc::Status::OK;
  };
  const Client client = server.Connect();
  DetectorOptions options;
  options.levels = 3;
  options.scale_factor = 1.7f;
  options.fast_threshold = 33;
  options.arc_length = 12;
  options.max_features = 1234;
  options.edge_threshold = 17;
  options.patch_size = 23;
  options.descriptor = Descriptor::kRbrief;
  ASSERT_TRUE(client.Detect(options, Noise({8, 8}, 1)).ok());
  v1::DetectorOptions expected;
  expected.set_levels(3);
  expected.set_scale_factor(1.7f);
  expected.set_fast_threshold(33);
  expected.set_arc_length(12);
  expected.set_max_features(1234);
  expected.set_edge_threshold(17);
  expected.set_patch_size(23);
  EXPECT_EQ(seen.DebugString(), expected.DebugString());

  options.score = Score::kHarris;
  options.ranking = Ranking::kScore;
  options.orientation = Orientation::kNone;
  options.descriptor = Descriptor::kNone;
  ASSERT_TRUE(client.Detect(options, Noise({8, 8}, 1)).ok());
  expected.set_preset("oriented_fast");
  expected.set_orientation(v1::ORIENTATION_NONE);
  EXPECT_EQ(seen.DebugString(), expected.DebugString());
}

struct FormatCase {
  PixelFormat format;
  v1::PixelFormat wire;
  int bytes;
};

class ClientFormatTest : public ::testing::TestWithParam<FormatCase> {};

TEST_P(ClientFormatTest, SendsRowsWithoutWhatLiesBetweenThem) {
  const FormatCase& format = GetParam();
  EXPECT_EQ(BytesPerPixel(format.format), format.bytes);
  FakeServer server;
  v1::Image seen;
  server.on_detect = [&seen](const v1::DetectRequest& request, v1::DetectResponse*) {
    seen = request.image();
    return grpc::Status::OK;
  };
  const Client client = server.Connect();
  const int row = 5 * format.bytes;
  const int rows = format.format == PixelFormat::kNv12 ? 6 : 4;
  std::vector<uint8_t> memory(static_cast<size_t>(row + 3) * static_cast<size_t>(rows));
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<uint8_t>(i);

  for (const int stride : {row, row + 3, -(row + 3)}) {
    const uint8_t* top = stride > 0 ? memory.data() : memory.data() + (rows - 1) * (row + 3);
    ASSERT_TRUE(client.Detect({}, ImageInput::Raw(format.format, top, 5, 4, stride)).ok());
    EXPECT_EQ(seen.raw().format(), format.wire);
    EXPECT_EQ(seen.raw().width(), 5u);
    EXPECT_EQ(seen.raw().height(), 4u);
    EXPECT_EQ(seen.raw().stride(), 0u);
    std::string expected;
    for (int y = 0; y < rows; ++y) expected.append(reinterpret_cast<const char*>(top + y * stride), row);
    EXPECT_EQ(seen.raw().data(), expected) << "stride " << stride;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, ClientFormatTest,
                         ::testing::Values(FormatCase{PixelFormat::kGray8, v1::PIXEL_FORMAT_GRAY8, 1},
                                           FormatCase{PixelFormat::kBgr8, v1::PIXEL_FORMAT_BGR8, 3},
                                           FormatCase{PixelFormat::kRgb8, v1::PIXEL_FORMAT_RGB8, 3},
                                           FormatCase{PixelFormat::kBgra8, v1::PIXEL_FORMAT_BGRA8, 4},
                                           FormatCase{PixelFormat::kRgba8, v1::PIXEL_FORMAT_RGBA8, 4},
                                           FormatCase{PixelFormat::kNv12, v1::PIXEL_FORMAT_NV12, 1},
                                           FormatCase{PixelFormat::kYuyv, v1::PIXEL_FORMAT_YUYV, 2},
                                           FormatCase{PixelFormat::kGray16, v1::PIXEL_FORMAT_GRAY16, 2},
                                           FormatCase{PixelFormat::kBayerRggb8, v1::PIXEL_FORMAT_BAYER_RGGB8, 1}));

TEST(ClientTest, SendsFilesAndMasksAsTheyAre) {
  FakeServer server;
  v1::DetectRequest seen;
  server.on_detect = [&seen](const v1::DetectRequest& request, v1::DetectResponse*) {
    seen = request;
    return grpc::Status::OK;
  };
  const Client client = server.Connect();
  const std::string file("\xff\xd8\0not really", 13);
  ASSERT_TRUE(client.Detect({}, ImageInput::Encoded(file)).ok());
  EXPECT_EQ(seen.image().encoded().data(), file);
  EXPECT_FALSE(seen.has_mask());

  const Image mask = Noise({6, 2}, 4);
  ASSERT_TRUE(client.Detect({}, Noise({6, 2}, 3), mask).ok());
  EXPECT_EQ(seen.mask().raw().width(), 6u);
  EXPECT_EQ(seen.mask().raw().data().size(), 12u);
}

TEST(ClientTest, SendsAnEightKFrameOfFourBytesAPixelWithItsMask) {
  FakeServer server;
  size_t seen = 0;
  server.on_detect = [&seen](const v1::DetectRequest& request, v1::DetectResponse*) {
    seen = request.image().raw().data().size() + request.mask().raw().data().size();
    return grpc::Status::OK;
  };
  const std::vector<uint8_t> pixels(size_t{7680} * 4320 * 4);
  const ImageInput image = ImageInput::Raw(PixelFormat::kBgra8, pixels.data(), 7680, 4320, 7680 * 4);
  const ImageInput mask = ImageInput::Raw(PixelFormat::kGray8, pixels.data(), 7680, 4320, 7680);
  const auto found = server.Connect().Detect({}, image, mask);
  EXPECT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(seen, size_t{7680} * 4320 * 5);
}

TEST(ClientTest, RefusesWhatIsNoImage) {
  FakeServer server;
  const Client client = server.Connect();
  const uint8_t pixel = 0;
  EXPECT_THAT(client.Detect({}, ImageInput()).status().ToString(), HasSubstr("image: no image was given"));
  for (const ImageInput& image :
       {ImageInput::Raw(PixelFormat::kGray8, nullptr, 4, 4, 4), ImageInput::Raw(PixelFormat::kGray8, &pixel, 0, 4, 4),
        ImageInput::Raw(PixelFormat::kGray8, &pixel, 4, -1, 4)}) {
    EXPECT_TRUE(absl::IsInvalidArgument(client.Detect({}, image).status()));
  }
}

TEST(ClientTest, ReturnsFeaturesAndTimings) {
  FakeServer server;
  server.on_detect = [](const v1::DetectRequest&, v1::DetectResponse* response) {
    SetKeypoints(3, response->mutable_features());
    response->mutable_features()->set_truncated(true);
    v1::Timings* t = response->mutable_timings();
    t->set_receive_ns(1);
    t->set_queue_ns(2);
    t->set_decode_ns(3);
    t->set_upload_ns(4);
    t->set_detect_ns(5);
    t->set_download_ns(6);
    t->set_total_ns(7);
    t->set_lane(8);
    t->set_device("cuda:0");
    t->set_queue_depth(9);
    t->set_match_ns(10);
    t->set_track_ns(11);
    t->set_locate_ns(12);
    t->set_adjust_ns(13);
    return grpc::Status::OK;
  };
  const auto found = server.Connect().Detect({}, Noise({8, 8}, 1));
  ASSERT_TRUE(found.ok()) << found.status();
  const Features& f = found->features;
  EXPECT_THAT(f.x, ElementsAre(0.1f, 1.1f, 2.1f));
  EXPECT_THAT(f.y, ElementsAre(0.2f, 1.2f, 2.2f));
  EXPECT_THAT(f.size, ElementsAre(0.3f, 1.3f, 2.3f));
  EXPECT_THAT(f.angle, ElementsAre(0.4f, 1.4f, 2.4f));
  EXPECT_THAT(f.response, ElementsAre(0.5f, 1.5f, 2.5f));
  EXPECT_THAT(f.octave, ElementsAre(0, 1, 2));
  EXPECT_EQ(f.descriptors, std::vector<uint8_t>(96, 0x5a));
  EXPECT_EQ(f.descriptor_bytes, 32);
  EXPECT_TRUE(f.truncated);
  const Timings& t = found->timings;
  EXPECT_THAT(
      (std::vector<int64_t>{t.receive_ns, t.queue_ns, t.decode_ns, t.upload_ns, t.detect_ns, t.download_ns, t.total_ns,
                            t.lane, t.queue_depth, t.match_ns, t.track_ns, t.locate_ns, t.adjust_ns}),
      ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13));
  EXPECT_EQ(t.device, "cuda:0");
  EXPECT_GT(found->round_trip, absl::ZeroDuration());
}

TEST(ClientTest, RefusesArraysOfDifferentLength) {
  FakeServer server;
  int broken = 0;
  server.on_detect = [&broken](const v1::DetectRequest&, v1::DetectResponse* response) {
    v1::ImageFeatures* f = response->mutable_features();
    SetKeypoints(3, f);
    switch (broken) {
      case 0:
        f->add_x(0);
        break;
      case 1:
        f->add_octave(0);
        break;
      case 2:
        f->mutable_descriptors()->pop_back();
        break;
      case 3:
        f->set_descriptor_bytes(-1);
        break;
    }
    return grpc::Status::OK;
  };
  const Client client = server.Connect();
  for (broken = 0; broken < 4; ++broken) {
    EXPECT_EQ(client.Detect({}, Noise({8, 8}, 1)).status().code(), absl::StatusCode::kInternal) << broken;
  }
  EXPECT_TRUE(client.Detect({}, Noise({8, 8}, 1)).ok());
}

Camera SmallCamera() {
  Camera camera;
  camera.model = CameraModel::kKannalaBrandt;
  camera.image = {8, 8};
  camera.fx = 6;
  camera.fy = 7;
  camera.cx = 3;
  camera.cy = 4;
  camera.lens = {0.01, 0.02, 0.03, 0.04};
  return camera;
}

void ExpectSmallCamera(const v1::Camera& wire) {
  EXPECT_EQ(wire.width(), 8u);
  EXPECT_EQ(wire.height(), 8u);
  EXPECT_EQ((std::vector<double>{wire.fx(), wire.fy(), wire.cx(), wire.cy()}), (std::vector<double>{6, 7, 3, 4}));
  EXPECT_EQ(wire.kannala_brandt().k1(), 0.01);
  EXPECT_EQ(wire.kannala_brandt().k4(), 0.04);
}

TEST(ClientTest, SendsTheCameraAndReturnsTheRays) {
  FakeServer server;
  server.on_detect = [](const v1::DetectRequest& request, v1::DetectResponse* response) {
    SetKeypoints(3, response->mutable_features());
    if (!request.has_camera()) return grpc::Status::OK;
    ExpectSmallCamera(request.camera());
    for (const float x : {0.25f, 0.5f, 0.0f}) {
      response->mutable_features()->add_ray_x(x);
      response->mutable_features()->add_ray_y(2 * x);
      response->mutable_features()->add_ray_z(3 * x);
    }
    return grpc::Status::OK;
  };
  const Client client = server.Connect();
  const auto found = client.Detect({}, Noise({8, 8}, 1), {}, kDefaultCallTimeout, "", {}, SmallCamera());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->rays.x, ElementsAre(0.25f, 0.5f, 0));
  EXPECT_THAT(found->rays.y, ElementsAre(0.5f, 1, 0));
  EXPECT_THAT(found->rays.z, ElementsAre(0.75f, 1.5f, 0));
  const auto plain = client.Detect({}, Noise({8, 8}, 1));
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_TRUE(plain->rays.x.empty() && plain->rays.y.empty() && plain->rays.z.empty());
}

// An older server, which does not know the camera, sends no rays.
TEST(ClientTest, RefusesRaysThatAreNotOneForEachKeypoint) {
  FakeServer server;
  int sent[3];
  server.on_detect = [&sent](const v1::DetectRequest&, v1::DetectResponse* response) {
    v1::ImageFeatures* const f = response->mutable_features();
    SetKeypoints(3, f);
    for (int i = 0; i < sent[0]; ++i) f->add_ray_x(1);
    for (int i = 0; i < sent[1]; ++i) f->add_ray_y(1);
    for (int i = 0; i < sent[2]; ++i) f->add_ray_z(1);
    return grpc::Status::OK;
  };
  const Client client = server.Connect();
  const auto status = [&](int x, int y, int z, bool wanted) {
    sent[0] = x, sent[1] = y, sent[2] = z;
    const auto camera = wanted ? std::optional<Camera>(SmallCamera()) : std::nullopt;
    return client.Detect({}, Noise({8, 8}, 1), {}, kDefaultCallTimeout, "", {}, camera).status();
  };
  EXPECT_TRUE(status(3, 3, 3, true).ok());
  EXPECT_EQ(status(2, 3, 3, true).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status(3, 4, 3, true).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status(3, 3, 0, true).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status(3, 3, 3, false).code(), absl::StatusCode::kInternal);
  const absl::Status none = status(0, 0, 0, true);
  EXPECT_EQ(none.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(none.message(), HasSubstr("the server has sent none"));
  EXPECT_TRUE(status(0, 0, 0, false).ok());
}

TEST(ClientTest, PassesErrorsOn) {
  FakeServer server;
  server.on_detect = [](const v1::DetectRequest&, v1::DetectResponse*) {
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "image.pixels: too many");
  };
  const absl::Status status = server.Connect().Detect({}, Noise({8, 8}, 1)).status();
  EXPECT_EQ(status, absl::ResourceExhaustedError("image.pixels: too many"));
  EXPECT_FALSE(ErrorInfoOf(status).has_value());
}

v1::ErrorInfo LevelsError() {
  v1::ErrorInfo info;
  info.set_reason("OUT_OF_RANGE");
  info.set_domain("glint");
  for (const auto& [key, value] : {std::pair("field", "detector.levels"), std::pair("value", "99"),
                                   std::pair("lowest", "1"), std::pair("highest", "12")}) {
    (*info.mutable_metadata())[key] = value;
  }
  return info;
}

void ExpectLevelsError(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "detector.levels: 99 is not in 1..12");
  const auto info = ErrorInfoOf(status);
  ASSERT_TRUE(info.has_value()) << status;
  EXPECT_EQ(info->reason, "OUT_OF_RANGE");
  EXPECT_EQ(info->field, "detector.levels");
  EXPECT_EQ(info->value, "99");
  EXPECT_EQ(info->lowest, "1");
  EXPECT_EQ(info->highest, "12");
  EXPECT_EQ(info->allowed, "");
  EXPECT_EQ(info->flag, "");
}

// The trailer of a call or stream.
grpc::Status LevelsStatus() {
  v1::StatusDetails details;
  details.add_details()->set_type_url("type.googleapis.com/google.rpc.RetryInfo");
  google::protobuf::Any* const any = details.add_details();
  any->set_type_url("type.googleapis.com/google.rpc.ErrorInfo");
  any->set_value(LevelsError().SerializeAsString());
  return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "detector.levels: 99 is not in 1..12",
                      details.SerializeAsString());
}

TEST(ClientTest, ErrorsTellProgramsWhatTheyAreAbout) {
  FakeServer server;
  server.on_detect = [](const v1::DetectRequest&, v1::DetectResponse*) { return LevelsStatus(); };
  server.on_stream = [](grpc::ServerContext*, FakeServer::Stream* stream) {
    v1::DetectStreamRequest request;
    stream->Read(&request);
    if (request.options().detector().levels() == 5) return LevelsStatus();
    while (stream->Read(&request)) {
      v1::DetectStreamResponse response;
      response.set_frame_id(request.frame().frame_id());
      response.mutable_status()->set_code(grpc::StatusCode::INVALID_ARGUMENT);
      response.mutable_status()->set_message("detector.levels: 99 is not in 1..12");
      *response.mutable_status()->mutable_error() = LevelsError();
      stream->Write(response);
    }
    return grpc::Status::OK;
  };
  const Client client = server.Connect();
  ExpectLevelsError(client.Detect({}, Noise({8, 8}, 1)).status());
  absl::Status of_frame;
  const auto stream = client.OpenStream({}, [&](const FrameResult& result) { of_frame = result.status; });
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_TRUE((*stream)->Write(1, Noise({8, 8}, 1)).ok());
  EXPECT_TRUE((*stream)->Finish().ok());
  ExpectLevelsError(of_frame);
  StreamOptions refused;
  refused.detector.levels = 5;
  const auto ended = client.OpenStream(refused, nullptr);
  ExpectLevelsError(ended.ok() ? (*ended)->Finish() : ended.status());
}

TEST(ClientTest, CallEndsAtItsTimeout) {
  FakeServer server;
  std::promise<void> done;
  server.on_detect = [&done](const v1::DetectRequest&, v1::DetectResponse*) {
    done.get_future().wait();
    return grpc::Status::OK;
  };
  const Client client = server.Connect();
  EXPECT_TRUE(
      absl::IsDeadlineExceeded(client.Detect({}, Noise({8, 8}, 1), /*mask=*/{}, absl::Milliseconds(50)).status()));
  done.set_value();
}

TEST(ClientTest, DescribesTheServer) {
  FakeServer server;
  const auto info = server.Connect().GetServerInfo();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->version, "1.2.3");
  EXPECT_EQ(info->backend, "cpu");
  EXPECT_EQ(info->device, "a processor");
  EXPECT_EQ(info->simd, "AVX2");
  EXPECT_EQ(info->lanes, 2);
  EXPECT_EQ(info->queue_capacity_frames, 3);
  const ServerLimits& l = info->limits;
  EXPECT_THAT((std::vector<int64_t>{l.max_image_pixels, l.max_features, l.max_message_bytes, l.max_sessions,
                                    l.max_sessions_per_client, l.max_in_flight, l.max_detect_calls, l.max_track_streams,
                                    l.max_track_cameras, l.max_tracks, l.max_track_pixels, l.max_localize_streams,
                                    l.max_localize_pixels, l.max_map_keyframes, l.max_map_points, l.max_map_bytes}),
              ElementsAre(4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19));
  EXPECT_EQ(l.stream_first_message_timeout, absl::Nanoseconds(20));
  EXPECT_EQ(l.stream_idle_timeout, absl::Nanoseconds(21));
  EXPECT_EQ(l.max_shared_memory_bytes, 22);
  EXPECT_EQ(l.max_shared_memory_regions, 23);
  EXPECT_EQ(l.max_match_pairs, 25);
  EXPECT_EQ(l.max_rectification_bytes, 28);
  EXPECT_THAT(info->presets, ElementsAre("orb", "oriented_fast"));
  EXPECT_EQ(info->shared_memory_socket, "/run/shm");
  EXPECT_THAT(info->devices, ElementsAre("cuda:0", "cuda:1"));
  EXPECT_EQ(info->memory_bound_bytes, 24);
  EXPECT_THAT(info->methods, ElementsAre("glint.v1.FeatureDetection/Detect"));
  EXPECT_TRUE(info->has_cuda && info->has_map_directory && info->has_calibration_directory);
  EXPECT_EQ(info->usable_processors, 1.5);
  EXPECT_EQ(info->usable_memory_bytes, 26);
  EXPECT_EQ(info->max_threads, 27);
  EXPECT_THAT((std::vector<std::string>{info->processors_source, info->memory_source, info->threads_source}),
              ElementsAre("a", "b", "c"));
}

TEST(ClientTest, AsksForHealth) {
  FakeServer server;
  const Client client = server.Connect();
  EXPECT_EQ(client.CheckHealth().value(), Health::kServing);
  server.server()->GetHealthCheckService()->SetServingStatus("some.Service", true);
  EXPECT_EQ(client.CheckHealth("some.Service").value(), Health::kServing);
  server.server()->GetHealthCheckService()->SetServingStatus(false);
  EXPECT_EQ(client.CheckHealth().value(), Health::kNotServing);
  const absl::Status unknown = client.CheckHealth("no.such.Service").status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound) << unknown;
}

TEST(ClientTest, ConnectSaysWhereNobodyAnswers) {
  const auto client = Client::Connect("unix:/no/such/socket");
  EXPECT_TRUE(absl::IsUnavailable(client.status()));
  EXPECT_THAT(client.status().ToString(), HasSubstr("unix:/no/such/socket"));

  ClientOptions patient;
  patient.wait_for_server = true;
  patient.connect_timeout = absl::Milliseconds(300);
  EXPECT_TRUE(absl::IsUnavailable(Client::Connect("unix:/no/such/socket", patient).status()));
}

TEST(ClientTest, CallsAfterTheServerHasGoneAreUnavailable) {
  auto server = std::make_unique<FakeServer>();
  const Client client = server->Connect();
  server.reset();
  EXPECT_TRUE(absl::IsUnavailable(client.GetServerInfo().status()));
  EXPECT_TRUE(absl::IsUnavailable(client.CheckHealth().status()));
  const auto stream = client.OpenStream({}, nullptr);
  EXPECT_TRUE(absl::IsUnavailable(stream.ok() ? (*stream)->Finish() : stream.status()));
}

TEST(ClientTest, ServesManyThreadsAtOnce) {
  FakeServer server;
  server.on_detect = [](const v1::DetectRequest& request, v1::DetectResponse* response) {
    SetKeypoints(static_cast<int>(request.image().raw().width()), response->mutable_features());
    return grpc::Status::OK;
  };
  const Client client = server.Connect();
  std::vector<std::thread> threads;
  for (int t = 1; t <= 4; ++t) {
    threads.emplace_back([&client, t] {
      for (int i = 0; i < 50; ++i) {
        const auto found = client.Detect({}, Noise({t, 3}, 1));
        ASSERT_TRUE(found.ok()) << found.status();
        EXPECT_EQ(found->features.count(), static_cast<size_t>(t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace glint::client
