// Quality of service of topics, as far as nodes of ROS 2 set it.
#ifndef GLINT_ROS2_QOS_H_
#define GLINT_ROS2_QOS_H_

namespace glint::ros2 {

// A publisher that is reliable serves both kinds of subscription; one that is not reliable takes from both kinds of
// publisher.
struct Qos {
  bool reliable = true;
  bool transient_local = false;  // of a publisher: those that come later get the last `depth`
  int depth = 10;                // messages kept, 1..1000
};

inline constexpr Qos kSensorData = {false, false, 5};
inline constexpr Qos kLatched = {true, true, 1};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_QOS_H_
