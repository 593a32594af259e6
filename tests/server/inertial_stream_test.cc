// Localization with an inertial sensor as its clients see it: readings in pairs and in messages of their own, in any
// order, of pairs that are dropped; bad ones; counts and metrics. What the sensor is worth is tests/slam's
// matter: here answers are the library's, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "slam/localizer.h"
#include "tests/server/harness.h"
#include "tests/server/http_page.h"
#include "tests/server/inertial_messages.h"
#include "tests/server/localize_client.h"
#include "tests/server/localize_pairs.h"
#include "tests/support/random.h"

namespace glint::testing {
namespace {

using ::testing::SizeIs;

class LocalizingInertially : public ::testing::Test {
 protected:
  LocalizingInertially() {
    ServerOptions options = TestOptions();
    options.metrics_listen = "127.0.0.1:0";
    options.lanes.lanes = 2;
    server_ = std::make_unique<TestServer>(options);
    client_ = std::make_unique<LocalizeClient>(server_->channel());
  }
  v1::LocalizeStreamRequest PairMessage(size_t pair) const {
    v1::LocalizeStreamRequest request = Message(MakePair(pairs_[pair], TimeOf(pair)));
    SetImu(ReadingsOf(pair), request.mutable_pair()->mutable_imu());
    return request;
  }
  // What the library says after all readings up to the pair.
  slam::LocalizerResult Expected(size_t pair) {
    library_.Add(ReadingsOf(pair));
    return library_.Track(pairs_[pair], pair);
  }
  double Metric(const std::string& name) { return Sample(Http((*server_)->metrics_address(), "GET /metrics"), name); }

