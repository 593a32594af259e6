// What becomes of frames that come faster than lanes take them: policies, deadlines, fairness, cancellation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/harness.h"

namespace glint::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::StartsWith;

v1::DetectStreamRequest PolicyMessage(v1::OverloadPolicy policy, int max_in_flight = 0, int64_t max_age_ns = 0) {
  v1::DetectStreamRequest message = OptionsMessage();
  message.mutable_options()->set_overload_policy(policy);
  message.mutable_options()->set_max_in_flight(max_in_flight);
  message.mutable_options()->set_max_age_ns(max_age_ns);
  return message;
}

// A server with one lane that is held while frames 1 to 10 are written; how each of them ended.
class PolicyTest : public ::testing::Test {
 protected:
  explicit PolicyTest(int queue_capacity = 64) : server_(Options(queue_capacity), &control_) {
    EXPECT_TRUE(server_->WaitUntilServing(absl::Seconds(10)));
    control_.Hold(true);
  }
  static ServerOptions Options(int queue_capacity) {
    ServerOptions options = TestOptions();
    options.queue_capacity = queue_capacity;
    return options;
  }

  // One of "ok", "superseded", "expired", "rejected", checked for the status that goes with it.
  static std::string Fate(const v1::DetectStreamResponse& reply) {
    const v1::FrameStatus& status = reply.status();
    EXPECT_EQ(reply.has_features(), status.code() == 0);
    EXPECT_EQ(status.retry_after_ns() > 0, status.drop_reason() == v1::DROP_REASON_REJECTED);
    switch (status.drop_reason()) {
      case v1::DROP_REASON_SUPERSEDED:
        EXPECT_EQ(status.code(), static_cast<int>(grpc::StatusCode::ABORTED));
        EXPECT_EQ(status.message(), "superseded by a newer frame of the stream");
        return "superseded";
      case v1::DROP_REASON_EXPIRED:
        EXPECT_EQ(status.code(), static_cast<int>(grpc::StatusCode::DEADLINE_EXCEEDED));
        EXPECT_THAT(status.message(), StartsWith("max_age_ns: expired after waiting for "));
        return "expired";
      case v1::DROP_REASON_REJECTED:
        EXPECT_EQ(status.code(), static_cast<int>(grpc::StatusCode::RESOURCE_EXHAUSTED));
        return "rejected";
      default:
        return status.code() == 0 ? "ok" : status.message();
    }
  }

  // The server has read `frames` that are not answered.
  void WaitUntilRead(int frames) {
    EXPECT_TRUE(Eventually([&] { return server_->frames_in_flight() == frames; })) << server_->frames_in_flight();
  }

  // Frame 1 is on the lane when the others come, one by one.
  std::vector<std::string> Run(const v1::DetectStreamRequest& options) {
    TestStream stream(server_.stub());
    EXPECT_TRUE(stream.Write(options));
    for (uint64_t id = 1; id <= 10; ++id) {
      EXPECT_TRUE(stream.Write(FrameMessage(id)));
      if (id == 1) control_.WaitUntilRunning(1);
      WaitUntilRead(static_cast<int>(id));
    }
    control_.Hold(false);
    std::vector<std::string> fates;
    for (uint64_t id = 1; id <= 10; ++id) {
      const v1::DetectStreamResponse reply = stream.Read();
      EXPECT_EQ(reply.frame_id(), id);
      fates.push_back(Fate(reply));
    }
    stream.WritesDone();
    stream.Read();
    EXPECT_TRUE(stream.ended());
    EXPECT_TRUE(stream.Finish().ok());
    EXPECT_TRUE(Eventually([&] { return server_->sessions() == 0 && server_->frames_in_flight() == 0; }));
    return fates;
  }

  // `ok`, `rest` for all others of 10 frames.
  static std::vector<std::string> Fates(std::initializer_list<size_t> ok, const std::string& rest) {
    std::vector<std::string> fates(10, rest);
    for (const size_t id : ok) fates[id - 1] = "ok";
    return fates;
  }

  LaneControl control_;
  TestServer server_;
};

TEST_F(PolicyTest, LatestKeepsOnlyTheNewestWaiting) {
  EXPECT_THAT(Run(PolicyMessage(v1::OVERLOAD_POLICY_LATEST)), ElementsAreArray(Fates({1, 10}, "superseded")));
  EXPECT_EQ(control_.runs(), 3);  // with the warm-up
}

