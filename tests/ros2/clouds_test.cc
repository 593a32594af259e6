// Points and disparities, read back by what the messages say of their bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "ros2/convert/messages.h"
#include "tests/ros2/chain_path.h"

namespace glint::ros2 {
namespace {

using ros::PointField;
using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

const FrameNames kFrames = {"map", "odom", "base_link", "left_optical"};
constexpr int64_t kStamp = 5'000'000'006;

template <class T>
double NumberAt(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));  // these machines are little-endian
  return static_cast<double>(value);
}

double NumberOf(const PointField& field, const uint8_t* point) {
  const uint8_t* const at = point + field.offset;
  switch (field.datatype) {
    case PointField::kUint8:
      return NumberAt<uint8_t>(at);
    case PointField::kInt32:
      return NumberAt<int32_t>(at);
    case PointField::kFloat32:
      return NumberAt<float>(at);
    case PointField::kFloat64:
      return NumberAt<double>(at);
  }
  ADD_FAILURE() << field.name << " is of type " << int{field.datatype};
  return 0;
}

size_t BytesOf(const PointField& field) {
  return field.datatype == PointField::kUint8 ? 1 : field.datatype == PointField::kFloat64 ? 8 : 4;
}

// Each field's numbers, after what the message says of itself was checked.
std::map<std::string, std::vector<double>> Read(const ros::PointCloud2& cloud, const std::string& frame_id) {
  EXPECT_EQ(cloud.header.frame_id, frame_id);
  EXPECT_EQ(ros::NanosecondsOf(cloud.header.stamp), kStamp);
  EXPECT_EQ(cloud.height, 1U);
  EXPECT_EQ(cloud.row_step, cloud.width * cloud.point_step);
  EXPECT_EQ(cloud.data.size(), cloud.row_step);
  EXPECT_FALSE(cloud.is_bigendian);
  EXPECT_TRUE(cloud.is_dense);
  std::vector<int> users(cloud.point_step, 0);
  std::map<std::string, std::vector<double>> numbers;
  for (const PointField& field : cloud.fields) {
    EXPECT_EQ(field.count, 1U);
    EXPECT_EQ(field.offset % BytesOf(field), 0U) << field.name;
    for (size_t i = 0; i < BytesOf(field); ++i) ++users.at(field.offset + i);
    std::vector<double>& of_field = numbers[field.name];
    for (uint32_t i = 0; i < cloud.width; ++i) {
      of_field.push_back(NumberOf(field, cloud.data.data() + i * cloud.point_step));
    }
  }
  EXPECT_THAT(users, testing::Each(testing::Le(1)));  // no two fields in one place
  return numbers;
}

TEST(Clouds, MapIsInTheFrameOfTheMap) {
  const Eigen::Isometry3d map_from_world = SomeMounting();
  std::vector<uint8_t> data(7, 99);
  ros::PointCloud2 cloud;
  FillMapCloud({{1, 2, 3}, {-4, 5, 6}}, map_from_world, kStamp, kFrames, &data, &cloud);
  const auto points = Read(cloud, "map");
  ASSERT_EQ(cloud.width, 2U);
  for (size_t i = 0; i < 2; ++i) {
    const Eigen::Vector3d expected = map_from_world * (i == 0 ? Eigen::Vector3d(1, 2, 3) : Eigen::Vector3d(-4, 5, 6));
    EXPECT_NEAR(points.at("x")[i], expected.x(), 1e-6);
    EXPECT_NEAR(points.at("y")[i], expected.y(), 1e-6);
    EXPECT_NEAR(points.at("z")[i], expected.z(), 1e-6);
  }
  FillMapCloud({}, map_from_world, kStamp, kFrames, &data, &cloud);  // fewer than before
  EXPECT_EQ(Read(cloud, "map").at("x").size(), 0U);
  EXPECT_EQ(cloud.fields.size(), 3U);
}

Features SomeFeatures() {
  Features features;
  features.Resize(3, 0);
  features.x = {10.5F, 20, 30.25F};
  features.y = {1, 2.5F, 3};
  features.size = {31, 37.2F, 44.6F};
  features.angle = {0, 90, -1};
  features.response = {0.5F, 0.25F, 0.125F};
  features.octave = {0, 1, 7};
  return features;
}