  std::vector<Pair> pairs_ = PairsAlongAWall(kShape, 40);
  Library library_;
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<LocalizeClient> client_;
};

// Without waiting for answers.
TEST_F(LocalizingInertially, ReadingsOfPairsAreTakenInTheirTurn) {
  const auto open = client_->Open(Options());
  for (size_t i = 0; i < pairs_.size(); ++i) open->stream->Write(PairMessage(i));
  v1::LocalizeStreamResponse response;
  for (size_t i = 0; i < pairs_.size(); ++i) {
    SCOPED_TRACE(i);
    response = open->Read();
    ExpectSame(Expected(i), response);
    EXPECT_EQ(response.location().inertial().readings().received(), static_cast<int64_t>(i + 1) * 40);
  }
  EXPECT_EQ(response.location().inertial().status(), v1::INERTIAL_STATUS_READY);
  EXPECT_TRUE(response.location().inertial().level());
  const v1::Vector& velocity = response.location().inertial().velocity();
  EXPECT_NEAR(std::hypot(velocity.x(), velocity.y(), velocity.z()), 1.6, 0.1);  // 0.16 m in 0.1 s
  EXPECT_EQ(Metric("glint_imu_readings_total"), 40 * static_cast<double>(pairs_.size()));
  EXPECT_EQ(Metric("glint_imu_faults_total{kind=\"late\"}"), 0);
  EXPECT_GT(Metric("glint_inertial_pairs_total{status=\"ready\"}"), 0);
  EXPECT_EQ(Metric("glint_inertial_pairs_total{status=\"ready\"}") +
                Metric("glint_inertial_pairs_total{status=\"initializing\"}"),
            static_cast<double>(pairs_.size()));
  EXPECT_TRUE(open->Finish().ok());
}

TEST_F(LocalizingInertially, ReadingsMayComeInMessagesAndInAnyOrder) {
  Random random(3);
  const auto shuffle = [&random](std::vector<slam::ImuReading>* readings) {
    for (size_t i = readings->size(); i > 1; --i) {
      std::swap((*readings)[i - 1], (*readings)[static_cast<size_t>(random.Uniform(0, static_cast<int>(i) - 1))]);
    }
  };
  const auto open = client_->Open(Options());
  for (size_t i = 0; i < pairs_.size(); ++i) {
    SCOPED_TRACE(i);
    slam::ImuReadings gyroscope = ReadingsOf(i), accelerometer;
    accelerometer.accelerometer.swap(gyroscope.accelerometer);
    shuffle(&gyroscope.gyroscope);
    shuffle(&accelerometer.accelerometer);
    const v1::LocalizeStreamResponse first = open->Ask(Batch(accelerometer, 77));
    EXPECT_EQ(first.frame_id(), 77u);
    EXPECT_EQ(first.imu().received(), static_cast<int64_t>(i) * 40 + 20);
    const v1::LocalizeStreamResponse second = open->Ask(Batch(gyroscope));
    EXPECT_EQ(second.imu().received(), static_cast<int64_t>(i + 1) * 40);
    EXPECT_GT(second.imu().unsorted(), 0);
    EXPECT_EQ(second.imu().late() + second.imu().duplicate() + second.imu().dropped(), 0);
    v1::LocalizeStreamRequest pair = PairMessage(i);
    pair.mutable_pair()->clear_imu();
    const slam::LocalizerResult expected = Expected(i);
    ExpectSame(expected, open->Ask(pair));
    EXPECT_EQ(second.map_keyframes(), i == 0 ? 0 : expected.keyframes - (expected.is_keyframe ? 1 : 0));
  }
  EXPECT_TRUE(open->Finish().ok());
}

// They are dropped before a lane begins them, or refused for their images.
TEST_F(LocalizingInertially, ReadingsOfDroppedAndBadPairsAreTaken) {
  const auto open = client_->Open(Options());
  v1::LocalizeStreamResponse response;
  for (size_t i = 0; i < pairs_.size(); ++i) {
    SCOPED_TRACE(i);
    v1::LocalizeStreamRequest pair = PairMessage(i);
    if (i % 5 == 2) pair.mutable_pair()->set_max_age_ns(1);
    if (i % 5 == 3) pair.mutable_pair()->clear_left();
    response = open->Ask(pair);
    if (i % 5 == 2) {
      EXPECT_EQ(response.status().code(), grpc::DEADLINE_EXCEEDED);
    } else if (i % 5 == 3) {
      EXPECT_EQ(response.status().code(), grpc::INVALID_ARGUMENT);
    }
    library_.Add(ReadingsOf(i));
    if (response.status().code() == grpc::OK) ExpectSame(library_.Track(pairs_[i], i), response);
  }
  EXPECT_EQ(response.location().inertial().readings().received(), static_cast<int64_t>(pairs_.size()) * 40);
  EXPECT_EQ(response.location().inertial().readings().missing(), 0);
  EXPECT_TRUE(open->Finish().ok());
}

TEST_F(LocalizingInertially, ACameraThatSeesNothingCoastsWithACovariance) {
  for (size_t i = 30; i < 36; ++i) {
    // All greys, but no corner.
    for (Image* image : {&pairs_[i].left, &pairs_[i].right}) {
      *image = Image(kShape.width, kShape.height);
      for (int y = 0; y < kShape.height; ++y) {
        for (int x = 0; x < kShape.width; ++x) image->row(y)[x] = static_cast<uint8_t>(200 * x / kShape.width + i);
      }
    }
  }
  const auto open = client_->Open(Options());
  double last = 0;
  for (size_t i = 0; i < pairs_.size(); ++i) {
    SCOPED_TRACE(i);
    const v1::LocalizeStreamResponse response = open->Ask(PairMessage(i));
    ExpectSame(Expected(i), response);
    if (i < 30 || i >= 36) continue;
    EXPECT_EQ(response.location().status(), v1::LOCATION_STATUS_COASTING);
    EXPECT_GT(response.location().inertial().blind_ns(), 0);
    ASSERT_THAT(response.location().covariance(), SizeIs(21));
    EXPECT_GT(response.location().covariance(20), last);  // of z
    last = response.location().covariance(20);
  }
  EXPECT_TRUE(open->Finish().ok());
}

TEST_F(LocalizingInertially, LateAndRepeatedReadingsAreCounted) {
  const auto open = client_->Open(Options());
  for (size_t i = 0; i < 3; ++i) open->Ask(PairMessage(i));
  const slam::ImuReadings late = ReadingsOf(1), next = ReadingsOf(3);
  EXPECT_EQ(open->Ask(Batch(late)).imu().late(), 40);
  v1::ImuReceived counts = open->Ask(Batch(next)).imu();
  EXPECT_EQ(counts.duplicate(), 0);
  counts = open->Ask(Batch(next)).imu();
  EXPECT_EQ(counts.received(), 240);
  EXPECT_EQ(counts.late(), 40);
  EXPECT_EQ(counts.duplicate(), 40);
  EXPECT_EQ(open->Ask(Batch(ReadingsBetween(TimeOf(3) + 10 * kStepNs, TimeOf(4)))).imu().missing(), 20);
  const v1::LocalizeStreamResponse nothing = open->Ask(Batch({}));
  EXPECT_EQ(nothing.imu().received(), 260);
  EXPECT_TRUE(nothing.has_imu());
  EXPECT_EQ(Metric("glint_imu_readings_total"), 260);
  EXPECT_EQ(Metric("glint_imu_faults_total{kind=\"late\"}"), 40);
  EXPECT_EQ(Metric("glint_imu_faults_total{kind=\"duplicate\"}"), 40);
  EXPECT_EQ(Metric("glint_imu_faults_total{kind=\"missing\"}"), 20);
  EXPECT_TRUE(open->Finish().ok());
}

// The rest of the message is left out, too, and the stream goes on as if it had not been.
TEST_F(LocalizingInertially, BadReadingsAreRefused) {
  const auto open = client_->Open(Options());
  for (size_t i = 0; i < 3; ++i) {
    v1::LocalizeStreamRequest bad = PairMessage(i);
    bad.mutable_pair()->mutable_imu()->mutable_angular_velocity()->RemoveLast();
    open->ExpectError(bad, grpc::INVALID_ARGUMENT,
                      "imu.angular_velocity: 59 values are not three for each of 20 times");
    bad = PairMessage(i);
    bad.mutable_pair()->mutable_imu()->set_acceleration(7, std::numeric_limits<double>::quiet_NaN());
    open->ExpectError(bad, grpc::INVALID_ARGUMENT, "imu.acceleration[7]: nan is not in -1");
    bad = Batch(ReadingsOf(i));
    bad.mutable_add_imu()->mutable_readings()->add_acceleration(1);
    open->ExpectError(bad, grpc::INVALID_ARGUMENT, "readings.acceleration: 61 values are not three for each of 20");
    bad = Batch(ReadingsOf(i));
    bad.mutable_add_imu()->mutable_readings()->mutable_gyroscope_time_ns()->Resize(5000, 1);
    open->ExpectError(bad, grpc::INVALID_ARGUMENT, "readings.gyroscope_time_ns: 5000 readings are more than 4096");
    ExpectSame(Expected(i), open->Ask(PairMessage(i)));
  }
  EXPECT_TRUE(open->Finish().ok());
}

TEST_F(LocalizingInertially, WithoutASensorThereAreNoReadings) {
  v1::LocalizeStreamOptions options = Options();
  options.clear_imu();
  const auto open = client_->Open(options);
  constexpr char kRefused[] = "imu: is given, but the stream's options say nothing of an inertial sensor";
  open->ExpectError(PairMessage(0), grpc::INVALID_ARGUMENT, kRefused);
  open->ExpectError(Batch(ReadingsOf(0)), grpc::INVALID_ARGUMENT, kRefused);
  v1::LocalizeStreamRequest pair = PairMessage(0);
  pair.mutable_pair()->clear_imu();
  const v1::LocalizeStreamResponse response = open->Ask(pair);
  EXPECT_EQ(response.location().status(), v1::LOCATION_STATUS_TRACKING);
  EXPECT_FALSE(response.location().has_inertial());
  EXPECT_TRUE(open->Finish().ok());
}

}  // namespace
}  // namespace glint::testing
