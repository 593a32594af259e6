// A server inside its client's process: limits that fit the memory, and errors that say what can be done there.
#include "server/app/in_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/match_limits.h"
#include "features/server_error.h"
#include "server/memory/memory_bound.h"
#include "server/wire/client_status.h"
#include "server/wire/status_details.h"
#include "tests/server/harness.h"

namespace glint::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kGiB = int64_t{1} << 30;

TEST(InProcessOptionsTest, FitTheMemory) {
  for (const int64_t usable : {kMemoryLimitFloor, kGiB, 4 * kGiB, 24 * kGiB, 1024 * kGiB}) {
    SCOPED_TRACE(usable);
    const ServerOptions options = InProcessOptions(usable);
    EXPECT_EQ(ValidateServerOptions(options), absl::OkStatus());
    const int64_t pixels = options.lanes.max_image_pixels;
    EXPECT_LE(pixels * kLaneBytesPerPixel, usable);
    EXPECT_TRUE(pixels == kMaxImagePixels || (pixels + 1) * kLaneBytesPerPixel > usable) << pixels;
    EXPECT_EQ(options.max_localize_pixels, pixels);
    EXPECT_LE(options.max_track_pixels * kTrackBytesPerPixel, usable / 2);
    EXPECT_LE(options.max_map_bytes, usable / 2);
    EXPECT_LE(options.max_rectification_bytes, usable / 4);
    EXPECT_GT(options.max_message_bytes, 4 * pixels);  // in any format
    EXPECT_GT(options.max_message_bytes, options.max_track_pixels);
  }
  // The photograph of a camera of 61 megapixels, the largest of all in what a workstation has, and a pair of 1280x720
  // in what a small container has.
  EXPECT_GE(InProcessOptions(4 * kGiB).lanes.max_image_pixels, 9504 * 6336);
  EXPECT_EQ(InProcessOptions(8 * kGiB).lanes.max_image_pixels, kMaxImagePixels);
  EXPECT_GE(InProcessOptions(kGiB / 4).max_localize_pixels, 2 * 1280 * 720);
}

TEST(InProcessOptionsTest, LimitNothingElse) {
  const ServerOptions options = InProcessOptions();
  EXPECT_EQ(ValidateServerOptions(options), absl::OkStatus());
  EXPECT_GT(options.lanes.max_image_pixels, 1);
  EXPECT_EQ(options.max_features, kMaxFeatures);
  EXPECT_EQ(options.max_tracks, kMaxTrackPoints);
  // As many descriptors as there may be on both sides, of any size.
  EXPECT_GE(options.max_match_pairs, int64_t{kMaxFeatures} * kMaxFeatures * (kMaxDescriptorBytes / 32));
}

TEST(ForClientTest, SaysWhatCanBeDoneInPlaceOfAFlag) {
  const ServerOptions elsewhere, inside = InProcessOptions(kGiB);
  const absl::Status limit = LimitError("image", 20000000, "pixels", 16777216, "--max-image-pixels");
  EXPECT_EQ(ForClient(limit, elsewhere), limit);
  const absl::Status told = ForClient(limit, inside);
  EXPECT_EQ(told.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(told.message(),
            "image: 20000000 pixels are over this process's limit of 16777216; scale the picture down; the limit grows "
            "with the memory that the process may use, up to 134217728 pixels of a picture or pair");
  const std::optional<ErrorInfo> info = ErrorInfoOf(told);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->field, "image");
  EXPECT_EQ(info->value, "20000000");
  EXPECT_EQ(info->highest, "16777216");
  EXPECT_EQ(info->flag, "");

  for (const char* flag : {"--max-localize-pixels", "--max-track-pixels", "--max-features", "2 x --max-features",
                           "--max-tracks", "--max-map-bytes", "--max-rectification-bytes"}) {
    const std::string text(ForClient(LimitError("field", 9, "things", 8, flag), inside).message());
    EXPECT_THAT(text, AllOf(HasSubstr("field: 9 things are over this process's limit of 8; "), Not(HasSubstr("--"))));
  }
}