// The reply to a bad frame comes after that to the held one before it, so it must not keep that one waiting.
TEST_F(PolicyTest, BadFrameBehindAHeldOne) {
  for (const v1::OverloadPolicy policy : {v1::OVERLOAD_POLICY_LATEST, v1::OVERLOAD_POLICY_DROP_OLDEST}) {
    SCOPED_TRACE(policy);
    TestStream stream(server_.stub());
    ASSERT_TRUE(stream.Write(PolicyMessage(policy, 1)));
    for (uint64_t id = 1; id <= 3; ++id) {
      v1::DetectStreamRequest message = FrameMessage(id);
      if (id == 3) message.mutable_frame()->clear_image();
      ASSERT_TRUE(stream.Write(message));
      if (id == 1) control_.WaitUntilRunning(1);
      WaitUntilRead(static_cast<int>(id));
    }
    control_.Hold(false);
    EXPECT_EQ(Fate(stream.Read()), "ok");
    EXPECT_EQ(Fate(stream.Read()), "ok");
    EXPECT_THAT(Fate(stream.Read()), HasSubstr("image"));
    stream.WritesDone();
    stream.Read();
    EXPECT_TRUE(stream.Finish().ok());
    control_.Hold(true);
  }
}

TEST_F(PolicyTest, LatestWithOneInFlight) {
  EXPECT_THAT(Run(PolicyMessage(v1::OVERLOAD_POLICY_LATEST, 1)), ElementsAreArray(Fates({1, 10}, "superseded")));
}

TEST_F(PolicyTest, DropOldestKeepsTheWindowFull) {
  EXPECT_THAT(Run(PolicyMessage(v1::OVERLOAD_POLICY_DROP_OLDEST, 3)),
              ElementsAreArray(Fates({1, 9, 10}, "superseded")));
}

TEST_F(PolicyTest, RejectRefusesTheNewest) {
  EXPECT_THAT(Run(PolicyMessage(v1::OVERLOAD_POLICY_REJECT, 3)), ElementsAreArray(Fates({1, 2, 3}, "rejected")));
}

class FullQueueTest : public PolicyTest {
 protected:
  FullQueueTest() : PolicyTest(2) {}
};

TEST_F(FullQueueTest, DropOldestDropsItsOwnBeforeItsWindowIsFull) {
  EXPECT_THAT(Run(PolicyMessage(v1::OVERLOAD_POLICY_DROP_OLDEST)), ElementsAreArray(Fates({1, 9, 10}, "superseded")));
}

TEST_F(FullQueueTest, RejectRefusesBeforeItsWindowIsFull) {
  EXPECT_THAT(Run(PolicyMessage(v1::OVERLOAD_POLICY_REJECT)), ElementsAreArray(Fates({1, 2, 3}, "rejected")));
}

TEST_F(FullQueueTest, ANewestFrameWaitsOutsideForOthersToGo) {
  TestStream others(server_.stub());
  ASSERT_TRUE(others.Write(OptionsMessage()));
  for (uint64_t id = 1; id <= 3; ++id) ASSERT_TRUE(others.Write(FrameMessage(id)));
  control_.WaitUntilRunning(1);
  WaitUntilRead(3);
  TestStream live(server_.stub());
  ASSERT_TRUE(live.Write(PolicyMessage(v1::OVERLOAD_POLICY_LATEST)));
  for (uint64_t id = 1; id <= 5; ++id) ASSERT_TRUE(live.Write(FrameMessage(id)));
  for (uint64_t id = 1; id <= 4; ++id) EXPECT_EQ(Fate(live.Read()), "superseded");
  control_.Hold(false);
  for (uint64_t id = 1; id <= 3; ++id) EXPECT_EQ(Fate(others.Read()), "ok");
  EXPECT_EQ(Fate(live.Read()), "ok");
}

