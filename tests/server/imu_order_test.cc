// Readings that come before, with and after the pairs that they are of: pairs wait for them, but not for nothing; and
// poses at the sensor's rate, between pairs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "slam/localizer.h"
#include "tests/server/harness.h"
#include "tests/server/http_page.h"
#include "tests/server/inertial_messages.h"
#include "tests/server/localize_client.h"
#include "tests/support/random.h"

namespace glint::testing {
namespace {

using ::testing::SizeIs;
using Requests = std::vector<v1::LocalizeStreamRequest>;

constexpr int64_t kMs = 1'000'000, kLimitNs = 1000 * kMs;

// Since the pair before, the last half a step beyond the pair's time; the first pair's begin before it.
slam::ImuReadings Beyond(size_t pair) {
  const int64_t end = TimeOf(pair) + kStepNs / 2;
  return ReadingsBetween(end - kFrameNs, end);
}
// The last half a step before.
slam::ImuReadings Short(size_t pair) {
  const int64_t end = TimeOf(pair) - kStepNs / 2;
  return ReadingsBetween(end - kFrameNs, end);
}

// From its receipt until a lane begins it.
int64_t WaitNs(const v1::LocalizeStreamResponse& response) {
  return response.timings().receive_ns() + response.timings().queue_ns();
}

// As the client sees them, but for counts, which depend on the order.
std::string BytesOf(v1::LocalizeStreamResponse response) {
  EXPECT_EQ(response.status().message(), "");
  response.clear_timings();
  response.clear_frame_id();
  response.mutable_location()->mutable_inertial()->clear_readings();
  return response.SerializeAsString();
}

class ImuOrderTest : public ::testing::Test {
 protected:
  ImuOrderTest() {
    ServerOptions options = TestOptions();
    options.metrics_listen = "127.0.0.1:0";
    options.lanes.lanes = 2;
    options.max_localize_streams = 8;
    server_ = std::make_unique<TestServer>(options);
    client_ = std::make_unique<LocalizeClient>(server_->channel());
  }
  static v1::LocalizeStreamOptions Waiting(int64_t most_ns = kLimitNs) {
    v1::LocalizeStreamOptions options = Options();
    options.mutable_imu()->set_max_wait_for_readings_ns(most_ns);
    return options;
  }
  v1::LocalizeStreamRequest PairMessage(size_t pair, const slam::ImuReadings& readings = {}) const {
    v1::LocalizeStreamRequest request = Message(MakePair(pairs_[pair], TimeOf(pair)));
    if (!readings.gyroscope.empty()) SetImu(readings, request.mutable_pair()->mutable_imu());
    return request;
  }
  // Answers to all messages, which are written without waiting for any.
  std::vector<v1::LocalizeStreamResponse> Answers(const Requests& requests, bool reads_first = false) {
    const auto open = client_->Open(Waiting());
    std::vector<v1::LocalizeStreamResponse> answers;
    for (const auto& request : requests) {
      open->stream->Write(request);
      if (reads_first) answers.push_back(open->Read());
    }
    open->stream->WritesDone();
    while (answers.size() < requests.size()) answers.push_back(open->Read());
    EXPECT_TRUE(open->stream->Finish().ok());
    return answers;
  }
  std::vector<std::string> PairsOf(const Requests& requests) {
    std::vector<std::string> found;
    for (const auto& answer : Answers(requests)) {
      if (!answer.has_location()) continue;
      EXPECT_FALSE(answer.location().inertial().ahead_of_readings()) << found.size();
      found.push_back(BytesOf(answer));
    }
    return found;
  }
  double Metric(const std::string& name) { return Sample(Http((*server_)->metrics_address(), "GET /metrics"), name); }

