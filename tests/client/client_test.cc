// The client library's calls against a server that a test controls: what goes over the wire, and what errors become of.
#include "client/client.h"

#include <future>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
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

TEST(ClientTest, SendsEveryOptionOfTheDetector) {
  FakeServer server;
  v1::DetectorOptions seen;
  server.on_detect = [&seen](const v1::DetectRequest& request, v1::DetectResponse*) {
    seen = request.options();
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
  EXPECT_EQ(seen.preset(), "orb");
  EXPECT_EQ(seen.pyramid(), v1::PYRAMID_KIND_CASCADED);
  EXPECT_EQ(seen.levels(), 3);
  EXPECT_EQ(seen.scale_factor(), 1.7f);
  EXPECT_EQ(seen.corner_test(), v1::CORNER_TEST_FAST);
  EXPECT_EQ(seen.fast_threshold(), 33);
  EXPECT_EQ(seen.arc_length(), 12);
  EXPECT_EQ(seen.score(), v1::SCORE_MAX_THRESHOLD);
  EXPECT_EQ(seen.selection(), v1::SELECTION_TOP_N);
  EXPECT_EQ(seen.ranking(), v1::RANKING_HARRIS);
  EXPECT_EQ(seen.max_features(), 1234);
  EXPECT_EQ(seen.edge_threshold(), 17);
  EXPECT_EQ(seen.orientation(), v1::ORIENTATION_INTENSITY_CENTROID);
  EXPECT_EQ(seen.descriptor_kind(), v1::DESCRIPTOR_RBRIEF);
  EXPECT_EQ(seen.patch_size(), 23);

  options.score = Score::kHarris;
  options.ranking = Ranking::kScore;
  options.orientation = Orientation::kNone;
  options.descriptor = Descriptor::kNone;
  ASSERT_TRUE(client.Detect(options, Noise({8, 8}, 1)).ok());
  EXPECT_EQ(seen.score(), v1::SCORE_HARRIS);
  EXPECT_EQ(seen.ranking(), v1::RANKING_SCORE);
  EXPECT_EQ(seen.orientation(), v1::ORIENTATION_NONE);
  EXPECT_EQ(seen.descriptor_kind(), v1::DESCRIPTOR_NONE);
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
  EXPECT_THAT((std::vector<int64_t>{t.receive_ns, t.queue_ns, t.decode_ns, t.upload_ns, t.detect_ns, t.download_ns,
                                    t.total_ns, t.lane, t.queue_depth}),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(t.device, "cuda:0");
  EXPECT_GT(found->round_trip, absl::ZeroDuration());
}

TEST(ClientTest, RefusesArraysOfDifferentLength) {
  FakeServer server;
  int broken = 0;
  server.on_detect = [&broken](const v1::DetectRequest&, v1::DetectResponse* response) {
    v1::Features* f = response->mutable_features();
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
        f->set_descriptor_bytes(0xffffffff);
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

TEST(ClientTest, PassesErrorsOn) {
  FakeServer server;
  server.on_detect = [](const v1::DetectRequest&, v1::DetectResponse*) {
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "image.pixels: too many");
  };
  EXPECT_EQ(server.Connect().Detect({}, Noise({8, 8}, 1)).status(),
            absl::ResourceExhaustedError("image.pixels: too many"));
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
  EXPECT_EQ(info->max_image_pixels, 4);
  EXPECT_EQ(info->max_features, 5);
  EXPECT_EQ(info->max_message_bytes, 6);
  EXPECT_EQ(info->max_sessions, 7);
  EXPECT_THAT(info->presets, ElementsAre("orb", "oriented_fast"));
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