TEST(Clouds, KeypointsAreInPixels) {
  std::vector<uint8_t> data;
  ros::PointCloud2 cloud;
  FillKeypoints(SomeFeatures(), kStamp, kFrames, &data, &cloud);
  const auto points = Read(cloud, "left_optical");
  EXPECT_THAT(points.at("x"), ElementsAre(10.5, 20, 30.25));
  EXPECT_THAT(points.at("y"), ElementsAre(1, 2.5, 3));
  EXPECT_THAT(points.at("z"), ElementsAre(0, 0, 0));
  EXPECT_THAT(points.at("response"), ElementsAre(0.5, 0.25, 0.125));
  EXPECT_THAT(points.at("size"), ElementsAre(31, 37.2F, 44.6F));
  EXPECT_THAT(points.at("angle"), ElementsAre(0, 90, -1));
  EXPECT_THAT(points.at("octave"), ElementsAre(0, 1, 7));
}

TEST(Clouds, TracksAreThoseOfAllCameras) {
  client::TrackAnswer answer;
  answer.cameras.resize(2);
  for (int c = 0; c < 2; ++c) {
    client::TrackArrays& tracks = answer.cameras[static_cast<size_t>(c)];
    tracks.camera = c;
    tracks.id = {7, uint64_t{1} << 40};
    tracks.age = {3, 100'000};
    tracks.x = {1.5F, 2.5F};
    tracks.y = {3.5F, 4.5F};
    tracks.last_x = {5, 6};
    tracks.last_y = {7, 8};
    tracks.state = {client::TrackState::kTracked, client::TrackState::kOutOfImage};
    tracks.residual = {0.25F, 0.5F};
  }
  std::vector<uint8_t> data;
  ros::PointCloud2 cloud;
  FillTracks(answer, kStamp, kFrames, &data, &cloud);
  auto points = Read(cloud, "left_optical");
  EXPECT_THAT(points.at("x"), ElementsAre(1.5, 2.5, 1.5, 2.5));
  EXPECT_THAT(points.at("y"), ElementsAre(3.5, 4.5, 3.5, 4.5));
  EXPECT_THAT(points.at("camera"), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(points.at("state"), ElementsAre(1, 3, 1, 3));
  EXPECT_THAT(points.at("id"), ElementsAre(7, 1099511627776.0, 7, 1099511627776.0));
  EXPECT_THAT(points.at("age"), ElementsAre(3, 100'000, 3, 100'000));
  EXPECT_THAT(points.at("last_x"), ElementsAre(5, 6, 5, 6));
  EXPECT_THAT(points.at("last_y"), ElementsAre(7, 8, 7, 8));
  EXPECT_THAT(points.at("residual"), ElementsAre(0.25, 0.5, 0.25, 0.5));
  EXPECT_EQ(points.count("ray_x"), 0U);

  for (client::TrackArrays& tracks : answer.cameras) tracks.rays = {{0.1F, 0.2F}, {0.3F, 0.4F}, {0.5F, 0.6F}};
  FillTracks(answer, kStamp, kFrames, &data, &cloud);
  points = Read(cloud, "left_optical");
  EXPECT_THAT(points.at("ray_x"), ElementsAre(0.1F, 0.2F, 0.1F, 0.2F));
  EXPECT_THAT(points.at("ray_y"), ElementsAre(0.3F, 0.4F, 0.3F, 0.4F));
  EXPECT_THAT(points.at("ray_z"), ElementsAre(0.5F, 0.6F, 0.5F, 0.6F));
}

// Keypoints 2 and 0 have matches.
client::StereoAnswer SomeStereo() {
  client::StereoAnswer answer;
  answer.left = SomeFeatures();
  answer.left_index = {2, 0};
  answer.right_x = {10.25F, 8.5F};
  answer.disparity = {20, 2};
  answer.distance = {10, 11};
  return answer;
}

const client::StereoCamera kCamera = {40, 8, 50, 20.25, 3, 0.5};

TEST(Clouds, StereoPointsAreInMetres) {
  std::vector<uint8_t> data;
  ros::PointCloud2 cloud;
  client::StereoCamera by_projections = {40, 8};
  by_projections.left_projection = {50, 0, 20.25, 10, 0, 50, 3, 0, 0, 0, 1, 0};
  by_projections.right_projection = {50, 0, 20.25, -15, 0, 50, 3, 0, 0, 0, 1, 0};
  for (const client::StereoCamera& camera : {kCamera, by_projections}) {
    FillStereoPoints(SomeStereo(), camera, kStamp, kFrames, &data, &cloud);
    const auto points = Read(cloud, "left_optical");
    // Depths 50 * 0.5 / 20 and 50 * 0.5 / 2.
    EXPECT_THAT(points.at("z"), ElementsAre(1.25, 12.5));
    EXPECT_THAT(points.at("x"), ElementsAre(0.25, (10.5F - 20.25F) / 50 * 12.5F));
    EXPECT_THAT(points.at("y"), ElementsAre(0, -0.5));
    EXPECT_THAT(points.at("u"), ElementsAre(30.25, 10.5));
    EXPECT_THAT(points.at("v"), ElementsAre(3, 1));
    EXPECT_THAT(points.at("disparity"), ElementsAre(20, 2));
    EXPECT_THAT(points.at("response"), ElementsAre(0.125, 0.5));
  }
  client::StereoAnswer far = SomeStereo();
  far.disparity = {0, -3};
  FillStereoPoints(far, kCamera, kStamp, kFrames, &data, &cloud);
  EXPECT_EQ(Read(cloud, "left_optical").at("x").size(), 0U);
  FillStereoPoints(SomeStereo(), {40, 8}, kStamp, kFrames, &data, &cloud);  // no baseline: no depths
  EXPECT_EQ(Read(cloud, "left_optical").at("x").size(), 0U);
}

TEST(Clouds, StereoPointsOfRawImagesAreInTheAxesOfTheRawCamera) {
  client::StereoAnswer answer = SomeStereo();
  client::RectifiedPair& pair = answer.rectified.emplace();
  pair.camera.fx = pair.camera.fy = 50;
  pair.camera.cx = 20.25;
  pair.camera.cy = 3;
  pair.camera.image = {40, 8};
  pair.baseline = 0.5;
  // A quarter turn: what is to the right in the rectified image is below in the raw one.
  pair.rectified_from_left << 0, 1, 0, -1, 0, 0, 0, 0, 1;
  std::vector<uint8_t> data;
  ros::PointCloud2 cloud;
  FillStereoPoints(answer, {}, kStamp, kFrames, &data, &cloud);
  const auto points = Read(cloud, "left_optical");
  EXPECT_THAT(points.at("x"), Pointwise(testing::DoubleNear(1e-6), {0.0, 0.5}));
  EXPECT_THAT(points.at("y"), Pointwise(testing::DoubleNear(1e-6), {0.25, -2.4375}));
  EXPECT_THAT(points.at("z"), ElementsAre(1.25, 12.5));
  ros::DisparityImage image;
  FillDisparity(answer, {}, kStamp, kFrames, &data, &image);
  EXPECT_EQ(image.image.width, 40U);
  EXPECT_EQ(image.f, 50);
  EXPECT_EQ(image.t, 0.5F);
}

TEST(Clouds, DisparitiesAreAtTheirPixels) {
  client::StereoAnswer answer = SomeStereo();
  // Keypoint 1 at the pixel of keypoint 0, but after it; and a keypoint that rounds to a place outside.
  answer.left.x = {10.4F, 9.6F, 39.6F};
  answer.left.y = {1, 1.4F, 3};
  answer.left_index = {0, 1, 2};
  answer.disparity = {2, 5, 7};
  std::vector<uint8_t> data(3, 99);
  ros::DisparityImage image;
  for (int again = 0; again < 2; ++again) {
    FillDisparity(answer, kCamera, kStamp, kFrames, &data, &image);
    EXPECT_EQ(image.header.frame_id, "left_optical");
    EXPECT_EQ(ros::NanosecondsOf(image.header.stamp), kStamp);
    EXPECT_EQ(image.image.header.frame_id, "left_optical");
    EXPECT_EQ(ros::NanosecondsOf(image.image.header.stamp), kStamp);
    EXPECT_EQ(image.image.encoding, "32FC1");
    EXPECT_EQ(image.image.width, 40U);
    EXPECT_EQ(image.image.height, 8U);
    EXPECT_EQ(image.image.step, 160U);
    EXPECT_EQ(image.image.is_bigendian, 0);
    EXPECT_EQ(image.f, 50);
    EXPECT_EQ(image.t, 0.5F);
    EXPECT_EQ(image.valid_window.width, 40U);
    EXPECT_EQ(image.valid_window.height, 8U);
    EXPECT_EQ(image.min_disparity, 0);
    EXPECT_EQ(image.max_disparity, 40);
    EXPECT_GT(image.delta_d, 0);
    ASSERT_EQ(image.image.data.size(), 160U * 8);
    for (size_t y = 0; y < 8; ++y) {
      for (size_t x = 0; x < 40; ++x) {
        const double disparity = NumberAt<float>(&image.image.data[160 * y + 4 * x]);
        EXPECT_EQ(disparity, x == 10 && y == 1 ? 2 : -1) << x << " " << y;
      }
    }
  }
}

}  // namespace
}  // namespace glint::ros2
