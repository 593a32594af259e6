// ROS's sensor_msgs and stereo_msgs; see messages.h.
#ifndef GLINT_ROS_SENSOR_MESSAGES_H_
#define GLINT_ROS_SENSOR_MESSAGES_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ros/basic_messages.h"
#include "ros/geometry_messages.h"

namespace glint::ros {

// What pixels `data` has is told by PixelsOf() (ros/image.h).
struct Image {
  static constexpr char kName[] = "sensor_msgs/msg/Image";
  Header header;
  uint32_t height = 0;  // pixels
  uint32_t width = 0;   // pixels
  std::string encoding;
  uint8_t is_bigendian = 0;
  uint32_t step = 0;  // bytes from row to row
  absl::Span<const uint8_t> data;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("header", self.header);
    v("height", self.height);
    v("width", self.width);
    v("encoding", self.encoding);
    v("is_bigendian", self.is_bigendian);
    v("step", self.step);
    v("data", self.data);
  }
};

struct CompressedImage {
  static constexpr char kName[] = "sensor_msgs/msg/CompressedImage";
  Header header;
  std::string format;
  absl::Span<const uint8_t> data;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("header", self.header);
    v("format", self.format);
    v("data", self.data);
  }
};

struct RegionOfInterest {
  static constexpr char kName[] = "sensor_msgs/msg/RegionOfInterest";
  uint32_t x_offset = 0;
  uint32_t y_offset = 0;
  uint32_t height = 0;
  uint32_t width = 0;
  bool do_rectify = false;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("x_offset", self.x_offset);
    v("y_offset", self.y_offset);
    v("height", self.height);
    v("width", self.width);
    v("do_rectify", self.do_rectify);
  }
};

// d, k, r, p: D, K, R, P of ROS 1; matrices by rows.
struct CameraInfo {
  static constexpr char kName[] = "sensor_msgs/msg/CameraInfo";
  Header header;
  uint32_t height = 0;
  uint32_t width = 0;
  std::string distortion_model;
  std::vector<double> d;
  std::array<double, 9> k = {};
  std::array<double, 9> r = {};
  std::array<double, 12> p = {};
  uint32_t binning_x = 0;
  uint32_t binning_y = 0;
  RegionOfInterest roi;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("header", self.header);
    v("height", self.height);
    v("width", self.width);
    v("distortion_model", self.distortion_model);
    v("d", self.d);
    v("k", self.k);
    v("r", self.r);
    v("p", self.p);
    v("binning_x", self.binning_x);
    v("binning_y", self.binning_y);
    v("roi", self.roi);
  }
};

// rad/s and m/s^2, gravity's reaction included. Covariances are 3x3 by rows; the first element of one is -1 where the
// sensor has no such value.
struct Imu {
  static constexpr char kName[] = "sensor_msgs/msg/Imu";
  Header header;
  Quaternion orientation;
  std::array<double, 9> orientation_covariance = {};
  Vector3 angular_velocity;
  std::array<double, 9> angular_velocity_covariance = {};
  Vector3 linear_acceleration;
  std::array<double, 9> linear_acceleration_covariance = {};

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("header", self.header);
    v("orientation", self.orientation);
    v("orientation_covariance", self.orientation_covariance);
    v("angular_velocity", self.angular_velocity);
    v("angular_velocity_covariance", self.angular_velocity_covariance);
    v("linear_acceleration", self.linear_acceleration);
    v("linear_acceleration_covariance", self.linear_acceleration_covariance);
  }
};

struct PointField {
  static constexpr char kName[] = "sensor_msgs/msg/PointField";
  static constexpr uint8_t kInt8 = 1, kUint8 = 2, kInt16 = 3, kUint16 = 4, kInt32 = 5, kUint32 = 6, kFloat32 = 7,
                           kFloat64 = 8;
  std::string name;
  uint32_t offset = 0;  // bytes from the beginning of a point
  uint8_t datatype = 0;
  uint32_t count = 0;  // elements

  template <class V>
  static void VisitConstants(V&& v) {
    v("INT8", kInt8);
    v("UINT8", kUint8);
    v("INT16", kInt16);
    v("UINT16", kUint16);
    v("INT32", kInt32);
    v("UINT32", kUint32);
    v("FLOAT32", kFloat32);
    v("FLOAT64", kFloat64);
  }
  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("name", self.name);
    v("offset", self.offset);
    v("datatype", self.datatype);
    v("count", self.count);
  }
};

struct PointCloud2 {
  static constexpr char kName[] = "sensor_msgs/msg/PointCloud2";
  Header header;
  uint32_t height = 0;
  uint32_t width = 0;
  std::vector<PointField> fields;
  bool is_bigendian = false;
  uint32_t point_step = 0;  // bytes
  uint32_t row_step = 0;    // bytes
  absl::Span<const uint8_t> data;
  bool is_dense = false;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("header", self.header);
    v("height", self.height);
    v("width", self.width);
    v("fields", self.fields);
    v("is_bigendian", self.is_bigendian);
    v("point_step", self.point_step);
    v("row_step", self.row_step);
    v("data", self.data);
    v("is_dense", self.is_dense);
  }
};

// `image` has encoding 32FC1; depth = f * t / disparity, in metres.
struct DisparityImage {
  static constexpr char kName[] = "stereo_msgs/msg/DisparityImage";
  Header header;
  Image image;
  float f = 0;  // pixels
  float t = 0;  // metres
  RegionOfInterest valid_window;
  float min_disparity = 0;
  float max_disparity = 0;
  float delta_d = 0;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("header", self.header);
    v("image", self.image);
    v("f", self.f);
    v("t", self.t);
    v("valid_window", self.valid_window);
    v("min_disparity", self.min_disparity);
    v("max_disparity", self.max_disparity);
    v("delta_d", self.delta_d);
  }
};

}  // namespace glint::ros

#endif  // GLINT_ROS_SENSOR_MESSAGES_H_