TEST(ForClientTest, SaysWhoseTheOtherFlagsAre) {
  const ServerOptions inside = InProcessOptions(kGiB);
  EXPECT_EQ(ForClient(LimitError("maps", 65, 64, "--max-maps"), inside).message(),
            "maps: 65 is over this process's limit of 64 (--max-maps of a glint-server)");
  EXPECT_EQ(ForClient(absl::FailedPreconditionError("name: this server keeps no maps (--map-directory)"), inside),
            absl::FailedPreconditionError("name: this process keeps no maps (--map-directory of a glint-server)"));
  const absl::Status full =
      WithRetryAfter(ExhaustedError("queue", "full (--queue-capacity); try again later", "", "--queue-capacity"), 1000);
  const absl::Status told = ForClient(full, inside);
  EXPECT_EQ(told.message(), "queue: full (--queue-capacity of a glint-server); try again later");
  full.ForEachPayload(
      [&told](absl::string_view name, const absl::Cord& payload) { EXPECT_EQ(told.GetPayload(name), payload); });
}

TEST(ForClientTest, LeavesOtherErrorsAlone) {
  const ServerOptions inside = InProcessOptions(kGiB);
  for (const absl::Status& status :
       {absl::OkStatus(), absl::InternalError("x"), NotOneOfError("preset", "this server (--max)", "orb"),
        OutOfRangeError("levels", 13, 1, 12), OutOfRangeError("max_features", 70000, 1, kMaxFeatures)}) {
    EXPECT_EQ(ForClient(status, inside), status);
  }
  for (const char* field : {"image.width", "left.height", "camera.width"}) {
    EXPECT_EQ(ForClient(OutOfRangeError(field, 20000, 1, kMaxImageSide), inside).message(),
              absl::StrCat(field, ": 20000 is not in 1..16384; scale the picture down, or cut it into parts"));
  }
}

TEST(InProcessTest, CallsAndFramesNameNoFlag) {
  LaneControl control;
  ServerOptions options = InProcessOptions(kMemoryLimitFloor);  // 64 MiB: pictures of 1048576 pixels
  options.create_lanes = FakeLanes(&control);
  auto server = Server::Create(options);
  ASSERT_TRUE(server.ok()) << server.status();
  ASSERT_TRUE((*server)->Start().ok());
  {
    const auto stub = v1::FeatureDetection::NewStub((*server)->InProcessChannel());
    const auto no_flag =
        AllOf(HasSubstr("1100000 pixels are over this process's limit of 1048576; scale"), Not(HasSubstr("--")));
    grpc::ClientContext context;
    v1::DetectResponse response;
    const grpc::Status call = stub->Detect(&context, GrayRequest(1100, 1000), &response);
    EXPECT_EQ(call.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(call.error_message(), no_flag);

    TestStream stream(stub.get());
    ASSERT_TRUE(stream.Write(OptionsMessage()));
    ASSERT_TRUE(stream.Write(FrameMessage(1, 1100, 1000)));
    ASSERT_TRUE(stream.Write(FrameMessage(2, 20000, 1)));
    ASSERT_TRUE(stream.Write(FrameMessage(3, 1024, 1024)));
    const v1::DetectStreamResponse large = stream.Read();
    EXPECT_THAT(large.status().message(), no_flag);
    EXPECT_EQ(large.status().error().metadata().count("flag"), 0u);
    EXPECT_EQ(large.status().error().metadata().at("highest"), "1048576");
    EXPECT_THAT(stream.Read().status().message(), EndsWith("; scale the picture down, or cut it into parts"));
    EXPECT_EQ(stream.Read().status().code(), 0);
    stream.WritesDone();
    EXPECT_TRUE(stream.Finish().ok());
  }
  EXPECT_TRUE((*server)->Shutdown(absl::Seconds(10)).ok());
}

}  // namespace
}  // namespace glint::testing
