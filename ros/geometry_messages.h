// ROS's geometry_msgs, nav_msgs and tf2_msgs; see messages.h. Metres, radians, seconds; quaternions are unit ones.
#ifndef GLINT_ROS_GEOMETRY_MESSAGES_H_
#define GLINT_ROS_GEOMETRY_MESSAGES_H_

#include <array>
#include <string>
#include <vector>

#include "ros/basic_messages.h"

namespace glint::ros {

struct Point {
  static constexpr char kName[] = "geometry_msgs/msg/Point";
  double x = 0, y = 0, z = 0;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("x", self.x);
    v("y", self.y);
    v("z", self.z);
  }
};

struct Vector3 {
  static constexpr char kName[] = "geometry_msgs/msg/Vector3";
  double x = 0, y = 0, z = 0;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("x", self.x);
    v("y", self.y);
    v("z", self.z);
  }
};

struct Quaternion {
  static constexpr char kName[] = "geometry_msgs/msg/Quaternion";
  double x = 0, y = 0, z = 0, w = 1;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("x", self.x);
    v("y", self.y);
    v("z", self.z);
    v("w", self.w);
  }
};

struct Pose {
  static constexpr char kName[] = "geometry_msgs/msg/Pose";
  Point position;
  Quaternion orientation;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("position", self.position);
    v("orientation", self.orientation);
  }
};

struct PoseStamped {
  static constexpr char kName[] = "geometry_msgs/msg/PoseStamped";
  Header header;
  Pose pose;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("header", self.header);
    v("pose", self.pose);
  }
};

// Covariances are 6x6 by rows: of x, y, z, then of rotations about x, y, z.
struct PoseWithCovariance {
  static constexpr char kName[] = "geometry_msgs/msg/PoseWithCovariance";
  Pose pose;
  std::array<double, 36> covariance = {};

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("pose", self.pose);
    v("covariance", self.covariance);
  }
};

struct PoseWithCovarianceStamped {
  static constexpr char kName[] = "geometry_msgs/msg/PoseWithCovarianceStamped";
  Header header;
  PoseWithCovariance pose;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("header", self.header);
    v("pose", self.pose);
  }
};

struct Twist {
  static constexpr char kName[] = "geometry_msgs/msg/Twist";
  Vector3 linear;
  Vector3 angular;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("linear", self.linear);
    v("angular", self.angular);
  }
};

struct TwistWithCovariance {
  static constexpr char kName[] = "geometry_msgs/msg/TwistWithCovariance";
  Twist twist;
  std::array<double, 36> covariance = {};

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("twist", self.twist);
    v("covariance", self.covariance);
  }
};

struct Transform {
  static constexpr char kName[] = "geometry_msgs/msg/Transform";
  Vector3 translation;
  Quaternion rotation;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("translation", self.translation);
    v("rotation", self.rotation);
  }
};

// p in header.frame_id = transform * p in child_frame_id.
struct TransformStamped {
  static constexpr char kName[] = "geometry_msgs/msg/TransformStamped";
  Header header;
  std::string child_frame_id;
  Transform transform;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("header", self.header);
    v("child_frame_id", self.child_frame_id);
    v("transform", self.transform);
  }
};

struct TFMessage {
  static constexpr char kName[] = "tf2_msgs/msg/TFMessage";
  std::vector<TransformStamped> transforms;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("transforms", self.transforms);
  }
};

// The pose is in header.frame_id, the twist in child_frame_id.
struct Odometry {
  static constexpr char kName[] = "nav_msgs/msg/Odometry";
  Header header;
  std::string child_frame_id;
  PoseWithCovariance pose;
  TwistWithCovariance twist;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("header", self.header);
    v("child_frame_id", self.child_frame_id);
    v("pose", self.pose);
    v("twist", self.twist);
  }
};

struct Path {
  static constexpr char kName[] = "nav_msgs/msg/Path";
  Header header;
  std::vector<PoseStamped> poses;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("header", self.header);
    v("poses", self.poses);
  }
};

}  // namespace glint::ros

#endif  // GLINT_ROS_GEOMETRY_MESSAGES_H_