  std::vector<Pair> pairs_ = PairsAlongAWall(kShape, 32);
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<LocalizeClient> client_;
};

TEST_F(ImuOrderTest, PosesAreTheSameBytesWhereverReadingsCome) {
  Random random(7);
  const auto shuffle = [&random](std::vector<slam::ImuReading>* of) {
    for (size_t i = of->size(); i > 1; --i) {
      std::swap((*of)[i - 1], (*of)[static_cast<size_t>(random.Uniform(0, static_cast<int>(i) - 1))]);
    }
  };
  Requests before, within, after, with_next, one_by_one;
  for (size_t i = 0; i < pairs_.size(); ++i) {
    const slam::ImuReadings readings = Beyond(i);
    before.push_back(Batch(readings));
    before.push_back(PairMessage(i));
    within.push_back(PairMessage(i, readings));
    // Each sensor by itself, in any order.
    after.push_back(PairMessage(i));
    slam::ImuReadings gyroscope = readings, accelerometer;
    accelerometer.accelerometer.swap(gyroscope.accelerometer);
    shuffle(&gyroscope.gyroscope);
    shuffle(&accelerometer.accelerometer);
    const bool is_even = i % 2 == 0;
    after.push_back(Batch(is_even ? gyroscope : accelerometer));
    after.push_back(Batch(is_even ? accelerometer : gyroscope));
    with_next.push_back(PairMessage(i, i == 0 ? slam::ImuReadings() : Beyond(i - 1)));
    // Half of them before, and the rest one after the other.
    slam::ImuReadings half = readings;
    half.gyroscope.resize(17);
    half.accelerometer.resize(17);
    one_by_one.push_back(Batch(half));
    one_by_one.push_back(PairMessage(i));
    for (size_t k = 17; k < readings.gyroscope.size(); ++k) {
      one_by_one.push_back(Batch({{readings.gyroscope[k]}, {readings.accelerometer[k]}}));
    }
  }
  with_next.push_back(Batch(Beyond(pairs_.size() - 1)));

  const std::vector<std::string> expected = PairsOf(within);
  ASSERT_THAT(expected, SizeIs(pairs_.size()));
  v1::LocalizeStreamResponse last;
  ASSERT_TRUE(last.ParseFromString(expected.back()));
  EXPECT_EQ(last.location().inertial().status(), v1::INERTIAL_STATUS_READY);
  EXPECT_TRUE(PairsOf(before) == expected);
  EXPECT_TRUE(PairsOf(after) == expected);
  EXPECT_TRUE(PairsOf(with_next) == expected);
  EXPECT_TRUE(PairsOf(one_by_one) == expected);
  EXPECT_EQ(Metric("glint_pairs_ahead_of_readings_total"), 0);

  // They are the library's.
  Library library;
  for (size_t i = 0; i < pairs_.size(); ++i) {
    library.Add(Beyond(i));
    v1::LocalizeStreamResponse found;
    found.ParseFromString(expected[i]);
    ExpectSame(library.Track(pairs_[i], i), found);
  }
}

// A client that sends readings beyond a pair only once that is answered.
TEST_F(ImuOrderTest, AfterThreeWaitsInVainPairsDoNotWait) {
  constexpr int64_t kShortLimitNs = 300 * kMs;
  const auto open = client_->Open(Waiting(kShortLimitNs));
  size_t i = 0;
  for (; i < 6; ++i) {
    SCOPED_TRACE(i);
    const v1::LocalizeStreamResponse answer = open->Ask(PairMessage(i, Short(i)));
    EXPECT_TRUE(answer.location().inertial().ahead_of_readings());
    if (i < 3) {
      EXPECT_GE(WaitNs(answer), kShortLimitNs);
    } else {
      EXPECT_LT(WaitNs(answer), kShortLimitNs);
    }
  }
  EXPECT_EQ(Metric("glint_pairs_ahead_of_readings_total"), 6);
  // One that sends them on its own. They have to come while a pair is not answered yet: one of these will.
  bool has_waited = false;
  for (; i + 1 < pairs_.size() && !has_waited; ++i) {
    open->stream->Write(PairMessage(i));
    open->stream->Write(Batch(Short(i)));
    open->stream->Write(Batch(ReadingsBetween(TimeOf(i) - kStepNs / 2, TimeOf(i) + kStepNs / 2)));
    has_waited = !open->Read().location().inertial().ahead_of_readings();
    open->Read();
    open->Read();
  }
  EXPECT_TRUE(has_waited);
  EXPECT_GE(WaitNs(open->Ask(PairMessage(i, Short(i)))), kShortLimitNs);
  EXPECT_TRUE(open->Finish().ok());
}

TEST_F(ImuOrderTest, NoPairWaitsWhereNothingCanCome) {
  // The client has closed its half.
  const auto closed = client_->Open(Waiting());
  closed->stream->Write(PairMessage(0, Short(0)));
  closed->stream->WritesDone();
  const v1::LocalizeStreamResponse last = closed->Read();
  EXPECT_LT(WaitNs(last), kLimitNs);
  EXPECT_TRUE(last.location().inertial().ahead_of_readings());
  EXPECT_TRUE(closed->stream->Finish().ok());
  // No further message is read before the answer.
  v1::LocalizeStreamOptions one = Waiting();
  one.set_max_in_flight(1);
  const auto full = client_->Open(one);
  for (size_t i = 0; i < 6; ++i) EXPECT_LT(WaitNs(full->Ask(PairMessage(i, Short(i)))), kLimitNs);
  EXPECT_TRUE(full->Finish().ok());
  const auto edited = client_->Open(Waiting());
  edited->stream->Write(PairMessage(0, Short(0)));
  v1::LocalizeStreamRequest map;
  map.mutable_get_map()->set_frame_id(9);
  edited->stream->Write(map);
  EXPECT_LT(WaitNs(edited->Read()), kLimitNs);
  EXPECT_EQ(edited->Read().frame_id(), 9u);
  EXPECT_TRUE(edited->Finish().ok());
  // The client does not want it.
  const auto never = client_->Open(Waiting(0));
  EXPECT_LT(WaitNs(never->Ask(PairMessage(0, Short(0)))), kLimitNs);
  EXPECT_TRUE(never->Finish().ok());
}

TEST_F(ImuOrderTest, APairThatWaitsIsInNobodysWay) {
  const auto waits = client_->Open(Waiting());
  std::vector<std::unique_ptr<LocalizeClientStream>> others;
  for (int i = 0; i < 3; ++i) {  // more than lanes
    others.push_back(client_->Open(Waiting()));
    others.back()->stream->Write(PairMessage(0, Short(0)));
  }
  waits->stream->Write(PairMessage(0, Short(0)));
  v1::LocalizeStreamOptions plain = Options();
  plain.clear_imu();
  const auto free = client_->Open(plain);
  for (size_t i = 0; i < 5; ++i) EXPECT_LT(WaitNs(free->Ask(PairMessage(i))), kLimitNs);
  EXPECT_TRUE(free->Finish().ok());
  for (const auto& other : others) other->context.TryCancel();
  // What ends half of its age would be too late.
  v1::LocalizeStreamRequest aged = PairMessage(1, Short(1));
  aged.mutable_pair()->set_max_age_ns(kLimitNs);
  EXPECT_GE(WaitNs(waits->Read()), kLimitNs);
  const v1::LocalizeStreamResponse answer = waits->Ask(aged);
  EXPECT_EQ(answer.status().message(), "");
  EXPECT_GE(WaitNs(answer), kLimitNs / 2);
  EXPECT_TRUE(waits->Finish().ok());
}

TEST_F(ImuOrderTest, NewerPairsDoNotProlongAWait) {
  v1::LocalizeStreamOptions options = Waiting();
  options.set_overload_policy(v1::OVERLOAD_POLICY_LATEST);
  const auto open = client_->Open(options);
  for (size_t i = 0; i < 4; ++i) open->stream->Write(PairMessage(i, Short(i)));
  for (size_t i = 0; i < 3; ++i) {
    const v1::LocalizeStreamResponse older = open->Read();
    if (older.status().drop_reason() == v1::DROP_REASON_SUPERSEDED) continue;
    // The next pair's readings may have a lane begin this one, just before that takes its place.
    EXPECT_TRUE(older.has_location()) << older.ShortDebugString();
    EXPECT_FALSE(older.location().inertial().ahead_of_readings());
    EXPECT_LT(WaitNs(older), kLimitNs);
  }
  const v1::LocalizeStreamResponse answer = open->Read();
  EXPECT_TRUE(answer.location().inertial().ahead_of_readings());
  EXPECT_EQ(answer.location().inertial().readings().received(), 4 * 40);
  EXPECT_TRUE(open->Finish().ok());
}

TEST_F(ImuOrderTest, BadLimitsAreRefused) {
  constexpr char kError[] = "imu.max_wait_for_readings_ns: -1 is not in 0..1000000000";
  EXPECT_EQ(client_->Refusal(Waiting(-1)), kError);
  EXPECT_THAT(client_->Refusal(Waiting(kLimitNs + 1)), ::testing::HasSubstr("1000000001 is not in"));
}

// Bit for bit.
void ExpectSame(const std::vector<slam::PredictedPose>& expected, const v1::ImuPoses& found) {
  ASSERT_EQ(found.time_ns_size(), static_cast<int>(expected.size()));
  ASSERT_EQ(found.pose_size(), 7 * found.time_ns_size());
  ASSERT_EQ(found.velocity_size(), 3 * found.time_ns_size());
  ASSERT_EQ(found.covariance_size(), 21 * found.time_ns_size());
  for (int i = 0; i < found.time_ns_size(); ++i) {
    const slam::PredictedPose& pose = expected[static_cast<size_t>(i)];
    EXPECT_EQ(found.time_ns(i), pose.time_ns);
    const double sign = pose.world_from_camera.rotation.w() < 0 ? -1 : 1;
    EXPECT_EQ(found.pose(7 * i), sign * pose.world_from_camera.rotation.x());
    EXPECT_EQ(found.pose(7 * i + 3), sign * pose.world_from_camera.rotation.w());
    EXPECT_EQ(found.pose(7 * i + 6), pose.world_from_camera.translation.z());
    EXPECT_EQ(found.velocity(3 * i + 1), pose.velocity.y());
    EXPECT_EQ(found.covariance(21 * i), pose.covariance(0, 0));
    EXPECT_EQ(found.covariance(21 * i + 6), pose.covariance(1, 1));
    EXPECT_EQ(found.covariance(21 * i + 20), pose.covariance(5, 5));
  }
}

TEST_F(ImuOrderTest, PosesAreGivenBetweenPairs) {
  Requests requests;
  std::vector<std::vector<slam::PredictedPose>> expected;
  Library library;
  bool is_ready = false;
  Eigen::Vector3d last;
  for (size_t i = 0; i < pairs_.size(); ++i) {
    const slam::ImuReadings readings = Beyond(i);
    requests.push_back(Batch(readings));
    requests.back().mutable_add_imu()->set_poses(true);
    library.Add(readings);
    std::vector<int64_t> times;
    for (const slam::ImuReading& reading : readings.gyroscope) times.push_back(reading.time_ns);
    expected.emplace_back();
    library->PredictPoses(times, [&](const slam::PredictedPose& pose) { expected.back().push_back(pose); });
    EXPECT_THAT(expected.back(), SizeIs(is_ready ? times.size() - (times.front() <= TimeOf(i) - kFrameNs ? 1 : 0) : 0));
    if (is_ready) {
      EXPECT_GT(expected.back().front().time_ns, TimeOf(i) - kFrameNs);
      EXPECT_LT((expected.back().front().world_from_camera.translation - last).norm(), 0.03);
    }
    requests.push_back(PairMessage(i));
    const slam::LocalizerResult result = library.Track(pairs_[i], i);
    if (is_ready) {
      // The last one is half a step beyond.
      const slam::PredictedPose& pose = expected.back()[expected.back().size() - 1];
      const Eigen::Vector3d apart = pose.world_from_camera.translation - result.world_from_camera.translation;
      EXPECT_LT(apart.norm(), 0.03) << i;
    }
    is_ready = result.inertial.status == InertialStatus::kReady;
    last = result.world_from_camera.translation;
  }
  ASSERT_TRUE(is_ready);
  for (const bool reads_first : {true, false}) {
    const auto answers = Answers(requests, reads_first);
    for (size_t i = 0; i < pairs_.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_TRUE(answers[2 * i].imu().has_poses());
      ExpectSame(expected[i], answers[2 * i].imu().poses());
      EXPECT_FALSE(answers[2 * i + 1].location().inertial().ahead_of_readings());
    }
  }
}

// More than are found beside lanes.
TEST_F(ImuOrderTest, ManyPosesAreALanesWork) {
  Requests requests;
  Library library;
  for (size_t i = 0; i < pairs_.size(); ++i) {
    requests.push_back(PairMessage(i, Beyond(i)));
    library.Add(Beyond(i));
    library.Track(pairs_[i], i);
  }
  const int64_t from = TimeOf(pairs_.size() - 1) + kStepNs / 2;
  const slam::ImuReadings readings = ReadingsBetween(from, from + 1000 * kStepNs);  // 5 s
  requests.push_back(Batch(readings, 5));
  requests.back().mutable_add_imu()->set_poses(true);
  requests.push_back(Batch({}, 6));
  library.Add(readings);
  std::vector<int64_t> times;
  for (const slam::ImuReading& reading : readings.gyroscope) times.push_back(reading.time_ns);
  std::vector<slam::PredictedPose> expected;
  library->PredictPoses(times, [&](const slam::PredictedPose& pose) { expected.push_back(pose); });
  EXPECT_THAT(expected, SizeIs(1000));
  const auto answers = Answers(requests);
  EXPECT_EQ(answers[pairs_.size()].frame_id(), 5u);
  ExpectSame(expected, answers[pairs_.size()].imu().poses());
  EXPECT_EQ(answers.back().frame_id(), 6u);
  EXPECT_FALSE(answers.back().imu().has_poses());
}

}  // namespace
}  // namespace glint::testing
