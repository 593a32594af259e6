// An inertial sensor on its way to the server and back: the client's messages, and those of glint localize --imu, as a
// server sees them.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/base/command.h"
#include "client/client.h"
#include "glint/v1/localization.grpc.pb.h"
#include "tests/support/images.h"

namespace glint {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Keeps what it is sent, and answers all of it: pairs with TRACKING and a sensor that is ready and level from the third
// pair on; the fourth coasts.
class Localization : public v1::Localization::Service {
 public:
  Localization() {
    std::string folder = ::testing::TempDir() + "glint-localization-XXXXXX";
    folder_ = mkdtemp(folder.data());
    address_ = "unix:" + folder_ + "/socket";
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Localization() override {
    server_->Shutdown();
    server_->Wait();
    std::filesystem::remove_all(folder_);
  }
  const std::string& address() const { return address_; }
  const std::vector<v1::LocalizeStreamRequest>& requests() const { return requests_; }

  bool knows_imu = true;

 private:
  grpc::Status LocalizeStream(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<v1::LocalizeStreamResponse, v1::LocalizeStreamRequest>* stream) override {
    v1::LocalizeStreamRequest request;
    int pairs = 0;
    while (stream->Read(&request)) {
      requests_.push_back(request);
      v1::LocalizeStreamResponse response;
      if (request.has_options()) continue;
      if (request.has_add_imu()) {
        response.set_frame_id(request.add_imu().frame_id());
        response.mutable_imu()->set_received(request.add_imu().readings().gyroscope_time_ns_size());
        response.mutable_imu()->set_frozen(2);
        if (request.add_imu().poses()) {
          v1::ImuPoses* const poses = response.mutable_imu()->mutable_poses();
          for (const int64_t time_ns : request.add_imu().readings().gyroscope_time_ns()) {
            poses->add_time_ns(time_ns);
            for (const double v : {0.0, 0.0, 0.6, 0.8, 1.5, 2.5, 3.5}) poses->add_pose(v);
            for (const double v : {4.0, 5.0, 6.0}) poses->add_velocity(v);
            for (int i = 0; i < 21; ++i) poses->add_covariance(i);
          }
        }
      } else {
        response.set_frame_id(request.pair().frame_id());
        Answer(++pairs, response.mutable_location());
      }
      stream->Write(response);
    }
    return grpc::Status::OK;
  }
  void Answer(int pair, v1::Location* location) const {
    location->mutable_pose()->set_qw(1);
    location->mutable_pose()->set_x(pair);
    location->set_status(pair == 4 ? v1::LOCATION_STATUS_COASTING : v1::LOCATION_STATUS_TRACKING);
    for (int i = 0; i < 21; ++i) location->add_covariance(1e-4);
    if (!knows_imu) return;
    v1::Inertial* const imu = location->mutable_inertial();
    imu->set_status(pair < 3 ? v1::INERTIAL_STATUS_INITIALIZING : v1::INERTIAL_STATUS_READY);
    imu->mutable_readings()->set_received(10 * pair);
    imu->mutable_readings()->set_missing(7);
    if (pair < 3) return;
    imu->set_level(true);
    imu->mutable_velocity()->set_y(0.5);
    imu->mutable_gyroscope_bias()->set_x(0.001);
    imu->mutable_accelerometer_bias()->set_z(-0.25);
    imu->set_velocity_sigma(0.125);
    imu->set_gyroscope_bias_sigma(0.0002);
    imu->set_accelerometer_bias_sigma(0.03);
    imu->set_rotation_innovation(0.75);
    imu->set_position_innovation(1.5);
    if (pair == 4) imu->set_blind_ns(100000000);
  }

  std::string folder_, address_;
  std::vector<v1::LocalizeStreamRequest> requests_;
  std::unique_ptr<grpc::Server> server_;
};

class LocalizeImu : public ::testing::Test {
 protected:
  Localization server_;
  const Image image_ = testing::Texture({32, 16}, 1);
};

TEST_F(LocalizeImu, TheClientSendsWhatItIsGiven) {
  const client::Client client = client::Client::Connect(server_.address()).value();
  client::LocalizeStreamOptions options;
  options.camera = {32, 16, 20, 15.5, 7.5, 0.1};
  client::InertialSensor& sensor = options.imu.emplace();
  sensor.camera_from_imu.rotation << 0, -1, 0, 0, 0, -1, 1, 0, 0;
  sensor.camera_from_imu.translation = {0.1, 0.2, 0.3};
  sensor.gyroscope_noise_density = 1;
  sensor.gyroscope_random_walk = 2;
  sensor.accelerometer_noise_density = 3;
  sensor.accelerometer_random_walk = 4;
  sensor.noise_inflation = 5;
  sensor.gravity = 9.8;
  sensor.imu_time_minus_camera_time_ns = -7;
  sensor.gyroscope_range = 8;
  sensor.accelerometer_range = 9;
  std::vector<client::LocalizeAnswer> answers;
  const auto stream =
      client.OpenLocalizeStream(options, [&](const client::LocalizeAnswer& answer) { answers.push_back(answer); });
  ASSERT_TRUE(stream.ok()) << stream.status();
  client::ImuReadings one, apart;
  one.Add(5, {1, 2, 3}, {4, 5, 6});
  one.Add(6, {7, 8, 9}, {10, 11, 12});
  apart.gyroscope_time_ns = {1};
  apart.angular_velocity = {{0.5, 0.25, 0.125}};
  apart.accelerometer_time_ns = {2, 3};
  apart.acceleration = {{0, 0, 9}, {0, 0, 10}};
  ASSERT_TRUE((*stream)->WriteImu(1, apart).ok());
  ASSERT_TRUE((*stream)->Write(2, image_, image_, 100, {}, {}, one).ok());
  ASSERT_TRUE((*stream)->Write(3, image_, image_, 200).ok());
  ASSERT_TRUE((*stream)->WriteDepth(4, image_, image_, 300, {}, apart).ok());
  ASSERT_TRUE((*stream)->Write(5, image_, image_, 400).ok());
  ASSERT_TRUE((*stream)->Finish().ok());

  const auto& sent = server_.requests();
  ASSERT_THAT(sent, SizeIs(6));
  const v1::InertialSensor& imu = sent[0].options().imu();
  EXPECT_THAT(imu.camera_from_imu().rotation(), ElementsAre(0, -1, 0, 0, 0, -1, 1, 0, 0));
  EXPECT_EQ(imu.camera_from_imu().x(), 0.1);
  EXPECT_EQ(imu.camera_from_imu().y(), 0.2);
  EXPECT_EQ(imu.camera_from_imu().z(), 0.3);
  EXPECT_EQ(imu.gyroscope_noise_density(), 1);
  EXPECT_EQ(imu.gyroscope_random_walk(), 2);
  EXPECT_EQ(imu.accelerometer_noise_density(), 3);
  EXPECT_EQ(imu.accelerometer_random_walk(), 4);
  EXPECT_EQ(imu.noise_inflation(), 5);
  EXPECT_EQ(imu.gravity(), 9.8);
  EXPECT_EQ(imu.imu_time_minus_camera_time_ns(), -7);
  EXPECT_EQ(imu.gyroscope_range(), 8);
  EXPECT_EQ(imu.accelerometer_range(), 9);
  const v1::ImuReadings& alone = sent[1].add_imu().readings();
  EXPECT_THAT(alone.gyroscope_time_ns(), ElementsAre(1));
  EXPECT_THAT(alone.angular_velocity(), ElementsAre(0.5, 0.25, 0.125));
  EXPECT_THAT(alone.accelerometer_time_ns(), ElementsAre(2, 3));
  EXPECT_THAT(alone.acceleration(), ElementsAre(0, 0, 9, 0, 0, 10));
  const v1::ImuReadings& with = sent[2].pair().imu();
  EXPECT_THAT(with.gyroscope_time_ns(), ElementsAre(5, 6));
  EXPECT_THAT(with.angular_velocity(), ElementsAre(1, 2, 3, 7, 8, 9));
  EXPECT_THAT(with.accelerometer_time_ns(), SizeIs(0));
  EXPECT_THAT(with.acceleration(), ElementsAre(4, 5, 6, 10, 11, 12));
  EXPECT_FALSE(sent[3].pair().has_imu());  // not those of the message before
  EXPECT_TRUE(sent[4].pair().has_depth());
  EXPECT_THAT(sent[4].pair().imu().acceleration(), SizeIs(6));

  ASSERT_THAT(answers, SizeIs(5));
  EXPECT_EQ(answers[0].imu.received, 1);
  EXPECT_EQ(answers[0].imu.frozen, 2);
  ASSERT_TRUE(answers[1].location.inertial.has_value());
  EXPECT_EQ(answers[1].location.inertial->status, client::InertialStatus::kInitializing);
  EXPECT_FALSE(answers[1].location.inertial->level);
  const client::Location& coasting = answers[4].location;
  EXPECT_EQ(coasting.status, client::LocationStatus::kCoasting);
  EXPECT_TRUE(coasting.has_covariance);
  ASSERT_TRUE(coasting.inertial.has_value());
  const client::Inertial& found = *coasting.inertial;
  EXPECT_EQ(found.status, client::InertialStatus::kReady);
  EXPECT_TRUE(found.level);
  EXPECT_THAT(found.velocity, ElementsAre(0, 0.5, 0));
  EXPECT_THAT(found.gyroscope_bias, ElementsAre(0.001, 0, 0));
  EXPECT_THAT(found.accelerometer_bias, ElementsAre(0, 0, -0.25));
  EXPECT_EQ(found.velocity_sigma, 0.125);
  EXPECT_EQ(found.gyroscope_bias_sigma, 0.0002);
  EXPECT_EQ(found.accelerometer_bias_sigma, 0.03);
  EXPECT_EQ(found.rotation_innovation, 0.75);
  EXPECT_EQ(found.position_innovation, 1.5);
  EXPECT_DOUBLE_EQ(found.blind_seconds, 0.1);
  EXPECT_EQ(found.readings.received, 40);
  EXPECT_EQ(found.readings.missing, 7);
}

TEST_F(LocalizeImu, PosesAreAskedForAndRead) {
  const client::Client client = client::Client::Connect(server_.address()).value();
  std::vector<client::LocalizeAnswer> answers;
  client::LocalizeStreamOptions options;
  options.camera = {32, 16, 20, 15.5, 7.5, 0.1};
  options.imu.emplace().max_wait_for_readings_ns = 0;
  auto stream = client.OpenLocalizeStream(
      options, [&answers](const client::LocalizeAnswer& answer) { answers.push_back(answer); });
  ASSERT_TRUE(stream.ok()) << stream.status();
  client::ImuReadings readings;
  readings.Add(5, {}, {});
  readings.Add(7, {}, {});
  EXPECT_TRUE((*stream)->WriteImu(1, readings, /*poses=*/true).ok());
  EXPECT_TRUE((*stream)->WriteImu(2, readings).ok());
  EXPECT_TRUE((*stream)->Finish().ok());
  EXPECT_TRUE(server_.requests()[0].options().imu().has_max_wait_for_readings_ns());
  ASSERT_THAT(answers, SizeIs(2));
  ASSERT_THAT(answers[0].imu_poses, SizeIs(2));
  const client::ImuPose& pose = answers[0].imu_poses[1];
  EXPECT_EQ(pose.time_ns, 7);
  EXPECT_THAT(pose.pose.rotation, ElementsAre(0, 0, 0.6, 0.8));
  EXPECT_THAT(pose.pose.position, ElementsAre(1.5, 2.5, 3.5));
  EXPECT_THAT(pose.velocity, ElementsAre(4, 5, 6));
  EXPECT_EQ(pose.covariance[20], 20);
  EXPECT_THAT(answers[1].imu_poses, SizeIs(0));
}

TEST_F(LocalizeImu, WithoutASensorNothingIsSent) {
  const client::Client client = client::Client::Connect(server_.address()).value();
  client::LocalizeStreamOptions options;
  options.camera = {32, 16, 20, 15.5, 7.5, 0.1};
  const auto stream = client.OpenLocalizeStream(options, nullptr);
  ASSERT_TRUE(stream.ok()) << stream.status();
  ASSERT_TRUE((*stream)->Write(1, image_, image_, 100).ok());
  ASSERT_TRUE((*stream)->Finish().ok());
  ASSERT_THAT(server_.requests(), SizeIs(2));
  EXPECT_FALSE(server_.requests()[0].options().has_imu());
  EXPECT_FALSE(server_.requests()[1].pair().has_imu());
}

struct Outcome {
  int status;
  std::vector<std::string> rows;  // of the output, with its header
  std::string said;
};

// Five pairs at 10 Hz from 1000 s on, as folders of files whose names are their times, and readings at 100 Hz from
// 990 s on.
class LocalizeImuCommand : public LocalizeImu {
 protected:
  LocalizeImuCommand() {
    std::filesystem::remove_all(folder_);
    for (const char* side : {"left", "right", "numbered"}) std::filesystem::create_directories(Path(side));
    const cv::Mat pixels(16, 32, CV_8U, cv::Scalar(90));
    for (int i = 0; i < 5; ++i) {
      const std::string name = absl::StrCat(1'000'000'000'000'000'000 + 100'000'000 * i, ".png");
      for (const char* side : {"left", "right"}) EXPECT_TRUE(cv::imwrite(Path(absl::StrCat(side, "/", name)), pixels));
      EXPECT_TRUE(cv::imwrite(Path(absl::StrCat("numbered/", i, ".png")), pixels));
    }
    std::string lines = "#timestamp [ns],w_x,w_y,w_z,a_x,a_y,a_z\n";
    for (int i = -1000; i < 100; ++i) {
      absl::StrAppend(&lines, 1'000'000'000'000'000'000 + int64_t{10'000'000} * i, ",", i, ",0,0,0,0,9.81\n");
    }
    Write("imu.csv", lines);
    Write("pose.txt", "1 0 0 0.1 0 1 0 0 0 0 1 0");
    Write("times.txt", "1000000000.0\n1000000000.1\n1000000000.2\n1000000000.3\n");
    Write("calib.txt", "P0: 20 0 15.5 0 0 20 7.5 0 0 0 1 0\nP1: 20 0 15.5 -2 0 20 7.5 0 0 0 1 0\n");
  }
  ~LocalizeImuCommand() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }
  Outcome Run(std::vector<std::string> arguments, const std::string& pictures = "left,right") {
    arguments.insert(arguments.end(), {"--server", server_.address(), "--calibration", Path("calib.txt"), "--output",
                                       Path("out"), "--trajectory", Path("path.txt")});
    for (const absl::string_view side : absl::StrSplit(pictures, ',')) arguments.push_back(Path(std::string(side)));
    ::testing::internal::CaptureStderr();
    Outcome outcome = {cli::RunLocalize(arguments), {}, ""};
    outcome.said = ::testing::internal::GetCapturedStderr();
    std::ifstream out(Path("out"));
    for (std::string line; std::getline(out, line);) outcome.rows.push_back(line);
    return outcome;
  }
  // The gyroscope's x of the readings of a pair or of a message of their own, which are their numbers.
  static std::vector<double> NumbersOf(const v1::ImuReadings& readings) {
    std::vector<double> numbers;
    for (int i = 0; i < readings.angular_velocity_size(); i += 3) numbers.push_back(readings.angular_velocity(i));
    return numbers;
  }

