#include "server/rpc/canary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/harness.h"

namespace glint::testing {
namespace {

TEST(Canary, ComesBackThroughARealLane) {
  TestServer server(TestOptions());
  Canary canary(server->InProcessChannel());
  for (int i = 0; i < 3; ++i) {
    const absl::Status status = canary.Send(absl::Seconds(30));
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_EQ(server->sessions(), 1);
}

TEST(Canary, NoticesALaneThatHangsAndOneThatRecovers) {
  LaneControl control;
  TestServer server(TestOptions(), &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(30)));
  Canary canary(server->InProcessChannel());
  ASSERT_TRUE(canary.Send(absl::Seconds(30)).ok());

  control.Hold(true);
  const absl::Status stuck = canary.Send(absl::Milliseconds(50));
  EXPECT_EQ(stuck.code(), absl::StatusCode::kDeadlineExceeded) << stuck;
  EXPECT_THAT(std::string(stuck.message()), ::testing::StartsWith("canary frame: "));

  control.Hold(false);
  const absl::Status again = canary.Send(absl::Seconds(30));
  EXPECT_TRUE(again.ok()) << again;
}

TEST(Canary, ReportsAFrameThatFails) {
  LaneControl control;
  TestServer server(TestOptions(), &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(30)));
  Canary canary(server->InProcessChannel());
  control.Fail(absl::InternalError("broken"));
  EXPECT_EQ(canary.Send(absl::Seconds(30)), absl::InternalError("canary frame: broken"));
}

TEST(Canary, IsAnsweredWhenTheQueueIsFull) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.queue_capacity = 1;
  TestServer server(options, &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(30)));
  Canary canary(server->InProcessChannel());
  ASSERT_TRUE(canary.Send(absl::Seconds(30)).ok());

  // One frame on the lane, one in the queue, more behind it.
  control.Hold(true);
  grpc::ClientContext context;
  auto crowd = server.stub()->DetectStream(&context);
  v1::DetectStreamRequest request;
  request.mutable_options();
  ASSERT_TRUE(crowd->Write(request));
  for (int i = 0; i < 4; ++i) {
    SetGray(64, 64, 1, request.mutable_frame()->mutable_image());
    ASSERT_TRUE(crowd->Write(request));
  }
  v1::DetectRequest call;
  SetGray(64, 64, 1, call.mutable_image());
  ASSERT_TRUE(Eventually([&] {
    grpc::ClientContext refused;
    refused.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(1));
    v1::DetectResponse response;
    return server.stub()->Detect(&refused, call, &response).error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
  }));

  absl::Status status;
  std::thread probe([&] { status = canary.Send(absl::Seconds(30)); });
  absl::SleepFor(absl::Milliseconds(20));
  control.Hold(false);
  probe.join();
  EXPECT_TRUE(status.ok()) << status;
  context.TryCancel();
}

// A lane that runs one frame for each permit, and remembers how wide they were.
class PacedLane final : public Lane {
 public:
  struct Pace {
    void Permit(int frames) {
      std::lock_guard<std::mutex> lock(mutex);
      permits += frames;
      changed.notify_all();
    }
    std::vector<int> Widths() {
      std::lock_guard<std::mutex> lock(mutex);
      return widths;
    }
    std::mutex mutex;
    std::condition_variable changed;
    int permits = 0;
    std::vector<int> widths;  // of the frames that have begun
  };
  explicit PacedLane(Pace* pace) : pace_(pace) {}

  absl::Status Run(const DetectorOptions&, const Pixels& image, const Pixels&, Features* features,
                   StageTimes*) override {
    std::unique_lock<std::mutex> lock(pace_->mutex);
    pace_->widths.push_back(image.shape().width);
    pace_->changed.wait(lock, [this] { return pace_->permits > 0; });
    --pace_->permits;
    features->Clear();
    return absl::OkStatus();
  }
  absl::Status fatal() const override { return absl::OkStatus(); }
  const std::string& device() const override { return device_; }

 private:
  Pace* const pace_;
  const std::string device_ = "paced:0";
};

// However many wait: only the frame that the lane is at is before the canary's.
TEST(Canary, GoesBeforeAllThatWait) {
  constexpr int kFrames = 6;
  PacedLane::Pace pace;
  ServerOptions options = TestOptions();
  options.queue_capacity = 3;
  options.create_lanes = [&](const LaneOptions&) -> absl::StatusOr<LaneSet> {
    LaneSet set;
    set.lanes.push_back(std::make_unique<PacedLane>(&pace));
    return set;
  };
  TestServer server(options);
  pace.Permit(1);  // the warm-up
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(30)));
  TestStream crowd(server.stub()), behind(server.stub());
  for (TestStream* stream : {&crowd, &behind}) {
    ASSERT_TRUE(stream->Write(OptionsMessage()));
    for (uint64_t id = 1; id <= kFrames; ++id) ASSERT_TRUE(stream->Write(FrameMessage(id)));
  }
  // One on the lane, three in the queue, one of each stream outside it.
  ASSERT_TRUE(Eventually([&] { return server->frames_in_flight() == 6 && pace.Widths().size() == 2; }));
  EXPECT_EQ(server->frames_waiting(), 3);

  Canary canary(server->InProcessChannel());
  absl::Status status;
  std::thread probe([&] { status = canary.Send(absl::Seconds(30)); });
  EXPECT_TRUE(Eventually([&] { return server->frames_in_flight() == 7; }));
  pace.Permit(2);
  EXPECT_TRUE(Eventually([&] { return pace.Widths().size() == 4; }));
  EXPECT_EQ(pace.Widths()[2], 96);
  probe.join();
  EXPECT_TRUE(status.ok()) << status;
  pace.Permit(2 * kFrames);
  for (TestStream* stream : {&crowd, &behind}) {
    for (uint64_t id = 1; id <= kFrames; ++id) EXPECT_EQ(stream->Read().frame_id(), id);
  }
}

TEST(Canary, IsUnavailableWhileDraining) {
  LaneControl control;
  TestServer server(TestOptions(), &control);
  Canary canary(server->InProcessChannel());
  ASSERT_TRUE(canary.Send(absl::Seconds(30)).ok());
  server->Shutdown(absl::Seconds(10)).IgnoreError();
  EXPECT_FALSE(canary.Send(absl::Seconds(30)).ok());
}

}  // namespace
}  // namespace glint::testing
