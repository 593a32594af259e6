// map -> odom -> base_link, by REP 105: odom to base goes on smoothly, and what corrects the map moves map to odom
// alone. Frames are those of REP 103: x ahead, y left, z up.
// https://www.ros.org/reps/rep-0105.html, rep-0103.html
//
// map: the base as it was at the map's first pair. In a world that an inertial sensor has made level: z up, x where the
// base was heading, the origin where the base was, both but for its tilt. It follows from the world and the mounting
// alone, so that a map which is loaded again has the frame that it had. A camera that looks up or down, by the
// mounting, heads where its images' upper edge is, as for Inertial.level.
// odom: the map at the first located pair. It moves against the map with each correction of that (below).
//
// A step from one located pair to the next is the camera's motion in the world, less what moved the world meanwhile
// (Location::world_correction), and goes into odom, also over pairs that were not located. It is not known for another
// map_id that no correction explains, RELOCALIZED, NEW_MAP, and another stream. Then it is the motion of the step
// before, gone on with for as long as the step takes, with the inertial sensor's velocity where that is known; none if
// it takes over kLongestStep, or no velocity is known.
#ifndef GLINT_ROS2_CONVERT_POSE_CHAIN_H_
#define GLINT_ROS2_CONVERT_POSE_CHAIN_H_

#include <Eigen/Geometry>
#include <array>
#include <cstdint>
#include <optional>

#include "client/matching.h"
#include "features/camera/rig.h"
#include "proto/location.h"

namespace glint::ros2 {

inline constexpr double kLongestStep = 0.5;  // seconds that a velocity is taken from, or gone on with

// As ROS has it: rows and columns x, y, z, then rotations about the fixed axes x, y, z of the frame that it is in.
using Covariance = std::array<double, 36>;

// After a located pair.
struct ChainPose {
  int64_t stamp_ns = 0;
  Eigen::Isometry3d map_from_odom = Eigen::Isometry3d::Identity();
  Eigen::Isometry3d odom_from_base = Eigen::Isometry3d::Identity();
  Eigen::Isometry3d map_from_base = Eigen::Isometry3d::Identity();  // the product of both
  // Of the base beside the map; in the axes of map, and of odom. Odom's own drift is not in it. Nothing: not known, as
  // of a map's first pair.
  std::optional<Covariance> covariance, odom_covariance;
  // Of the base in its own axes, m/s and rad/s: the mean of the last step, or `linear` by the inertial sensor. Nothing:
  // not known, as after the first pair.
  std::optional<std::array<double, 3>> linear, angular;
  // Of these, in the base's axes: from those of both poses, as if their errors had nothing in common, which is more
  // than the truth. Nothing: not known, as after a step that was not measured.
  std::optional<Covariance> twist_covariance;
  int map_id = 0;
  bool jumped = false;  // map_from_odom has moved
  bool new_world =
      false;  // what is in the map's frame from before means another place: another map, or it is level now
};

// Takes coordinates of a camera (x right, y down, z ahead) to those of a base in its place.
Eigen::Isometry3d BaseAtCamera();

Eigen::Isometry3d ToIsometry(const RigidTransform& transform);

// Base from the camera that poses are of: the left camera, or with raw images the rectified one.
Eigen::Isometry3d BaseFromPosed(const Eigen::Isometry3d& base_from_left,
                                const std::optional<client::RectifiedPair>& rectified);

// Thread-compatible.
class PoseChain {
 public:
  // `base_from_camera` takes coordinates of the camera that poses are of to those of the base. `base_from_imu`, of the
  // inertial sensor if there is one: where it is, for velocities.
  explicit PoseChain(const Eigen::Isometry3d& base_from_camera,
                     const std::optional<Eigen::Isometry3d>& base_from_imu = std::nullopt);

  // Of the answer to each pair in the order of the pairs, but not to a request to relocalize. Stamps are below 2^62 in
  // size. Nothing: it is not located, or what it says is not finite.
  std::optional<ChainPose> Take(const Location& location, int64_t stamp_ns);

  // The next location is of another stream, whose worlds and ids have nothing to do with those before. odom goes on.
  void BeginStream();

  // Takes points of the world that the last location was in, located or not, to the map's frame.
  const Eigen::Isometry3d& map_from_world() const { return map_from_world_; }

 private:
  // Rotation about, and velocity along, the base's axes: rad/s, m/s.
  struct Velocity {
    Eigen::Vector3d angular = Eigen::Vector3d::Zero(), linear = Eigen::Vector3d::Zero();
  };
  struct Last {
    ChainPose pose;
    Eigen::Isometry3d world_from_base = Eigen::Isometry3d::Identity();  // in the world as it is by now
    bool is_level = false;
    std::optional<Velocity> velocity;
    // Of rotation and position in the base's axes.
    std::optional<Eigen::Matrix<double, 6, 6>> covariance;
  };

  Eigen::Isometry3d MapFromWorld(bool is_level) const;
  // In the base's axes.
  std::optional<Eigen::Matrix<double, 6, 6>> CovarianceOf(const Location& location) const;
  // Puts what the inertial sensor says of it in place of `velocity->linear`. False: it says nothing.
  bool UseInertial(const Location& location, const Eigen::Matrix3d& world_from_base, Velocity* velocity) const;
  // `step`: of the base, from the last pair to this one.
  void FillVelocity(const Location& location, const Eigen::Isometry3d& step, bool is_measured, double seconds,
                    Last* now) const;

  const Eigen::Isometry3d base_from_camera_;
  const std::optional<Eigen::Isometry3d> base_from_imu_;
  Eigen::Isometry3d map_from_world_ = Eigen::Isometry3d::Identity();
  bool is_corrected_ = false;  // the world has moved since the last located pair
  bool is_other_stream_ = false;
  std::optional<Last> last_;
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_CONVERT_POSE_CHAIN_H_