  const std::string folder_ = absl::StrCat(::testing::TempDir(), "localize-imu-", getpid());
};

TEST_F(LocalizeImuCommand, PairsHaveTheReadingsSinceTheLast) {
  const Outcome outcome = Run({"--imu", Path("imu.csv"), "--camera-from-imu", Path("pose.txt"), "--csv"});
  EXPECT_EQ(outcome.status, 0) << outcome.said;
  const auto& sent = server_.requests();
  ASSERT_THAT(sent, SizeIs(6));
  EXPECT_EQ(sent[0].options().imu().camera_from_imu().x(), 0.1);
  const std::vector<double> first = NumbersOf(sent[1].pair().imu());
  EXPECT_THAT(first, SizeIs(101));  // of a second before
  EXPECT_EQ(first.back(), 0);
  for (int i = 2; i < 6; ++i) {
    const std::vector<double> numbers = NumbersOf(sent[static_cast<size_t>(i)].pair().imu());
    ASSERT_THAT(numbers, SizeIs(10)) << i;
    EXPECT_EQ(numbers.front(), 10 * (i - 2) + 1);
    EXPECT_EQ(numbers.back(), 10 * (i - 1));  // at the pair's time
  }
  EXPECT_THAT(outcome.said, HasSubstr("imu.csv: 1100 readings of 999999990.000 to 1000000000.990 s, 100.0 Hz"));
  ASSERT_THAT(outcome.rows, SizeIs(6));
  EXPECT_THAT(outcome.rows[0], HasSubstr(",map,inertial,vx,vy,vz,gyroscope_bias_x,"));
  EXPECT_THAT(outcome.rows[1], HasSubstr(",INITIALIZING,,,,,,,,,,0"));
  EXPECT_THAT(outcome.rows[4], HasSubstr(",READY,0,0.5,0,0.001,0,0,0,0,-0.25,0.1"));
  // Two pairs before the world is level, one of two after is located.
  EXPECT_THAT(outcome.said, HasSubstr("warning: 2 pairs were located "));
}

TEST_F(LocalizeImuCommand, PosesOfReadingsAreAFile) {
  const Outcome outcome = Run(
      {"--imu", Path("imu.csv"), "--camera-from-imu", Path("pose.txt"), "--csv", "--imu-poses", Path("imu_path.txt")});
  EXPECT_EQ(outcome.status, 0) << outcome.said;
  const auto& sent = server_.requests();
  ASSERT_THAT(sent, SizeIs(11));
  for (size_t i = 1; i < sent.size(); i += 2) {
    EXPECT_TRUE(sent[i].add_imu().poses());
    EXPECT_TRUE(sent[i + 1].has_pair() && !sent[i + 1].pair().has_imu());
  }
  std::ifstream file(Path("imu_path.txt"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  ASSERT_THAT(lines, SizeIs(101 + 4 * 10));
  EXPECT_THAT(lines[0], ::testing::StartsWith("999999999.0"));
  EXPECT_THAT(lines[0], HasSubstr(" 1.5 2.5 3.5 0 0 0.6"));
  EXPECT_THAT(lines.back(), ::testing::StartsWith("1000000000.4"));
}

TEST_F(LocalizeImuCommand, TheTableEndsWithTheSensor) {
  const Outcome outcome = Run({"--imu", Path("imu.csv"), "--camera-from-imu", Path("pose.txt")});
  ASSERT_THAT(outcome.rows, SizeIs(7)) << outcome.said;
  EXPECT_THAT(outcome.rows[0], HasSubstr(", imu INITIALIZING, "));
  EXPECT_EQ(outcome.rows[6],
            "imu: READY; 3 of 5 pairs with it ready; 1 coasted on it, up to 0.10 s; bias: gyroscope 0.001 0 0 rad/s, "
            "+-0.0002, accelerometer 0 0 -0.25 m/s^2, +-0.03; 50 readings, 7 missing");
}

TEST_F(LocalizeImuCommand, TimesOfPairsMayBeInAFile) {
  const Outcome outcome = Run({"--imu", Path("imu.csv"), "--camera-from-imu", Path("pose.txt"), "--times",
                               Path("times.txt"), "--imu-time-offset", "0.02"},
                              "numbered,numbered");
  const auto& sent = server_.requests();
  ASSERT_THAT(sent, SizeIs(5)) << outcome.said;  // the fifth pair has no time
  EXPECT_EQ(sent[4].pair().time_ns(), 1'000'000'000'300'000'000);
  EXPECT_EQ(NumbersOf(sent[4].pair().imu()).back(), 32);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.said, HasSubstr("times.txt: has 4 times, and "));
}

TEST_F(LocalizeImuCommand, MistakesAreSaidBeforeAnythingIsSent) {
  const std::string imu = Path("imu.csv"), pose = Path("pose.txt");
  Write("late.csv", "0,0,0,0,0,0,9\n0.01,0,0,0,0,0,9\n");
  Write("bad.csv", "0,0,0,0,0,0,9\n0.01,0,0,0,0,9\n");
  EXPECT_THAT(Run({"--imu", imu}).said,
              HasSubstr("option '--imu': the calibration has no inertial sensor; --camera-f"));
  EXPECT_THAT(Run({"--imu", Path("late.csv"), "--camera-from-imu", pose}).said,
              AllOf(HasSubstr("the first pair is of 1000000000.000 s"), HasSubstr("not of one clock")));
  EXPECT_THAT(Run({"--imu", imu, "--camera-from-imu", pose}, "numbered,numbered").said,
              HasSubstr("option '--imu': the names of the pictures are no times"));
  EXPECT_THAT(Run({"--imu", Path("bad.csv"), "--camera-from-imu", pose}).said, HasSubstr("bad.csv:2: "));
  EXPECT_EQ(Run({"--imu", Path("bad.csv"), "--camera-from-imu", pose}).status, 1);
  EXPECT_THAT(server_.requests(), SizeIs(0));
}

TEST_F(LocalizeImuCommand, AServerThatDoesNotKnowItIsNamed) {
  server_.knows_imu = false;
  const Outcome outcome = Run({"--imu", Path("imu.csv"), "--camera-from-imu", Path("pose.txt"), "--csv"});
  EXPECT_THAT(outcome.said, HasSubstr("warning: the server has not used --imu"));
  EXPECT_THAT(outcome.rows[1], HasSubstr(",0,,,,,,,,,,,"));
}

}  // namespace
}  // namespace glint
