// Topics of recordings as sources: pictures, pairs, readings, and where sensors are.
#include "client/cli/source/bag_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "client/cli/base/command.h"
#include "client/cli/source/bag_file.h"
#include "client/cli/source/bag_flags.h"
#include "client/cli/source/bag_frames.h"
#include "client/cli/source/calibration.h"
#include "client/cli/source/imu_file.h"
#include "client/cli/source/pairs.h"
#include "ros/messages.h"
#include "tests/client/bag_writer.h"

namespace glint::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using BagSource = BagTest;

// Pictures of topics that belong together.
AlignedSource Open(const std::string& path, const std::vector<std::string>& topics) {
  VideoOptions video;
  video.bag = BagFile::Open(path).value();
  return AlignedSource::Open(topics, SendFormat::kGray, video).value();
}

TEST_F(BagSource, PairsAreMadeByTheTimesOfHeaders) {
  const cv::Mat pixels(16, 32, CV_8U, cv::Scalar(90));
  BagWriter bag(Path("gaps.mcap"));
  for (int i = 0; i < 10; ++i) {
    const int64_t time = TimeOf(i);
    if (i > 0 && i != 5) bag.Write("/l", time + 1, ImageOf(pixels, "mono8", time + 700'000));
    if (i != 3) bag.Write("/r", time + 2, ImageOf(pixels, "mono8", time));
  }
  bag.Close();
  AlignedSource source = Open(Path("gaps.mcap"), {"/l", "/r"});
  std::vector<Picture> pair;
  std::vector<int> found;
  absl::Status status;
  while ((status = source.Next(&pair)).ok()) {
    ASSERT_EQ(pair[0].time.value() - pair[1].time.value(), absl::Nanoseconds(700'000));
    found.push_back(static_cast<int>((absl::ToInt64Nanoseconds(*pair[1].time) - kBegin) / kStep));
  }
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
  EXPECT_THAT(found, ElementsAre(1, 2, 4, 6, 7, 8, 9));
  EXPECT_EQ(source.LeftOut(),
            "3 pictures have no partner and are left out: /r@1403636579.763555584, "
            "/l@1403636579.914255584, /r@1403636580.013555584");
}

TEST_F(BagSource, MessagesThatCannotBeReadAreSaidAndPassedOver) {
  const cv::Mat pixels(16, 32, CV_8U, cv::Scalar(90));
  BagWriter bag(Path("bad.mcap"));
  bag.Write("/cam", TimeOf(0), ImageOf(pixels, "mono8", TimeOf(0)));
  bag.WriteBytes("/cam", ros::Image::kName, TimeOf(1), {0, 1, 0, 0, 7});
  bag.Write("/cam", TimeOf(2), ImageOf(pixels, "none", TimeOf(2)));
  bag.Write("/cam", TimeOf(3), ImageOf(pixels, "mono8", TimeOf(3)));
  bag.Close();
  VideoOptions video;
  video.bag = BagFile::Open(Path("bad.mcap")).value();
  const auto source = OpenSource("", SendFormat::kGray, video).value();  // the only camera
  Picture picture;
  EXPECT_TRUE(source->Next(&picture).ok());
  EXPECT_EQ(picture.name, "/cam@1403636579.763555584");
  EXPECT_THAT(std::string(source->Next(&picture).message()), StartsWith("/cam@1403636579.813555584: "));
  EXPECT_THAT(std::string(source->Next(&picture).message()),
              AllOf(StartsWith("/cam@1403636579.863555584: "), HasSubstr("encoding")));
  EXPECT_TRUE(source->Next(&picture).ok());
  EXPECT_TRUE(absl::IsOutOfRange(source->Next(&picture)));
  EXPECT_TRUE(source->Rewind().ok());
  EXPECT_TRUE(source->Next(&picture).ok());
  EXPECT_EQ(picture.name, "/cam@1403636579.763555584");
  const Outcome outcome = RunCommand(RunStream, {"--bag", Path("bad.mcap"), "--server", "inproc", "--backend", "cpu"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.said, HasSubstr("/cam@1403636579.813555584: "));
  EXPECT_THAT(outcome.printed, AllOf(HasSubstr("4 frames"), HasSubstr("2 failed")));
}

TEST_F(BagSource, PixelsAreThoseOfTheEncoding) {
  cv::Mat colour(16, 32, CV_8UC3), depth(16, 32, CV_32F, cv::Scalar(1.2345)), gray;
  cv::randu(colour, 0, 256);
  depth.at<float>(0, 0) = std::numeric_limits<float>::quiet_NaN();
  std::vector<uint8_t> jpeg;
  ASSERT_TRUE(cv::imencode(".jpg", colour, jpeg));
  BagWriter bag(Path("all.mcap"));
  bag.Write("/rgb", kBegin, ImageOf(colour, "rgb8", kBegin));
  bag.Write("/depth", kBegin, ImageOf(depth, "32FC1", kBegin));
  ros::CompressedImage compressed;
  compressed.header.stamp = ros::TimeOf(kBegin);
  compressed.format = "jpeg";
  compressed.data = jpeg;
  bag.Write("/jpeg", kBegin, compressed);
  bag.Close();
  const auto file = BagFile::Open(Path("all.mcap")).value();
  const auto read = [&](const std::string& topic, SendFormat format) {
    Picture picture;
    const absl::Status status = OpenTopic(file, topic, format, true).value()->Next(&picture);
    EXPECT_TRUE(status.ok()) << status;
    return picture;
  };
  cv::cvtColor(colour, gray, cv::COLOR_RGB2GRAY);
  const Picture of_gray = read("/rgb", SendFormat::kGray), of_colour = read("/rgb", SendFormat::kColor);
  EXPECT_EQ(cv::norm(of_gray.pixels, gray, cv::NORM_L1), 0);
  ASSERT_TRUE(of_colour.raw.has_value());
  EXPECT_EQ(of_colour.raw->format, client::PixelFormat::kRgb8);
  EXPECT_EQ(of_colour.file, std::string(colour.datastart, colour.dataend));
  EXPECT_EQ(read("/jpeg", SendFormat::kGray).file, std::string(jpeg.begin(), jpeg.end()));
  file->SetDepth("/depth");
  const Picture of_depth = read("/depth", SendFormat::kGray);
  ASSERT_EQ(of_depth.pixels.type(), CV_16UC1);
  EXPECT_EQ(of_depth.pixels.at<uint16_t>(0, 0), 0);
  EXPECT_EQ(of_depth.pixels.at<uint16_t>(5, 5), 1235);  // millimetres
}

TEST_F(BagSource, ReadingsAreThoseOfAFile) {
  BagWriter bag(Path("imu.mcap"));
  std::string csv;
  for (int i = 0; i < 50; ++i) {
    const ros::Imu imu = ImuOf(i);
    ros::Imu gyro = imu, accel = imu;
    gyro.linear_acceleration = accel.angular_velocity = {};
    // Recorded out of order.
    bag.Write("/imu", TimeOf(0) + i, ImuOf(i ^ 1));
    bag.Write("/gyro", TimeOf(0) + i, gyro);
    bag.Write("/accel", TimeOf(0) + i, accel);
    absl::StrAppendFormat(&csv, "%d,%.17g,0.25,-0.5,0.125,-9.81,%.17g\n", ros::NanosecondsOf(imu.header.stamp),
                          imu.angular_velocity.x, imu.linear_acceleration.z);
  }
  bag.Close();
  std::ofstream(Path("imu.csv")) << csv;
  const ImuRecording wanted = ReadImu(Path("imu.csv")).value();
  const auto file = BagFile::Open(Path("imu.mcap")).value();
  const auto same = [](const std::vector<ImuRow>& a, const std::vector<ImuRow>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const ImuRow& x, const ImuRow& y) { return x.time_ns == y.time_ns && x.value == y.value; });
  };
  for (const char* topics : {"/imu", "/gyro,/accel"}) {
    const auto found = file->ReadImu(topics);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_TRUE(same(found->gyroscope, wanted.gyroscope)) << topics;
    EXPECT_TRUE(same(found->accelerometer, wanted.accelerometer)) << topics;
  }
  EXPECT_THAT(std::string(file->ReadImu("/accel,/gyro").status().message()),
              AllOf(HasSubstr("/accel: has no angular velocity"), HasSubstr("GYROSCOPE,ACCELEROMETER")));
  EXPECT_THAT(std::string(file->ReadImu("/gyro").status().message()), HasSubstr("/gyro: has no acceleration"));
}

TEST_F(BagSource, WhereTheSensorIsTheStaticTransformsSay) {
  // The camera looks along x of the robot, 1 m ahead of its origin.
  ros::TFMessage camera, imu;
  camera.transforms.push_back({{{}, "/base"}, "cam", {{1, 0, 0}, {-0.5, 0.5, -0.5, 0.5}}});
  imu.transforms.push_back({{{}, "base"}, "imu", {{0.1, 0.2, 0.3}, {0, 0, 0, 1}}});
  ros::Imu reading = ImuOf(1);
  reading.header.frame_id = "imu";
  BagWriter bag(Path("tf.mcap"));
  bag.Write("/tf_static", kBegin, imu);
  bag.Write("/tf_static", kBegin + 1, camera);
  bag.Write("/cam", kBegin, ImageOf(cv::Mat(16, 32, CV_8U, cv::Scalar(90)), "mono8", kBegin));
  bag.Write("/imu", kBegin, reading);
  reading.header.frame_id = "elsewhere";
  bag.Write("/loose", kBegin, reading);
  bag.Close();
  const auto file = BagFile::Open(Path("tf.mcap")).value();
  const auto found = CameraFromImu(file.get(), "/cam", "/imu");
  ASSERT_TRUE(found.has_value());
  Eigen::Matrix3d turned;
  turned << 0, -1, 0, 0, 0, -1, 1, 0, 0;
  EXPECT_TRUE(found->rotation.isApprox(turned, 1e-12)) << found->rotation;
  EXPECT_TRUE(found->translation.isApprox(Eigen::Vector3d(-0.2, -0.3, -0.9), 1e-12)) << found->translation;
  EXPECT_TRUE(CameraFromImu(file.get(), "/cam", "/imu,/imu").has_value());
  EXPECT_FALSE(CameraFromImu(file.get(), "/cam", "/loose").has_value());
  EXPECT_FALSE(CameraFromImu(file.get(), "/cam", "/imu,/loose").has_value());
}

TEST_F(BagSource, DepthsAreOfTheCamerasPixels) {
  const cv::Mat image(16, 32, CV_8U, cv::Scalar(90)), depth(16, 32, CV_32F, cv::Scalar(2.5));
  ros::CameraInfo info;
  info.width = 32;
  info.height = 16;
  info.distortion_model = "plumb_bob";
  info.d = {0, 0, 0, 0, 0};
  info.k = {20, 0, 15.5, 0, 20, 7.5, 0, 0, 1};
  info.r = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  info.p = {20, 0, 15.5, 0, 0, 20, 7.5, 0, 0, 0, 1, 0};
  BagWriter bag(Path("depth.mcap"));
  bag.Write("/color/image_raw", kBegin, ImageOf(image, "mono8", kBegin));
  bag.Write("/color/camera_info", kBegin, info);
  bag.Write("/aligned/image_raw", kBegin, ImageOf(depth, "32FC1", kBegin));
  bag.Write("/aligned/camera_info", kBegin, info);
  info.k[0] = 21;
  bag.Write("/other/image_raw", kBegin, ImageOf(depth, "32FC1", kBegin));
  bag.Write("/other/camera_info", kBegin, info);
  bag.Close();
  const auto take = [&](const std::string& topic, BagFlags* bag_flags, VideoOptions* video, CalibrationFlags* cameras) {
    Flags flags;
    bag_flags->AddTo(&flags, BagFlags::Topics::kPair);
    bag_flags->AddDepthTo(&flags);
    const auto operands =
        flags.Parse({"--bag", Path("depth.mcap"), "--left", "/color/image_raw", "--depth-topic", topic}).value();
    std::vector<std::string> sources = bag_flags->Sources(operands).value(), notes;
    EXPECT_THAT(sources, ElementsAre("/color/image_raw", topic));
    EXPECT_TRUE(bag_flags->Open(&sources, video).ok());
    return bag_flags->SetCalibration(sources, /*depth=*/true, /*needed=*/true, "", cameras, &notes);
  };
  BagFlags aligned, other;
  VideoOptions video, of_other;
  CalibrationFlags cameras, none;
  EXPECT_TRUE(take("/aligned/image_raw", &aligned, &video, &cameras).ok());
  EXPECT_EQ(cameras.ReadWithDepth({32, 16}).value().focal_length(), 20);
  EXPECT_TRUE(aligned.CheckDepthUnit(0.0002).ok());  // not known yet
  auto source = AlignedSource::Open({"/color/image_raw", "/aligned/image_raw"}, SendFormat::kGray, video).value();
  std::vector<Picture> pair;
  ASSERT_TRUE(source.Next(&pair).ok());
  EXPECT_EQ(pair[1].pixels.at<uint16_t>(3, 3), 2500);
  EXPECT_TRUE(aligned.CheckDepthUnit(0.001).ok());
  EXPECT_THAT(std::string(aligned.CheckDepthUnit(0.0002).message()), HasSubstr("give it as 0.001"));
  EXPECT_THAT(std::string(take("/other/image_raw", &other, &of_other, &none).message()),
              HasSubstr("the pixels of /other/image_raw are not those of /color/image_raw"));
}

}  // namespace
}  // namespace glint::cli