TEST_F(PolicyTest, ExpiredFramesCostNoLane) {
  TestStream stream(server_.stub());
  ASSERT_TRUE(stream.Write(PolicyMessage(v1::OVERLOAD_POLICY_BLOCK, 0, 300'000'000)));
  ASSERT_TRUE(stream.Write(FrameMessage(1)));
  control_.WaitUntilRunning(1);
  ASSERT_TRUE(stream.Write(FrameMessage(2)));
  v1::DetectStreamRequest patient = FrameMessage(3);
  patient.mutable_frame()->set_max_age_ns(int64_t{3600} * 1'000'000'000);
  ASSERT_TRUE(stream.Write(patient));
  WaitUntilRead(3);
  absl::SleepFor(absl::Milliseconds(310));
  control_.Hold(false);
  EXPECT_EQ(Fate(stream.Read()), "ok");  // it was on its lane in time
  EXPECT_EQ(Fate(stream.Read()), "expired");
  EXPECT_EQ(Fate(stream.Read()), "ok");
  EXPECT_EQ(control_.runs(), 3);
}

TEST_F(PolicyTest, ReadingStopsWhenTheClientTakesNoReplies) {
  constexpr uint64_t kFrames = 3000;
  TestStream stream(server_.stub());
  ASSERT_TRUE(stream.Write(PolicyMessage(v1::OVERLOAD_POLICY_REJECT, 2)));
  std::atomic<uint64_t> written{0};
  std::thread writer([&] {
    for (uint64_t id = 1; id <= kFrames; ++id) {
      ASSERT_TRUE(stream.Write(FrameMessage(id)));
      ++written;
    }
    stream.WritesDone();
  });
  // Two live frames and 256 dropped ones whose replies wait for the first.
  WaitUntilRead(258);
  for (uint64_t before = kFrames; before != written;) {
    before = written;
    absl::SleepFor(absl::Milliseconds(100));
  }
  EXPECT_EQ(server_->frames_in_flight(), 258);
  EXPECT_LT(written, kFrames);
  control_.Hold(false);
  for (uint64_t id = 1; id <= kFrames; ++id) ASSERT_EQ(stream.Read().frame_id(), id);
  writer.join();
  stream.Read();
  EXPECT_TRUE(stream.ended());
  EXPECT_TRUE(stream.Finish().ok());
}

TEST_F(PolicyTest, CancelledStreamsGiveBackWhatTheyHold) {
  for (const v1::OverloadPolicy policy :
       {v1::OVERLOAD_POLICY_LATEST, v1::OVERLOAD_POLICY_DROP_OLDEST, v1::OVERLOAD_POLICY_REJECT}) {
    for (const int max_in_flight : {1, 3}) {  // with a held frame, and with waiting ones
      // Frames are records until the lane gives back the first, but none of them waits for a lane any more.
      const int runs = control_.runs();
      TestStream stream(server_.stub());
      ASSERT_TRUE(stream.Write(PolicyMessage(policy, max_in_flight)));
      for (uint64_t id = 1; id <= 6; ++id) {
        ASSERT_TRUE(stream.Write(FrameMessage(id)));
        if (id == 1) control_.WaitUntilRunning(1);
      }
      WaitUntilRead(6);
      stream.Cancel();
      EXPECT_TRUE(Eventually([&] { return server_->frames_waiting() == 0; }));
      control_.Hold(false);
      EXPECT_TRUE(Eventually([&] { return server_->sessions() == 0 && server_->frames_in_flight() == 0; }));
      if (max_in_flight > 1) {
        EXPECT_EQ(control_.runs(), runs + 1);
      }
      control_.Hold(true);
    }
  }
}

TEST_F(PolicyTest, ACancelledCallIsTakenOutOfTheQueue) {
  TestStream stream(server_.stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  ASSERT_TRUE(stream.Write(FrameMessage(1)));
  control_.WaitUntilRunning(1);
  grpc::ClientContext context;
  std::thread caller([&] {
    v1::DetectResponse response;
    EXPECT_EQ(server_.stub()->Detect(&context, GrayRequest(), &response).error_code(), grpc::StatusCode::CANCELLED);
  });
  WaitUntilRead(2);
  context.TryCancel();
  caller.join();
  WaitUntilRead(1);
  EXPECT_EQ(server_->frames_waiting(), 0);
  control_.Hold(false);
  EXPECT_EQ(Fate(stream.Read()), "ok");
  EXPECT_EQ(control_.runs(), 2);
}

TEST_F(PolicyTest, BadOptionsAreNamed) {
  const auto error = [&](const v1::DetectStreamRequest& options) {
    TestStream stream(server_.stub());
    stream.Write(options);
    stream.Read();
    return stream.Finish().error_message();
  };
  EXPECT_EQ(error(PolicyMessage(static_cast<v1::OverloadPolicy>(9))),
            "overload_policy: \"9\" is not one of UNSPECIFIED, BLOCK, DROP_OLDEST, LATEST, REJECT");
  EXPECT_EQ(error(PolicyMessage(v1::OVERLOAD_POLICY_BLOCK, 9)),
            "max_in_flight: 9 is over this server's limit of 8 (--max-in-flight)");
  EXPECT_EQ(error(PolicyMessage(v1::OVERLOAD_POLICY_BLOCK, -1)), "max_in_flight: -1 is not in 0..8");
  EXPECT_EQ(error(PolicyMessage(v1::OVERLOAD_POLICY_BLOCK, 0, -1)), "max_age_ns: -1 is not in 0..86400000000000");
  control_.Hold(false);
  TestStream stream(server_.stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  v1::DetectStreamRequest frame = FrameMessage(1);
  frame.mutable_frame()->set_max_age_ns(-5);
  ASSERT_TRUE(stream.Write(frame));
  EXPECT_EQ(stream.Read().status().message(), "max_age_ns: -5 is not in 0..86400000000000");
}

TEST_F(PolicyTest, RefusedCallsAreToldWhenToTryAgain) {
  ServerOptions options = Options(1);
  TestServer server(options, &control_);
  control_.Hold(false);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  control_.Hold(true);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  for (uint64_t id = 1; id <= 2; ++id) ASSERT_TRUE(stream.Write(FrameMessage(id)));
  ASSERT_TRUE(Eventually([&] { return server->frames_in_flight() == 2; }));
  control_.WaitUntilRunning(1);
  grpc::ClientContext context;
  v1::DetectResponse response;
  EXPECT_EQ(server.stub()->Detect(&context, GrayRequest(), &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  const auto& trailer = context.GetServerTrailingMetadata();
  const auto found = trailer.find("grpc-retry-pushback-ms");
  ASSERT_NE(found, trailer.end());
  EXPECT_GE(std::stoi(std::string(found->second.data(), found->second.size())), 1);
  control_.Hold(false);
}

// A lane that needs time for pixels, and notes whose frames it had.
class SlowLane final : public Lane {
 public:
  explicit SlowLane(std::vector<int>* widths) : widths_(widths) {}
  absl::Status Run(const DetectorOptions&, const Pixels& image, const Pixels&, Features* features,
                   StageTimes*) override {
    widths_->push_back(image.shape().width);
    absl::SleepFor(absl::Nanoseconds(12 * image.shape().pixels()));  // 100 ms for 4K, which sanitizers can keep up with
    features->Clear();
    return absl::OkStatus();
  }
  absl::Status fatal() const override { return absl::OkStatus(); }
  const std::string& device() const override { return device_; }

 private:
  std::vector<int>* const widths_;
  const std::string device_ = "slow:0";
};

TEST(FairnessTest, AFloodOfLargeFramesDelaysAnotherStreamByOneOfThem) {
  std::vector<int> widths;
  ServerOptions options = TestOptions();
  options.create_lanes = [&widths](const LaneOptions&) -> absl::StatusOr<LaneSet> {
    LaneSet set;
    set.lanes.push_back(std::make_unique<SlowLane>(&widths));
    return set;
  };
  TestServer server(options);
  TestStream flood(server.stub());
  ASSERT_TRUE(flood.Write(OptionsMessage()));
  std::thread writer([&] {
    v1::DetectStreamRequest message = FrameMessage(1, 3840, 2160);
    for (uint64_t id = 1; flood.Write(message);) message.mutable_frame()->set_frame_id(++id);
  });
  std::thread reader([&] {
    while (flood.Read(), !flood.ended()) continue;
  });
  EXPECT_TRUE(Eventually([&] { return server->frames_waiting() >= 2; }));

  constexpr int kFrames = 20;
  TestStream camera(server.stub());
  ASSERT_TRUE(camera.Write(OptionsMessage()));
  for (uint64_t id = 1; id <= kFrames; ++id) {
    ASSERT_TRUE(camera.Write(FrameMessage(id, 640, 480)));
    ASSERT_EQ(camera.Read().frame_id(), id);
  }
  flood.Cancel();
  writer.join();
  reader.join();
  EXPECT_TRUE(server->Shutdown(absl::Seconds(10)).ok());
  // Each camera frame waited for the large frame on the lane, or, if it came late, for one more; first come, first
  // served would be eight.
  int large = 0, camera_frames = 0;
  for (const int width : widths) {
    if (camera_frames == kFrames) break;
    if (width == 640) ++camera_frames;
    if (width == 3840 && camera_frames > 1) ++large;  // the warm-up frame is 640 wide, too
  }
  EXPECT_LE(large, 2 * kFrames);
}

}  // namespace
}  // namespace glint::testing
