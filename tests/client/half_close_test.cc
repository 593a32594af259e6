// The end of a stream whose frames the server has not read yet. gRPC 1.51 makes a connection's flow-control window
// smaller when memory gets scarce, and then ends a stream (RST_STREAM with error code 1) whose client says that it is
// done while it has sent more than the new window: it takes the empty DATA frame that says so for one too long.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/client.h"
#include "tests/server/harness.h"
#include "tests/support/images.h"

namespace glint::client {
namespace {

using ::glint::testing::Flat;
using ::glint::testing::LaneControl;
using ::glint::testing::TestOptions;
using ::glint::testing::TestServer;

// Writes `count` frames, one each `interval`.
void WriteSlowly(DetectStream* stream, int count, int side, absl::Duration interval) {
  const auto image = Flat({side, side}, 7);
  for (int i = 0; i < count; ++i) {
    const absl::Status written = stream->Write(static_cast<uint64_t>(i), image);
    ASSERT_TRUE(written.ok()) << written;
    absl::SleepFor(interval);
  }
}

TEST(HalfCloseTest, EveryFrameIsAnsweredWhereTheServersWindowShrinksBelowWhatItHasNotRead) {
  constexpr int kFrames = 150;
  ServerOptions options = TestOptions();
  options.max_sessions = 2;  // these limits are what gRPC measures scarcity by
  options.max_detect_calls = 1;
  options.max_message_bytes = 1 << 20;
  options.max_pending_bytes = 1 << 20;
  options.lanes.max_image_pixels = 1 << 18;
  LaneControl control;
  TestServer server(options, &control);
  control.Hold(true);  // so most of what is sent is not read
  const auto client = Client::Connect(server->addresses().at(0));
  ASSERT_TRUE(client.ok()) << client.status();
  StreamOptions stream_options;
  stream_options.in_flight = 2 * kFrames;
  stream_options.timeout = absl::Seconds(60);
  int answers = 0;
  auto stream = client->OpenStream(stream_options, [&](const FrameResult& result) {
    EXPECT_TRUE(result.status.ok()) << result.status;
    ++answers;
  });
  ASSERT_TRUE(stream.ok()) << stream.status();
  ASSERT_NO_FATAL_FAILURE(WriteSlowly(stream->get(), kFrames, 128, absl::Milliseconds(3)));
  // gRPC looks at a connection as long as something comes.
  auto other = client->OpenStream(stream_options, [](const FrameResult&) {});
  ASSERT_TRUE(other.ok()) << other.status();
  ASSERT_NO_FATAL_FAILURE(WriteSlowly(other->get(), kFrames, 64, absl::Milliseconds(20)));
  auto end = std::async(std::launch::async, [&] { return (*stream)->Finish(); });
  absl::SleepFor(absl::Milliseconds(300));
  control.Hold(false);
  const absl::Status status = end.get();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(answers, kFrames);
  EXPECT_TRUE((*other)->Finish().ok());
}

}  // namespace
}  // namespace glint::client
